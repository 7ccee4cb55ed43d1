// Perfetto's protobuf: a track per thread and stream (more if slices overlap without nesting), counters with units for
// memory, pools and the recording's counters, arrows from calls to their work, and the clocks.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/export/device_names.hpp"
#include "core/export/formats.hpp"
#include "core/export/from_zero.hpp"
#include "core/export/in_order.hpp"
#include "core/export/kernel_names.hpp"
#include "core/export/left_out.hpp"
#include "core/export/perfetto/perfetto_packets.hpp"
#include "core/export/torch/memory_in_order.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::exports {
namespace {

constexpr time_ns never = std::numeric_limits<time_ns>::max();

using trace::row_type;
constexpr std::array held = {row_type::alloc,        row_type::free,      row_type::pool_state, row_type::device_memory,
                             row_type::transfer,     row_type::migration, row_type::memset,     row_type::kernel,
                             row_type::api_call,     row_type::sync,      row_type::host_range, row_type::marker,
                             row_type::graph_launch, row_type::file_io,   row_type::counter};

/// The subject of a track. The numbers are used in Perfetto's track ids.
enum class place : std::uint8_t {
  process = 1,
  thread,
  stream,
  device,
  waits,
  counter,
  memory,
  pool_used,
  pool_reserved,
  free_memory,
  files,
  marks,
  memory_of_device
};

struct track_key {
  place of = place::process;
  std::uint64_t id = 0;
  friend auto operator<=>(const track_key&, const track_key&) = default;
};

std::uint64_t uuid_of(const track_key& key, std::uint64_t lane = 0) {
  return static_cast<std::uint64_t>(key.of) << 56U | (lane & 0xffffU) << 40U | (key.id & 0xff'ffff'ffffU);
}

struct slice {
  time_ns time = 0;
  std::uint64_t order = 0;
  time_ns end = 0;
  track_key track;
  trace::process_id process{};
  trace::string_id name{};
  const char* fixed_name = nullptr;  ///< Replaces `name` if set.
  bool is_kernel = false;            ///< `name` is a mangled symbol.
  trace::string_id category{};
  const char* fixed_category = nullptr;
  std::uint64_t call = 0, work_of = 0;
  std::array<perfetto_metric, 8> metrics;
  std::uint8_t metric_count = 0;

  void metric(std::string_view what, std::uint64_t value) {
    if (metric_count < metrics.size()) metrics[metric_count++] = {what, value};
  }
};

/// Nested slices of a track.
struct lane {
  std::vector<time_ns> ends;  ///< Of the open slices, the outermost first.
};

class perfetto_writer {
 public:
  perfetto_writer(job& what, output& to) : what_(what), out_(to), stamp_(what.trace()), kernel_names_(what.tables()) {}

  result<void> run() {
    const std::int64_t real = what_.trace().realtime_origin();
    out_.clocks(stamp_.origin(), real > 0 ? static_cast<std::uint64_t>(real) : 0);
    processes();
    result<void> done = collect_links();
    if (done) done = slices();
    if (done) done = marks();
    if (done) done = counters();
    if (done) done = memory();
    if (done) done = note_left_out(what_, held);
    return done ? out_.outcome() : done;
  }

 private:
  // --- tracks -------------------------------------------------------------------------------------------------------

  /// Perfetto identifies processes and threads by numbers, which must be unique and have 32 bits.
  static std::int32_t own_number(std::uint64_t wanted, std::uint64_t id, std::set<std::int32_t>& taken) {
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
    if (wanted != 0 && wanted <= most && taken.insert(static_cast<std::int32_t>(wanted)).second) {
      return static_cast<std::int32_t>(wanted);
    }
    auto made = static_cast<std::int32_t>(1'000'000'000 + id % 1'000'000'000);
    while (!taken.insert(made).second) ++made;
    return made;
  }

