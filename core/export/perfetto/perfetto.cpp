// Writes Perfetto's protobuf format. It has a track per thread and stream (more if slices overlap without nesting),
// counters with units for memory, pools and the recording's counters, arrows from calls to their work, and the clocks.
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

/// The subject of a track. Perfetto's track ids contain these numbers.
enum class track_subject : std::uint8_t {
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
  track_subject location = track_subject::process;
  std::uint64_t id = 0;
  friend auto operator<=>(const track_key&, const track_key&) = default;
};

std::uint64_t get_uuid(const track_key& key, std::uint64_t lane = 0) {
  return static_cast<std::uint64_t>(key.location) << 56U | (lane & 0xffffU) << 40U | (key.id & 0xff'ffff'ffffU);
}

struct slice {
  time_ns time = 0;
  std::uint64_t order = 0;
  time_ns end = 0;
  track_key track;
  trace::process_id process{};
  trace::string_id name{};
  const char* fixed_name = nullptr;  ///< Replaces `name` if set.
  bool is_kernel = false;            ///< True if `name` is a mangled symbol.
  trace::string_id category{};
  const char* fixed_category = nullptr;
  std::uint64_t call = 0, requested_by = 0;
  std::array<perfetto_metric, 8> metrics;
  std::uint8_t metric_count = 0;

  void metric(std::string_view subject, std::uint64_t value) {
    if (metric_count < metrics.size()) metrics[metric_count++] = {subject, value};
  }
};

/// A row of nested slices of a track.
struct lane {
  std::vector<time_ns> ends;  ///< The ends of the open slices, the outermost first.
};

class perfetto_writer {
 public:
  perfetto_writer(job& export_job, output& to)
      : what_(export_job), out_(to), stamp_(export_job.trace()), kernel_names_(export_job.tables()) {}

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

  /// Returns the number of a process or thread. Perfetto requires unique numbers of 32 bits.
  static std::int32_t own_number(std::uint64_t wanted, std::uint64_t id, std::set<std::int32_t>& taken) {
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
    if (wanted != 0 && wanted <= most && taken.insert(static_cast<std::int32_t>(wanted)).second) {
      return static_cast<std::int32_t>(wanted);
    }
    auto output = static_cast<std::int32_t>(1'000'000'000 + id % 1'000'000'000);
    while (!taken.insert(output).second) ++output;
    return output;
  }

  void processes() {
    std::set<std::int32_t> taken;
    for (const trace::process_row& row : what_.tables().processes.rows()) {
      const std::int32_t pid = pids_[row.id] = own_number(row.pid, raw(row.id), taken);
      std::string name(what_.text(row.command, text_role::arguments));
      if (name.empty()) name = what_.text(index::process_label(row.id, what_.tables()), text_role::plain);
      if (row.rank >= 0) name += fmt::format(", rank {}", row.rank);
      out_.process_track(get_uuid({track_subject::process, raw(row.id)}), pid, name);
    }
  }

  [[nodiscard]] std::uint64_t read_parent(trace::process_id process) const {
    return pids_.contains(process) ? get_uuid({track_subject::process, raw(process)}) : 0;
  }

  [[nodiscard]] std::string name_of_track(const track_key& key) const {
    const trace::tables& tables = what_.tables();
    switch (key.location) {
      case track_subject::thread:
        return std::string(
            what_.text(index::thread_label(static_cast<trace::thread_id>(key.id), tables), text_role::plain));
      case track_subject::stream: {
        const trace::stream_row* row = tables.streams.find(static_cast<trace::stream_id>(key.id));
        const std::string name(
            what_.text(index::stream_label(static_cast<trace::stream_id>(key.id), tables), text_role::plain));
        return row == nullptr ? name : name + ", " + device_name(row->device, what_);
      }
      case track_subject::device:
        return "Migrations, " + device_name(static_cast<trace::device_id>(key.id), what_);
      case track_subject::waits:
        return "Waits";
      case track_subject::files:
        return "Files";
      case track_subject::marks:
        return "Marks";
      default:
        return {};
    }
  }

