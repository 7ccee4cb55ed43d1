// Imports .rpd files of rocmProfileData, https://github.com/ROCm/rocmProfileData, rocpd_python/rocpd/schema_data.
#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/import/importers.hpp"
#include "core/import/rocm/rows.hpp"
#include "core/import/rocm/tables.hpp"

namespace sluice::importing {
namespace rocm {
namespace {

using rpd_column = nsys_column::type;

namespace rpd_string {
enum : std::uint8_t { id, text };
constexpr nsys_column columns[] = {{"id"}, {"string", rpd_column::text}};
}  // namespace rpd_string
namespace rpd_link {
enum : std::uint8_t { api, op };
constexpr nsys_column columns[] = {{"api_id"}, {"op_id"}};
}  // namespace rpd_link
namespace rpd_copy {
enum : std::uint8_t { api, size };
constexpr nsys_column columns[] = {{"api_ptr_id"}, {"size"}};
}  // namespace rpd_copy
namespace rpd_kernel {
enum : std::uint8_t { api, grid, group = grid + 3, shared = group + 3, name };
constexpr nsys_column columns[] = {{"api_ptr_id"},   {"gridX"},      {"gridY"},      {"gridZ"},
                                   {"workgroupX"},   {"workgroupY"}, {"workgroupZ"}, {"groupSegmentSize"},
                                   {"kernelName_id"}};
}  // namespace rpd_kernel
namespace rpd_api {
enum : std::uint8_t { id, begin, end, pid, tid, name, args };
constexpr nsys_column columns[] = {{"id"}, {"start"}, {"end"}, {"pid"}, {"tid"}, {"apiName_id"}, {"args_id"}};
}  // namespace rpd_api
namespace rpd_op {
enum : std::uint8_t { id, begin, end, gpu, queue, description, type };
constexpr nsys_column columns[] = {{"id"},      {"start"},          {"end"},      {"gpuId"},
                                   {"queueId"}, {"description_id"}, {"opType_id"}};
}  // namespace rpd_op
namespace rpd_monitor {
enum : std::uint8_t { device, type, begin, value, kind };
constexpr nsys_column columns[] = {{"deviceId"},
                                   {"monitorType", rpd_column::text},
                                   {"start"},
                                   {"value", rpd_column::text},
                                   {"deviceType", rpd_column::text}};
}  // namespace rpd_monitor

constexpr std::size_t max_details = 1'000'000;  // The limit for each kind. A detail takes 56 to 100 bytes.

class rpd_importer {
 public:
  rpd_importer(job& work, const nsys_database& database)
      : work_(work),
        from_(database),
        out_(work, lowest_in(database, {"rocpd_api", "rocpd_op"}, "start")),
        strings_(work),
        argument_strings_(work) {}

  result<void> run() {
    const auto bind = [this](void (rpd_importer::*take)(const cells&)) {
      return [this, take](const cells& row) { (this->*take)(row); };
    };
    using self = rpd_importer;
    const std::vector<table_step> steps = {
        {"rocpd_string", rpd_string::columns, 2, bind(&self::take_string)},
        {"rocpd_ustring", rpd_string::columns, 2, bind(&self::take_argument_string)},
        {"rocpd_api_ops", rpd_link::columns, 2, bind(&self::take_link)},
        {"rocpd_copyapi", rpd_copy::columns, 2, bind(&self::take_copy)},
        {"rocpd_kernelapi", rpd_kernel::columns, 7, bind(&self::take_kernel)},
        {"rocpd_api", rpd_api::columns, 6, bind(&self::take_api)},
        {"rocpd_op", rpd_op::columns, 7, bind(&self::take_op)},
        {"rocpd_monitor", rpd_monitor::columns, 4, bind(&self::take_monitor)},
    };
    if (auto done = read_tables(from_, steps, work_); !done) return done;
    out_.finish();
    for (const auto& table : from_.tables()) {
      const auto is_it = [&](const table_step& each) { return each.table == table.name; };
      const bool known = std::any_of(steps.begin(), steps.end(), is_it) || table.name == "rocpd_metadata";
      if (known || table.rows == 0) continue;
      work_.not_understood("rows of the table " + table.name.substr(0, 80), from_.count_rows(table.name));
    }
    return {};
  }

 private:
  struct launch {
    std::uint32_t grid[3] = {}, block[3] = {};
    std::uint64_t shared = 0;
    std::int64_t name = 0;
  };

  void take_string(const cells& row) { strings_.put(row.number(rpd_string::id), row.text(rpd_string::text)); }
  void take_argument_string(const cells& row) {
    argument_strings_.put(row.number(rpd_string::id), row.text(rpd_string::text).substr(0, 1024));
  }

  template <class Map, class Value>
  void keep(Map& map, std::int64_t key, Value value) {
    if (map.size() < max_details) {
      map.emplace(key, value);
    } else {
      work_.not_understood("details of calls beyond the memory limit");
    }
  }