  void processes() {
    std::set<std::int32_t> taken;
    for (const trace::process_row& row : what_.tables().processes.rows()) {
      const std::int32_t pid = pids_[row.id] = own_number(row.pid, raw(row.id), taken);
      std::string name(what_.text(row.command, text_role::arguments));
      if (name.empty()) name = what_.text(index::process_label(row.id, what_.tables()), text_role::plain);
      if (row.rank >= 0) name += fmt::format(", rank {}", row.rank);
      out_.process_track(uuid_of({place::process, raw(row.id)}), pid, name);
    }
  }

  [[nodiscard]] std::uint64_t parent_of(trace::process_id process) const {
    return pids_.contains(process) ? uuid_of({place::process, raw(process)}) : 0;
  }

  [[nodiscard]] std::string name_of_track(const track_key& key) const {
    const trace::tables& tables = what_.tables();
    switch (key.of) {
      case place::thread:
        return std::string(
            what_.text(index::thread_label(static_cast<trace::thread_id>(key.id), tables), text_role::plain));
      case place::stream: {
        const trace::stream_row* row = tables.streams.find(static_cast<trace::stream_id>(key.id));
        const std::string name(
            what_.text(index::stream_label(static_cast<trace::stream_id>(key.id), tables), text_role::plain));
        return row == nullptr ? name : name + ", " + device_name(row->device, what_);
      }
      case place::device:
        return "Migrations, " + device_name(static_cast<trace::device_id>(key.id), what_);
      case place::waits:
        return "Waits";
      case place::files:
        return "Files";
      case place::marks:
        return "Marks";
      default:
        return {};
    }
  }

  /// Writes the descriptor of a track's lane, on its first use.
  void describe(const track_key& key, std::uint64_t which, trace::process_id process) {
    const std::uint64_t parent = parent_of(process);
    if (key.of == place::thread && which == 0) {
      const trace::thread_row* row = what_.tables().threads.find(static_cast<trace::thread_id>(key.id));
      const auto pid = pids_.find(process);
      if (row != nullptr && row->tid != 0 && pid != pids_.end()) {
        out_.thread_track(uuid_of(key), parent, pid->second, own_number(row->tid, key.id, tids_),
                          what_.text(row->name, text_role::plain));
        return;
      }
    }
    std::string name = name_of_track(key);
    if (which != 0) name += fmt::format(" ({})", which + 1);
    out_.plain_track(uuid_of(key, which), parent, name);
  }

  // --- slices -------------------------------------------------------------------------------------------------------

  /// Collects all links first: both ends of an arrow must be known when it is written. A range may have several.
  result<void> collect_links() {
    return what_.for_each<trace::link_event>([&](const trace::link_event& row) {
      if (row.kind != trace::link_kind::flow) return;
      links_from_[raw(row.from)].push_back(raw(row.id));
      links_to_[raw(row.to)].push_back(raw(row.id));
    });
  }

  result<void> slices() {
    const auto make = [&](const auto& row, const auto& push) {
      if (what_.takes(row)) push(slice_of(row));
    };
    const auto emit = [&](const slice& item) {
      what_.count_rows(1);
      write(item);
      return out_.outcome();
    };
    auto done = in_order<slice, trace::host_range_event, trace::api_call_event, trace::kernel_event,
                         trace::transfer_event, trace::memset_event, trace::migration_event, trace::sync_event,
                         trace::graph_launch_event, trace::file_io_event>(what_, make, emit);
    for (auto& [key, lanes] : lanes_)
      for (std::size_t i = 0; i < lanes.size(); ++i) close(key, lanes[i], i, never);
    return done;
  }

  template <class Row>
  slice slice_of(const Row& row) const {
    slice made;
    made.time = row.time;
    made.order = raw(row.id);
    made.end = row.end == trace::unknown_time ? never : std::max(row.end, row.time);
    made.process = row.process;
    made.track = {place::thread, raw(row.thread)};
    fill(made, row);
    return made;
  }

