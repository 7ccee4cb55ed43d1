// Imports rocpd files, written by rocprofv3 --output-format rocpd and rocprof-sys, with the schema of
// https://github.com/ROCm/rocprofiler-sdk, source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql, version 3. The names of
// tables end with the recording's id, so that a file may hold several recordings.
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/import/importers.hpp"
#include "core/import/rocm/rows.hpp"
#include "core/import/rocm/tables.hpp"

namespace sluice::importing {
namespace rocm {
namespace {

using column_type = nsys_column::type;

namespace rocpd_string {
enum : std::uint8_t { id, text };
constexpr nsys_column columns[] = {{"id"}, {"string", column_type::text}};
}  // namespace rocpd_string
namespace rocpd_process {
enum : std::uint8_t { id, pid, command };
constexpr nsys_column columns[] = {{"id"}, {"pid"}, {"command", column_type::text}};
}  // namespace rocpd_process
namespace rocpd_thread {
enum : std::uint8_t { id, tid };
constexpr nsys_column columns[] = {{"id"}, {"tid"}};
}  // namespace rocpd_thread
namespace rocpd_agent {
enum : std::uint8_t { id, type, ordinal, logical, name, product };
constexpr nsys_column columns[] = {{"id"},
                                   {"type", column_type::text},
                                   {"type_index"},
                                   {"logical_index"},
                                   {"name", column_type::text},
                                   {"product_name", column_type::text}};
}  // namespace rocpd_agent
namespace rocpd_symbol {
enum : std::uint8_t { id, name, shown };
constexpr nsys_column columns[] = {{"id"}, {"kernel_name", column_type::text}, {"display_name", column_type::text}};
}  // namespace rocpd_symbol
namespace rocpd_event {
enum : std::uint8_t { id, correlation, stack, category };
constexpr nsys_column columns[] = {{"id"}, {"correlation_id"}, {"stack_id"}, {"category_id"}};
}  // namespace rocpd_event
namespace rocpd_region {
enum : std::uint8_t { begin, end, pid, tid, name, event };
constexpr nsys_column columns[] = {{"start"}, {"end"}, {"pid"}, {"tid"}, {"name_id"}, {"event_id"}};
}  // namespace rocpd_region
namespace rocpd_kernel {
enum : std::uint8_t {
  begin,
  end,
  pid,
  tid,
  agent,
  symbol,
  queue,
  stream,
  grid,
  group = grid + 3,
  shared = group + 3,
  name,
  event
};
constexpr nsys_column columns[] = {{"start"},
                                   {"end"},
                                   {"pid"},
                                   {"tid"},
                                   {"agent_id"},
                                   {"kernel_id"},
                                   {"queue_id"},
                                   {"stream_id"},
                                   {"grid_size_x"},
                                   {"grid_size_y"},
                                   {"grid_size_z"},
                                   {"workgroup_size_x"},
                                   {"workgroup_size_y"},
                                   {"workgroup_size_z"},
                                   {"group_segment_size"},
                                   {"region_name_id"},
                                   {"event_id"}};
}  // namespace rocpd_kernel
namespace rocpd_copy {
enum : std::uint8_t { begin, end, size, pid, tid, name, to, from, to_address, from_address, queue, stream, event };
constexpr nsys_column columns[] = {{"start"},    {"end"},          {"size"},         {"pid"},         {"tid"},
                                   {"name_id"},  {"dst_agent_id"}, {"src_agent_id"}, {"dst_address"}, {"src_address"},
                                   {"queue_id"}, {"stream_id"},    {"event_id"}};
}  // namespace rocpd_copy
namespace rocpd_memory {
enum : std::uint8_t { begin, end, type, pid, tid, agent, level, address, size, event };
constexpr nsys_column columns[] = {{"start"}, {"end"},      {"type", column_type::text},  {"pid"},
                                   {"tid"},   {"agent_id"}, {"level", column_type::text}, {"address"},
                                   {"size"},  {"event_id"}};
}  // namespace rocpd_memory

constexpr std::size_t max_events = std::size_t{1}
                                   << 24;  // Each takes 8 bytes. The events join work with the calls that requested it.

/// True for the name of a function of ROCm's libraries.
bool is_call_of_rocm(std::string_view name) {
  return name.starts_with("hip") || name.starts_with("hsa_") || name.starts_with("rccl") || name.starts_with("nccl");
}

/// Imports one of the recordings in a file.
class rocpd_recording {
 public:
  rocpd_recording(job& work, rows& out, const nsys_database& database, std::uint64_t number, std::string suffix)
      : work_(work),
        out_(out),
        from_(database),
        number_(number),
        suffix_(std::move(suffix)),
        strings_(work),
        symbols_(work) {}