  void take_link(const cells& row) { keep(calls_, row.number(rpd_link::op), row.number(rpd_link::api)); }
  void take_copy(const cells& row) { keep(sizes_, row.number(rpd_copy::api), row.number(rpd_copy::size, -1)); }
  void take_kernel(const cells& row) {
    launch output;
    for (std::size_t i = 0; i < 3; ++i) {
      output.grid[i] = row.small(rpd_kernel::grid + i);
      output.block[i] = row.small(rpd_kernel::group + i);
    }
    output.shared = row.natural(rpd_kernel::shared);
    output.name = row.number(rpd_kernel::name);
    keep(launches_, row.number(rpd_kernel::api), output);
  }

  [[nodiscard]] std::string_view string(std::int64_t id) const { return strings_.find(id); }

  /// In version 3 of the schema, arguments are in their own table.
  [[nodiscard]] std::string_view argument(std::int64_t id) const {
    return from_.has("rocpd_ustring") ? argument_strings_.find(id) : string(id);
  }

  void take_api(const cells& row) {
    using namespace rpd_api;
    row_origin at;
    at.begin = row.number(begin, -1);
    at.end = row.number(end, -1);
    at.pid = row.number(pid);
    at.tid = row.number(tid);
    at.correlation = row.natural(id);
    const std::string_view subject = string(row.number(name));
    if (subject == "UserMarker") {
      const std::string_view text = argument(row.number(args));
      out_.add_range(at, text.empty() ? subject : text, "UserMarker");
    } else {
      out_.add_call(at, subject.empty() ? "(unnamed)" : subject);
    }
  }

  void take_op(const cells& row) {
    using namespace rpd_op;
    row_origin at;
    at.begin = row.number(begin, -1);
    at.end = row.number(end, -1);
    at.agent = {0, row.number(gpu)};
    at.queue = row.number(queue, -1);
    const auto call = calls_.find(row.number(id));
    const std::int64_t api = call == calls_.end() ? 0 : call->second;
    at.correlation = api > 0 ? static_cast<std::uint64_t>(api) : 0;
    const std::string_view subject = string(row.number(type));
    if (subject.starts_with("Copy")) {
      add_copy(at, api, subject);
    } else if (subject.starts_with("Fill")) {
      const auto size = sizes_.find(api);
      out_.add_memset(at, size == sizes_.end() || size->second < 0 ? 0 : static_cast<std::uint64_t>(size->second));
    } else if (subject == "KernelExecution") {
      add_kernel(at, api, string(row.number(description)));
    } else {
      work_.not_understood("work of the type '" + std::string(subject.substr(0, 40)) + "'");
    }
  }

  /// Adds a copy. A call may request several copies of which only the total size is known. The first copy gets this
  /// size.
  void add_copy(const row_origin& at, std::int64_t api, std::string_view subject) {
    rows::copy about;
    about.name = subject;
    if (const auto size = sizes_.find(api); size != sizes_.end()) {
      about.bytes = size->second;
      size->second = 0;
    }
    out_.add_copy(at, about);
  }

  void add_kernel(const row_origin& at, std::int64_t api, std::string_view name) {
    rows::kernel about;
    about.name = name;
    if (const auto by = launches_.find(api); by != launches_.end()) {
      std::copy(std::begin(by->second.grid), std::end(by->second.grid), about.grid);
      std::copy(std::begin(by->second.block), std::end(by->second.block), about.block);
      about.shared = by->second.shared;
      if (name.empty()) about.name = string(by->second.name);
    }
    out_.add_kernel(at, about);
  }

  /// Reads a sample of a sensor, which measures clocks, power or memory in use.
  void take_monitor(const cells& row) {
    using namespace rpd_monitor;
    const std::int64_t time = row.number(begin, -1);
    const std::string_view text = row.text(value);
    double number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (time < out_.begin() || read.ec != std::errc{}) {
      // Sensors are sampled even before the first call.
      work_.not_understood(read.ec != std::errc{} ? "sensor samples that are not numbers"
                                                  : "sensor samples from before the first call");
      return;
    }
    const std::string full =
        std::string(row.text(kind)) + " " + std::to_string(row.number(device)) + ": " + std::string(row.text(type));
    auto [known, fresh] = counters_.try_emplace(full);
    if (fresh) {
      known->second = static_cast<trace::counter_id>(counters_.size());
      trace::counter_row about;
      about.id = known->second;
      about.name = work_.out().intern(full);
      work_.out().add(about);
    }
    trace::counter_event event;
    event.time = time - out_.begin();
    event.counter = known->second;
    event.value = number;
    work_.out().add(event);
    work_.read("sensor samples");
  }

  job& work_;
  const nsys_database& from_;
  rows out_;
  text_table strings_, argument_strings_;
  std::unordered_map<std::int64_t, std::int64_t> calls_;  ///< For each id of work, its call.
  std::unordered_map<std::int64_t, std::int64_t> sizes_;  ///< The sizes of copies, keyed by the id of the call.
  std::unordered_map<std::int64_t, launch> launches_;     ///< Keyed by the id of the call.
  std::map<std::string, trace::counter_id> counters_;
};

}  // namespace
}  // namespace rocm

result<void> import_rpd(job& work) {
  const auto source = nsys_database::open(work.source().path());
  if (!source) return tl::unexpected<error>(source.error());
  if (auto begun = work.begin(); !begun) return begun;
  return rocm::rpd_importer(work, *source).run();
}

}  // namespace sluice::importing