  /// Writes the descriptor of a track's lane when the lane is used first.
  void describe(const track_key& key, std::uint64_t which, trace::process_id process) {
    const std::uint64_t parent = read_parent(process);
    if (key.location == track_subject::thread && which == 0) {
      const trace::thread_row* row = what_.tables().threads.find(static_cast<trace::thread_id>(key.id));
      const auto pid = pids_.find(process);
      if (row != nullptr && row->tid != 0 && pid != pids_.end()) {
        out_.thread_track(get_uuid(key), parent, pid->second, own_number(row->tid, key.id, tids_),
                          what_.text(row->name, text_role::plain));
        return;
      }
    }
    std::string name = name_of_track(key);
    if (which != 0) name += fmt::format(" ({})", which + 1);
    out_.plain_track(get_uuid(key, which), parent, name);
  }

  // --- slices -------------------------------------------------------------------------------------------------------

  /// Collects all links, because both ends of an arrow must be known when it is written. A range may have several
  /// arrows.
  result<void> collect_links() {
    return what_.for_each<trace::link_event>([&](const trace::link_event& row) {
      if (row.kind != trace::link_kind::flow) return;
      links_from_[raw(row.from)].push_back(raw(row.id));
      links_to_[raw(row.to)].push_back(raw(row.id));
    });
  }