  result<void> run() {
    const auto bind = [this](void (rocpd_recording::*take)(const cells&)) {
      return [this, take](const cells& row) { (this->*take)(row); };
    };
    using self = rocpd_recording;
    // Tables to which other rows refer come first. Work comes after its calls.
    const std::vector<table_step> steps = {
        {"rocpd_string" + suffix_, rocpd_string::columns, 2, bind(&self::take_string)},
        {"rocpd_info_process" + suffix_, rocpd_process::columns, 2, bind(&self::take_process)},
        {"rocpd_info_thread" + suffix_, rocpd_thread::columns, 2, bind(&self::take_thread)},
        {"rocpd_info_agent" + suffix_, rocpd_agent::columns, 2, bind(&self::take_agent)},
        {"rocpd_info_kernel_symbol" + suffix_, rocpd_symbol::columns, 2, bind(&self::take_symbol)},
        {"rocpd_event" + suffix_, rocpd_event::columns, 1, bind(&self::take_event)},
        {"rocpd_region" + suffix_, rocpd_region::columns, 2, bind(&self::take_region)},
        {"rocpd_memory_allocate" + suffix_, rocpd_memory::columns, 3, bind(&self::take_memory)},
        {"rocpd_kernel_dispatch" + suffix_, rocpd_kernel::columns, 2, bind(&self::take_kernel)},
        {"rocpd_memory_copy" + suffix_, rocpd_copy::columns, 3, bind(&self::take_copy)},
    };
    for (const table_step& each : steps) known_.insert(each.table);
    if (auto done = read_tables(from_, steps, work_); !done) return done;
    for (const auto& table : from_.tables()) {
      const bool about = table.name.starts_with("rocpd_info_") || table.name.starts_with("rocpd_metadata") ||
                         table.name.starts_with("rocpd_track") || table.name.starts_with("rocpd_arg");
      if (!table.name.ends_with(suffix_) || about || known_.contains(table.name) || table.rows == 0) continue;
      work_.not_understood(
          "rows of the table " + table.name.substr(0, table.name.size() - suffix_.size()).substr(0, 80),
          from_.count_rows(table.name));
    }
    return {};
  }

 private:
  void take_string(const cells& row) { strings_.put(row.number(rocpd_string::id), row.text(rocpd_string::text)); }

  void take_process(const cells& row) {
    using namespace rocpd_process;
    pids_[row.number(id)] = row.number(pid);
    if (row.has(command)) out_.name_process(row.number(pid), row.text(command).substr(0, 4096));
  }

  void take_thread(const cells& row) { tids_[row.number(rocpd_thread::id)] = row.number(rocpd_thread::tid); }

  void take_agent(const cells& row) {
    using namespace rocpd_agent;
    const std::string_view shown = row.text(product).empty() ? row.text(name) : row.text(product);
    out_.add_agent({number_, row.number(id)}, row.text(type) == "GPU", row.number(ordinal, row.number(logical)), shown,
                   0);
  }

  void take_symbol(const cells& row) {
    using namespace rocpd_symbol;
    symbols_.put(row.number(id), row.text(shown).empty() ? row.text(name) : row.text(shown));
  }

  void take_event(const cells& row) {
    using namespace rocpd_event;
    const std::int64_t event = row.number(id);
    const std::uint64_t correlates = row.natural(row.number(correlation) != 0 ? correlation : stack);
    if (event <= 0 || event >= static_cast<std::int64_t>(max_events)) {
      work_.not_understood("events beyond the limit for joining work with calls");
      return;
    }
    if (static_cast<std::size_t>(event) >= events_.size()) events_.resize(static_cast<std::size_t>(event) + 1);
    events_[static_cast<std::size_t>(event)] = correlates;
  }

  [[nodiscard]] std::string_view string(std::int64_t id) const { return strings_.find(id); }

  [[nodiscard]] static std::int64_t number_in(const std::unordered_map<std::int64_t, std::int64_t>& map,
                                              std::int64_t id) {
    const auto known = map.find(id);
    return known == map.end() ? id : known->second;
  }

  [[nodiscard]] row_origin get_place(const cells& row, std::size_t begin, std::size_t end, std::size_t pid,
                                     std::size_t tid, std::size_t event) const {
    row_origin origin;
    origin.begin = row.number(begin, -1);
    origin.end = row.number(end, -1);
    origin.pid = number_in(pids_, row.number(pid));
    origin.tid = number_in(tids_, row.number(tid));
    const auto number = static_cast<std::size_t>(row.natural(event));
    if (number < events_.size() && events_[number] != 0) origin.correlation = events_[number] + (number_ << 40U);
    return origin;
  }