  static void fill(slice& made, const trace::host_range_event& row) {
    made.name = row.name;
    made.category = row.domain;
  }
  static void fill(slice& made, const trace::api_call_event& row) {
    made.name = row.name;
    made.fixed_category = "call";
    if (row.correlation != 0) made.call = raw(row.id);
    if (row.status != 0) made.metric("result", static_cast<std::uint64_t>(row.status));
    if (row.bytes != 0) made.metric("bytes", row.bytes);
  }
  template <class Row>
  static void fill_work(slice& made, const Row& row) {
    made.track = {place::stream, raw(row.stream)};
    made.work_of = raw(row.call);
    if (row.correlation != 0) made.metric("correlation", row.correlation);
  }
  static void fill(slice& made, const trace::kernel_event& row) {
    fill_work(made, row);
    made.name = row.name;
    made.is_kernel = true;
    made.fixed_category = "kernel";
    made.metric("blocks", std::uint64_t{row.grid_x} * row.grid_y * row.grid_z);
    made.metric("threads of a block", std::uint64_t{row.block_x} * row.block_y * row.block_z);
    made.metric("registers", row.registers);
    made.metric("shared memory, bytes", row.static_shared + row.dynamic_shared);
  }
  static void fill(slice& made, const trace::transfer_event& row) {
    static constexpr std::array names = {"Copy",           "Copy host to device", "Copy device to host",
                                         "Copy in device", "Copy from peer",      "Copy host to host"};
    fill_work(made, row);
    made.fixed_name = names[static_cast<std::size_t>(row.direction)];
    made.fixed_category = "copy";
    made.metric("bytes", row.bytes);
    if (row.end > row.time) {
      const double rate =
          1e9 * static_cast<double>(row.bytes) / static_cast<double>(saturating_difference(row.end, row.time));
      if (rate < 1e18) made.metric("bytes/s", static_cast<std::uint64_t>(rate));
    }
  }
  static void fill(slice& made, const trace::memset_event& row) {
    fill_work(made, row);
    made.fixed_name = "Memset";
    made.fixed_category = "memset";
    made.metric("bytes", row.bytes);
  }
  static void fill(slice& made, const trace::migration_event& row) {
    made.track = {place::device, raw(row.device)};
    made.fixed_name = row.direction == trace::direction::d2h ? "Migration to host" : "Migration to device";
    made.fixed_category = "migration";
    made.metric("bytes", row.bytes);
  }
  static void fill(slice& made, const trace::sync_event& row) {
    static constexpr std::array names = {"Wait", "Wait for event", "Wait for stream", "Wait for context",
                                         "Stream waits"};
    if (row.thread == trace::thread_id::none) made.track = {place::waits, raw(row.process)};
    made.fixed_name = names[static_cast<std::size_t>(row.kind)];
    made.fixed_category = "wait";
  }
  static void fill(slice& made, const trace::graph_launch_event& row) {
    made.track = {place::stream, raw(row.stream)};
    made.fixed_name = "Graph";
    made.fixed_category = "graph";
    made.metric("graph", raw(row.graph));
  }
  static void fill(slice& made, const trace::file_io_event& row) {
    if (row.thread == trace::thread_id::none) made.track = {place::files, raw(row.process)};
    made.name = row.file;
    made.fixed_category = "file";
    made.metric("bytes", row.bytes);
  }

  /// Ends the slices in a lane that have ended by `time`, the innermost first.
  void close(const track_key& key, lane& in, std::uint64_t which, time_ns time) {
    while (!in.ends.empty() && in.ends.back() <= time && in.ends.back() != never) {
      out_.end_slice(uuid_of(key, which), stamp_(in.ends.back()));
      in.ends.pop_back();
    }
  }

  [[nodiscard]] std::string_view name_of(const slice& item) {
    if (item.fixed_name != nullptr) return item.fixed_name;
    if (item.is_kernel) return what_.text(kernel_names_(item.name), text_role::code);
    return what_.text(item.name, item.fixed_category != nullptr && item.track.of == place::files ? text_role::path
                                                                                                 : text_role::plain);
  }