  result<void> slices() {
    const auto make = [&](const auto& row, const auto& push) {
      if (what_.takes(row)) push(make_slice(row));
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
  slice make_slice(const Row& row) const {
    slice new_slice;
    new_slice.time = row.time;
    new_slice.order = raw(row.id);
    new_slice.end = row.end == trace::unknown_time ? never : std::max(row.end, row.time);
    new_slice.process = row.process;
    new_slice.track = {track_subject::thread, raw(row.thread)};
    fill(new_slice, row);
    return new_slice;
  }

  static void fill(slice& new_slice, const trace::host_range_event& row) {
    new_slice.name = row.name;
    new_slice.category = row.domain;
  }
  static void fill(slice& new_slice, const trace::api_call_event& row) {
    new_slice.name = row.name;
    new_slice.fixed_category = "call";
    if (row.correlation != 0) new_slice.call = raw(row.id);
    if (row.status != 0) new_slice.metric("result", static_cast<std::uint64_t>(row.status));
    if (row.bytes != 0) new_slice.metric("bytes", row.bytes);
  }
  template <class Row>
  static void fill_work(slice& new_slice, const Row& row) {
    new_slice.track = {track_subject::stream, raw(row.stream)};
    new_slice.requested_by = raw(row.call);
    if (row.correlation != 0) new_slice.metric("correlation", row.correlation);
  }
  static void fill(slice& new_slice, const trace::kernel_event& row) {
    fill_work(new_slice, row);
    new_slice.name = row.name;
    new_slice.is_kernel = true;
    new_slice.fixed_category = "kernel";
    new_slice.metric("blocks", std::uint64_t{row.grid_x} * row.grid_y * row.grid_z);
    new_slice.metric("threads of a block", std::uint64_t{row.block_x} * row.block_y * row.block_z);
    new_slice.metric("registers", row.registers);
    new_slice.metric("shared memory, bytes", row.static_shared + row.dynamic_shared);
  }
  static void fill(slice& new_slice, const trace::transfer_event& row) {
    static constexpr std::array names = {"Copy",           "Copy host to device", "Copy device to host",
                                         "Copy in device", "Copy from peer",      "Copy host to host"};
    fill_work(new_slice, row);
    new_slice.fixed_name = names[static_cast<std::size_t>(row.direction)];
    new_slice.fixed_category = "copy";
    new_slice.metric("bytes", row.bytes);
    if (row.end > row.time) {
      const double rate =
          1e9 * static_cast<double>(row.bytes) / static_cast<double>(saturating_difference(row.end, row.time));
      if (rate < 1e18) new_slice.metric("bytes/s", static_cast<std::uint64_t>(rate));
    }
  }
  static void fill(slice& new_slice, const trace::memset_event& row) {
    fill_work(new_slice, row);
    new_slice.fixed_name = "Memset";
    new_slice.fixed_category = "memset";
    new_slice.metric("bytes", row.bytes);
  }
  static void fill(slice& new_slice, const trace::migration_event& row) {
    new_slice.track = {track_subject::device, raw(row.device)};
    new_slice.fixed_name = row.direction == trace::direction::d2h ? "Migration to host" : "Migration to device";
    new_slice.fixed_category = "migration";
    new_slice.metric("bytes", row.bytes);
  }
  static void fill(slice& new_slice, const trace::sync_event& row) {
    static constexpr std::array names = {"Wait", "Wait for event", "Wait for stream", "Wait for context",
                                         "Stream waits"};
    if (row.thread == trace::thread_id::none) new_slice.track = {track_subject::waits, raw(row.process)};
    new_slice.fixed_name = names[static_cast<std::size_t>(row.kind)];
    new_slice.fixed_category = "wait";
  }
  static void fill(slice& new_slice, const trace::graph_launch_event& row) {
    new_slice.track = {track_subject::stream, raw(row.stream)};
    new_slice.fixed_name = "Graph";
    new_slice.fixed_category = "graph";
    new_slice.metric("graph", raw(row.graph));
  }
  static void fill(slice& new_slice, const trace::file_io_event& row) {
    if (row.thread == trace::thread_id::none) new_slice.track = {track_subject::files, raw(row.process)};
    new_slice.name = row.file;
    new_slice.fixed_category = "file";
    new_slice.metric("bytes", row.bytes);
  }

  /// Ends the slices of a lane that end at or before `time`, the innermost first.
  void close(const track_key& key, lane& in, std::uint64_t which, time_ns time) {
    while (!in.ends.empty() && in.ends.back() <= time && in.ends.back() != never) {
      out_.end_slice(get_uuid(key, which), stamp_(in.ends.back()));
      in.ends.pop_back();
    }
  }

  [[nodiscard]] std::string_view get_name(const slice& item) {
    if (item.fixed_name != nullptr) return item.fixed_name;
    if (item.is_kernel) return what_.text(kernel_names_(item.name), text_role::code);
    return what_.text(item.name, item.fixed_category != nullptr && item.track.location == track_subject::files
                                     ? text_role::path
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
    perfetto_packets::event event;
    event.track = get_uuid(item.track, which);
    event.time = stamp_(item.time);
    name_.assign(get_name(item));
    category_.assign(item.fixed_category != nullptr ? item.fixed_category
                                                    : what_.text(item.category, text_role::plain));
    event.name = name_;
    event.category = category_;
    event.call = item.call;
    event.requested_by = item.requested_by;
    if (const auto known = links_from_.find(item.order); known != links_from_.end()) event.flows = known->second;
    if (const auto known = links_to_.find(item.order); known != links_to_.end()) event.flow_ends = known->second;
    event.metrics = {item.metrics.data(), item.metric_count};
    out_.begin_slice(event);
    lanes[which].ends.push_back(item.end);
  }

  // --- marks and counters -------------------------------------------------------------------------------------------

  result<void> marks() {
    return what_.for_each<trace::marker_event>([&](const trace::marker_event& row) -> result<void> {
      const bool of_thread = row.thread != trace::thread_id::none;
      const track_key key = of_thread ? track_key{track_subject::thread, raw(row.thread)}
                                      : track_key{track_subject::marks, raw(row.process)};
      if (std::vector<lane>& lanes = lanes_[key]; lanes.empty()) {
        lanes.emplace_back();
        describe(key, 0, row.process);
      }
      perfetto_packets::event event;
      event.track = get_uuid(key);
      event.time = stamp_(row.time);
      name_.assign(what_.text(row.name, text_role::plain));
      if (row.step >= 0) name_ += fmt::format(" #{}", row.step);
      event.name = name_;
      event.category = row.step >= 0 ? "step" : "mark";
      out_.instant(event);
      return out_.outcome();
    });
  }

  /// Returns the track of a counter. Writes its descriptor on first use.
  std::uint64_t counter_track(const track_key& key, std::uint64_t parent, const std::string& name, perfetto_unit unit) {
    if (described_.insert(key).second) out_.counter_track(get_uuid(key), parent, name, unit);
    return get_uuid(key);
  }

  /// Returns the parent track for the memory of a device or of the host.
  std::uint64_t get_memory(trace::device_id device) {
    const track_key key{track_subject::memory_of_device, raw(device)};
    if (described_.insert(key).second) {
      out_.plain_track(
          get_uuid(key), 0,
          device == trace::device_id::none ? "Memory of the host" : "Memory of " + device_name(device, what_));
    }
    return get_uuid(key);
  }

  static perfetto_unit get_unit(trace::counter_unit unit) {
    if (unit == trace::counter_unit::bytes) return perfetto_unit::bytes;
    return unit == trace::counter_unit::nanoseconds ? perfetto_unit::nanoseconds : perfetto_unit::unspecified;
  }

  result<void> counters() {
    auto done = what_.for_each<trace::counter_event>([&](const trace::counter_event& row) -> result<void> {
      const trace::counter_row* about = what_.tables().counters.find(row.counter);
      const std::string name(about == nullptr ? "counter" : what_.text(about->name, text_role::plain));
      const auto unit = about == nullptr ? perfetto_unit::unspecified : get_unit(about->unit);
      const bool own = about == nullptr || row.process != trace::process_id::none;
      const std::uint64_t parent = read_parent(own ? row.process : about->process);
      out_.counter(counter_track({track_subject::counter, raw(row.counter)}, parent, name, unit), stamp_(row.time),
                   row.value);
      return out_.outcome();
    });
    if (!done) return done;
    done = what_.for_each<trace::pool_event>([&](const trace::pool_event& row) -> result<void> {
      const std::string name(what_.text(index::pool_label(row.pool, what_.tables()), text_role::plain));
      const std::uint64_t parent = read_parent(row.process);
      const auto both = {std::tuple(track_subject::pool_reserved, " reserved", row.reserved),
                         std::tuple(track_subject::pool_used, " used", row.used)};
      for (const auto& [which, word, bytes] : both) {
        const std::uint64_t track = counter_track({which, raw(row.pool)}, parent, name + word, perfetto_unit::bytes);
        out_.counter(track, stamp_(row.time), static_cast<std::int64_t>(bytes));
      }
      return out_.outcome();
    });
    if (!done) return done;
    return what_.for_each<trace::device_memory_event>([&](const trace::device_memory_event& row) -> result<void> {
      const std::uint64_t track = counter_track({track_subject::free_memory, raw(row.device)}, get_memory(row.device),
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
      bool has_begun = false;  ///< True if the value at the range's start was written.
      time_ns changed = 0;
      /// False while a change has not been written. Changes at the same time are merged into one.
      bool written = true;
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
        const std::string name = fmt::format("{} {}", trace::get_name(change.layer), trace::get_name(change.kind));
        now.track = counter_track({track_subject::memory, levels.size()}, get_memory(change.device), name,
                                  perfetto_unit::bytes);
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
  std::set<track_key> described_;  ///< The counters, and the parents of other tracks, that have been described.
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> links_from_, links_to_;
  std::string name_, category_;
};

}  // namespace

output_shape shape_of_perfetto(const options& /*wanted*/) { return output_shape::stream; }
result<void> write_perfetto(job& export_job, output& to) { return perfetto_writer(export_job, to).run(); }

}  // namespace sluice::exports