  void take_region(const cells& row) {
    using namespace rocpd_region;
    const row_origin at = get_place(row, begin, end, pid, tid, event);
    const std::string_view subject = string(row.number(name));
    if (is_call_of_rocm(subject)) {
      out_.add_call(at, subject);
    } else {
      out_.add_range(at, subject.empty() ? "(unnamed)" : subject, "ROCm");
    }
  }

  void take_kernel(const cells& row) {
    using namespace rocpd_kernel;
    row_origin at = get_place(row, begin, end, pid, tid, event);
    at.agent = {number_, row.number(agent, -1)};
    at.queue = row.number(stream, row.number(queue, -1));
    rows::kernel about;
    about.name = symbols_.find(row.number(symbol));
    if (about.name.empty()) about.name = string(row.number(rocpd_kernel::name));
    for (std::size_t i = 0; i < 3; ++i) {
      about.block[i] = row.small(group + i);
      // The file gives the grid in work items.
      about.grid[i] = about.block[i] == 0 ? 0 : (row.small(grid + i) + about.block[i] - 1) / about.block[i];
    }
    about.shared = row.natural(shared);
    out_.add_kernel(at, about);
  }

  void take_copy(const cells& row) {
    using namespace rocpd_copy;
    row_origin at = get_place(row, begin, end, pid, tid, event);
    at.queue = row.number(stream, row.number(queue, -1));
    rows::copy about;
    about.source = {number_, row.number(from, -1)};
    about.destination = {number_, row.number(to, -1)};
    about.name = string(row.number(name));
    about.source_address = static_cast<std::uint64_t>(row.number(from_address));
    about.destination_address = static_cast<std::uint64_t>(row.number(to_address));
    about.bytes = row.number(size, -1);
    out_.add_copy(at, about);
  }

  void take_memory(const cells& row) {
    using namespace rocpd_memory;
    row_origin at = get_place(row, begin, end, pid, tid, event);
    at.agent = {number_, row.number(agent, -1)};
    const auto where = static_cast<std::uint64_t>(row.number(address));
    const std::string_view subject = row.text(type), of = row.text(level);
    if (subject == "ALLOC") {
      const trace::memory_kind kind = of == "VIRTUAL" ? trace::memory_kind::reservation : trace::memory_kind::device;
      out_.allocate(at, where, row.natural(size), kind, of == "SCRATCH" ? "scratch memory" : "ROCm");
    } else if (subject == "FREE") {
      out_.release(at, where);
    } else {
      work_.not_understood("memory events of the type '" + std::string(subject.substr(0, 40)) + "'");
    }
  }

  job& work_;
  rows& out_;
  const nsys_database& from_;
  std::uint64_t number_;
  std::string suffix_;
  std::set<std::string> known_;
  text_table strings_, symbols_;
  std::unordered_map<std::int64_t, std::int64_t> pids_, tids_;
  std::vector<std::uint64_t> events_;  ///< The correlation id of each event.
};

/// The suffixes of table names, one for each recording.
std::set<std::string> list_suffixes(const nsys_database& database) {
  std::set<std::string> strings;
  for (const auto& table : database.tables())
    for (const std::string_view prefix : {"rocpd_string", "rocpd_kernel_dispatch"})
      if (table.name.starts_with(prefix)) strings.insert(table.name.substr(prefix.size()));
  return strings;
}

}  // namespace
}  // namespace rocm

result<void> import_rocpd(job& work) {
  const auto source = nsys_database::open(work.source().path());
  if (!source) return tl::unexpected<error>(source.error());
  if (auto begun = work.begin(); !begun) return begun;
  if (source->half_written()) {
    work.not_understood("unfinished transaction, with a journal next to the file (the file may be incomplete)");
  }
  const std::set<std::string> suffixes = rocm::list_suffixes(*source);
  std::vector<std::string> tables;
  for (const std::string& each : suffixes)
    for (const char* prefix : {"rocpd_region", "rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_memory_allocate"})
      tables.push_back(prefix + each);
  rocm::rows out(work, rocm::lowest_in(*source, tables, "start"));
  std::uint64_t number = 0;
  for (const std::string& each : suffixes) {
    if (auto done = rocm::rocpd_recording(work, out, *source, number++, each).run(); !done) return done;
  }
  out.finish();
  return {};
}

}  // namespace sluice::importing