  void write(const slice& item) {
    std::vector<lane>& lanes = lanes_[item.track];
    std::size_t which = 0;
    for (; which < lanes.size(); ++which) {
      close(item.track, lanes[which], which, item.time);
      if (lanes[which].ends.empty() || item.end <= lanes[which].ends.back()) break;
    }
    if (which == lanes.size()) {
      lanes.emplace_back();
      describe(item.track, which, item.process);
    }
    perfetto_packets::event of;
    of.track = uuid_of(item.track, which);
    of.time = stamp_(item.time);
    name_.assign(name_of(item));
    category_.assign(item.fixed_category != nullptr ? item.fixed_category
                                                    : what_.text(item.category, text_role::plain));
    of.name = name_;
    of.category = category_;
    of.call = item.call;
    of.work_of = item.work_of;
    if (const auto known = links_from_.find(item.order); known != links_from_.end()) of.flows = known->second;
    if (const auto known = links_to_.find(item.order); known != links_to_.end()) of.flow_ends = known->second;
    of.metrics = {item.metrics.data(), item.metric_count};
    out_.begin_slice(of);
    lanes[which].ends.push_back(item.end);
  }

  // --- marks and counters -------------------------------------------------------------------------------------------

  result<void> marks() {
    return what_.for_each<trace::marker_event>([&](const trace::marker_event& row) -> result<void> {
      const bool of_thread = row.thread != trace::thread_id::none;
      const track_key key =
          of_thread ? track_key{place::thread, raw(row.thread)} : track_key{place::marks, raw(row.process)};
      if (std::vector<lane>& lanes = lanes_[key]; lanes.empty()) {
        lanes.emplace_back();
        describe(key, 0, row.process);
      }
      perfetto_packets::event of;
      of.track = uuid_of(key);
      of.time = stamp_(row.time);
      name_.assign(what_.text(row.name, text_role::plain));
      if (row.step >= 0) name_ += fmt::format(" #{}", row.step);
      of.name = name_;
      of.category = row.step >= 0 ? "step" : "mark";
      out_.instant(of);
      return out_.outcome();
    });
  }

  /// The track of a counter. Its descriptor is written on first use.
  std::uint64_t counter_track(const track_key& key, std::uint64_t parent, const std::string& name, perfetto_unit unit) {
    if (described_.insert(key).second) out_.counter_track(uuid_of(key), parent, name, unit);
    return uuid_of(key);
  }

  /// The parent track for the memory of a device, or of the host.
  std::uint64_t memory_of(trace::device_id device) {
    const track_key key{place::memory_of_device, raw(device)};
    if (described_.insert(key).second) {
      out_.plain_track(
          uuid_of(key), 0,
          device == trace::device_id::none ? "Memory of the host" : "Memory of " + device_name(device, what_));
    }
    return uuid_of(key);
  }

  static perfetto_unit unit_of(trace::counter_unit unit) {
    if (unit == trace::counter_unit::bytes) return perfetto_unit::bytes;
    return unit == trace::counter_unit::nanoseconds ? perfetto_unit::nanoseconds : perfetto_unit::unspecified;
  }

