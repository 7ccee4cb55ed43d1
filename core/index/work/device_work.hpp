#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/recent_entry.hpp"
#include "core/base/saturating.hpp"
#include "core/base/time/time_range.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/timeline/time_tree.hpp"
#include "core/trace/model/model.hpp"

/// Work of devices: kernels, copies, migrations, memsets.
namespace sluice::index {

/// Identifies a stream.
struct stream_key {
  trace::process_id process{};
  trace::device_id device{};
  trace::stream_id stream{};
  friend bool operator==(const stream_key&, const stream_key&) = default;
  friend bool operator<(const stream_key& a, const stream_key& b) {
    return std::tie(a.process, a.device, a.stream) < std::tie(b.process, b.device, b.stream);
  }
};

/// Identifies the copies in one direction to or from a device.
struct direction_key {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  friend bool operator==(const direction_key&, const direction_key&) = default;
  friend bool operator<(const direction_key& a, const direction_key& b) {
    return std::tie(a.device, a.direction) < std::tie(b.device, b.direction);
  }
};

/// The transfers in one direction. A slice's `tag` is the memory_kind of the transfer's host side; `unknown` if the
/// transfer has no host side.
struct direction_work {
  timeline::slice_set slices;
  timeline::level_tree rate;  ///< Bytes per second. Each transfer's bytes are spread evenly over its interval, and
                              ///< simultaneous transfers are added up.
  timeline::coverage busy;
  std::map<trace::memory_kind, timeline::coverage> parts;  ///< Busy times, by the kind of memory on the host side.
};

/// The busy times of a device, by kind of work.
struct device_work {
  timeline::coverage kernels;
  timeline::coverage copies;  ///< Copies and migrations to or from the device.
  timeline::coverage either;  ///< Kernels or copies. The overlap of the two is kernels + copies - either.
  timeline::coverage memsets;
  timeline::coverage anything;
};

/// Collects device events, in any order. An event without a known end never ends, and callers clip it to their time
/// range. Ends before starts are counted in `malformed` and produce slices of length 0. Not thread-safe.
class device_activity_index {
 public:
  void add(const std::vector<trace::kernel_event>& rows);
  void add(const std::vector<trace::transfer_event>& rows);
  void add(const std::vector<trace::migration_event>& rows);
  void add(const std::vector<trace::memset_event>& rows);
  void add(const std::vector<trace::graph_launch_event>& rows);
  /// For an index of the section that starts at `begin`: sets the number of lanes that a stream or direction has in the
  /// whole recording and, for a direction, its highest rate in bytes per second. Returns the slices of the stream or
  /// direction, to which the caller adds the slices that are running at `begin`.
  timeline::slice_set& set_known(const stream_key& stream, std::size_t lanes, time_ns begin);
  timeline::slice_set& set_known(const direction_key& direction, std::size_t lanes, double highest_rate, time_ns begin);
  void set_known_kernels(trace::device_id device) { with_kernels_.insert(device); }
  /// Omits the busy times of devices and directions, which then must not be queried.
  void leave_out_busy() { busy_ = false; }
  void settle();

  /// True if the device ran a kernel at any time during the recording.
  [[nodiscard]] bool ran_kernels(trace::device_id device) const;
  [[nodiscard]] const std::map<stream_key, timeline::slice_set>& streams() const { return streams_; }
  [[nodiscard]] const std::map<direction_key, direction_work>& directions() const { return directions_; }
  [[nodiscard]] const std::map<trace::device_id, device_work>& devices() const { return devices_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  template <class Row>
  void add_to_stream(const Row& row, timeline::slice_item item) {
    if constexpr (requires { row.enqueued; })
      if (row.enqueued != trace::unknown_time && item.begin > row.enqueued)
        item.queued = static_cast<std::uint32_t>(
            std::min<time_ns>(saturating_difference(item.begin, row.enqueued), timeline::slice_item::longest_queued));
    last_stream_.in(streams_, {row.process, row.device, row.stream}).add(item);
  }
  void add_copy(const direction_key& key, const timeline::slice_item& item);

  std::map<stream_key, timeline::slice_set> streams_;
  std::map<direction_key, direction_work> directions_;
  recent_entry<std::map<stream_key, timeline::slice_set>> last_stream_;
  recent_entry<std::map<direction_key, direction_work>> last_direction_;
  std::map<trace::device_id, device_work> devices_;
  std::set<trace::device_id> with_kernels_;  ///< Devices for which `set_known_kernels` was called.
  bool busy_ = true;
  std::uint64_t malformed_ = 0;
};

/// Returns the bytes per second of one transfer: bytes / (end - begin). A length below 1 ns counts as 1 ns.
[[nodiscard]] double compute_bandwidth(std::uint64_t bytes, time_ns begin, time_ns end);
[[nodiscard]] inline double compute_bandwidth(const timeline::slice_item& transfer) {
  return compute_bandwidth(transfer.bytes, transfer.begin, transfer.end);
}

/// Returns the kind of memory on the host side of a copy; unknown if neither side is host memory.
[[nodiscard]] trace::memory_kind get_host_side(const trace::transfer_event& row);

[[nodiscard]] timeline::slice_kind get_slice_kind(trace::direction direction);

}  // namespace sluice::index