  result<void> counters() {
    auto done = what_.for_each<trace::counter_event>([&](const trace::counter_event& row) -> result<void> {
      const trace::counter_row* about = what_.tables().counters.find(row.counter);
      const std::string name(about == nullptr ? "counter" : what_.text(about->name, text_role::plain));
      const auto unit = about == nullptr ? perfetto_unit::unspecified : unit_of(about->unit);
      const bool own = about == nullptr || row.process != trace::process_id::none;
      const std::uint64_t parent = parent_of(own ? row.process : about->process);
      out_.counter(counter_track({place::counter, raw(row.counter)}, parent, name, unit), stamp_(row.time), row.value);
      return out_.outcome();
    });
    if (!done) return done;
    done = what_.for_each<trace::pool_event>([&](const trace::pool_event& row) -> result<void> {
      const std::string name(what_.text(index::pool_label(row.pool, what_.tables()), text_role::plain));
      const std::uint64_t parent = parent_of(row.process);
      const auto both = {std::tuple(place::pool_reserved, " reserved", row.reserved),
                         std::tuple(place::pool_used, " used", row.used)};
      for (const auto& [which, word, bytes] : both) {
        const std::uint64_t track = counter_track({which, raw(row.pool)}, parent, name + word, perfetto_unit::bytes);
        out_.counter(track, stamp_(row.time), static_cast<std::int64_t>(bytes));
      }
      return out_.outcome();
    });
    if (!done) return done;
    return what_.for_each<trace::device_memory_event>([&](const trace::device_memory_event& row) -> result<void> {
      const std::uint64_t track = counter_track({place::free_memory, raw(row.device)}, memory_of(row.device),
                                                "in use by all processes", perfetto_unit::bytes);
      out_.counter(track, stamp_(row.time), static_cast<std::int64_t>(row.total - std::min(row.free, row.total)));
      return out_.outcome();
    });
  }

  /// Writes memory use by layer, kind and device, including its value at the start of a range.
  result<void> memory() {
    struct level {
      std::uint64_t track = 0;
      std::uint64_t bytes = 0;
      bool has_begun = false;  ///< The value at the range's start was written.
      time_ns changed = 0;
      bool written = true;  ///< Changes at the same time are merged into one.
    };
    const auto write = [&](level& now) {
      if (!now.written) out_.counter(now.track, stamp_(now.changed), static_cast<std::int64_t>(now.bytes));
      now.written = true;
    };
    using level_key = std::tuple<trace::layer, trace::memory_kind, trace::device_id>;
    std::map<level_key, level> levels;
    const bool whole = !what_.wanted().range;
    const time_ns begin = what_.range().begin;
    auto done = memory_in_order(what_, [&](const block_change& change) -> result<void> {
      const level_key key{change.layer, change.kind, change.device};
      const auto [known, fresh] = levels.try_emplace(key);
      level& now = known->second;
      if (fresh) {
        const std::string name = fmt::format("{} {}", trace::name_of(change.layer), trace::name_of(change.kind));
        now.track = counter_track({place::memory, levels.size()}, memory_of(change.device), name, perfetto_unit::bytes);
      }
      if (!whole && !now.has_begun && change.time >= begin) {
        now.has_begun = true;
        out_.counter(now.track, stamp_(begin), static_cast<std::int64_t>(now.bytes));
      }
      if (change.time != now.changed) write(now);
      now.bytes = change.born ? now.bytes + change.bytes : now.bytes - change.bytes;
      now.changed = change.time;
      now.written = !whole && change.time < begin;
      return out_.outcome();
    });
    if (!done) return done;
    for (auto& [key, now] : levels) write(now);
    if (whole) return out_.outcome();
    for (const auto& [key, now] : levels)
      if (!now.has_begun) out_.counter(now.track, stamp_(begin), static_cast<std::int64_t>(now.bytes));
    return out_.outcome();
  }

  job& what_;
  perfetto_packets out_;
  from_zero stamp_;
  kernel_names kernel_names_;
  std::map<trace::process_id, std::int32_t> pids_;
  std::set<std::int32_t> tids_;
  std::map<track_key, std::vector<lane>> lanes_;
  std::set<track_key> described_;  ///< Counters, and parents of other tracks.
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> links_from_, links_to_;
  std::string name_, category_;
};

}  // namespace

output_shape shape_of_perfetto(const options& /*wanted*/) { return output_shape::stream; }
result<void> write_perfetto(job& what, output& to) { return perfetto_writer(what, to).run(); }

}  // namespace sluice::exports
