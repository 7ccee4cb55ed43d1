#include "core/index/work/device_work.hpp"

#include <algorithm>
#include <cmath>

#include "core/timeline/make_slice.hpp"

namespace sluice::index {

using timeline::slice_item;
using trace::direction;
using trace::memory_kind;

double compute_bandwidth(std::uint64_t bytes, time_ns begin, time_ns end) {
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(std::max<time_ns>(end - begin, 1));
}

memory_kind get_host_side(const trace::transfer_event& row) {
  if (row.direction == direction::h2d) return row.source_kind;
  if (row.direction == direction::d2h) return row.destination_kind;
  return memory_kind::unknown;
}

timeline::slice_kind get_slice_kind(direction way) {
  switch (way) {
    case direction::h2d:
      return timeline::slice_kind::h2d;
    case direction::d2h:
      return timeline::slice_kind::d2h;
    case direction::p2p:
      return timeline::slice_kind::p2p;
    case direction::h2h:
      return timeline::slice_kind::h2h;
    case direction::d2d:
    case direction::unknown:
      break;
  }
  return timeline::slice_kind::d2d;
}

void device_activity_index::add(const std::vector<trace::kernel_event>& rows) {
  for (const trace::kernel_event& row : rows) {
    slice_item item = make_slice(row, row.end, timeline::slice_kind::kernel, malformed_);
    item.name = row.name;
    if (busy_) {
      device_work& device = devices_[row.device];
      device.kernels.add(item.begin, item.end);
      device.either.add(item.begin, item.end);
      device.anything.add(item.begin, item.end);
    }
    add_to_stream(row, item);
  }
}

void device_activity_index::add_copy(const direction_key& key, const slice_item& item) {
  direction_work& work = last_direction_.in(directions_, key);
  work.slices.add(item);
  if (busy_) {
    work.busy.add(item.begin, item.end);
    work.parts[static_cast<memory_kind>(item.tag)].add(item.begin, item.end);
  }
  if (item.end != latest_time) {
    // Sums of whole bytes per second are exact, so they return to exactly 0.
    const double rate = std::round(compute_bandwidth(item));
    work.rate.add({item.begin, rate});
    work.rate.add({std::max(item.end, item.begin + 1), -rate});
  }
  if (key.direction == direction::h2h || !busy_) return;
  device_work& device = devices_[key.device];
  device.copies.add(item.begin, item.end);
  device.either.add(item.begin, item.end);
  device.anything.add(item.begin, item.end);
}

void device_activity_index::add(const std::vector<trace::transfer_event>& rows) {
  for (const trace::transfer_event& row : rows) {
    slice_item item = make_slice(row, row.end, get_slice_kind(row.direction), malformed_);
    item.bytes = row.bytes;
    item.tag = static_cast<std::uint8_t>(get_host_side(row));
    add_copy({row.device, row.direction}, item);
    add_to_stream(row, item);
  }
}

void device_activity_index::add(const std::vector<trace::migration_event>& rows) {
  for (const trace::migration_event& row : rows) {
    slice_item item = make_slice(row, row.end, timeline::slice_kind::migration, malformed_);
    item.bytes = row.bytes;
    item.tag = static_cast<std::uint8_t>(memory_kind::managed);
    add_copy({row.device, row.direction}, item);
  }
}

void device_activity_index::add(const std::vector<trace::memset_event>& rows) {
  for (const trace::memset_event& row : rows) {
    slice_item item = make_slice(row, row.end, timeline::slice_kind::memset, malformed_);
    item.bytes = row.bytes;
    if (busy_) {
      device_work& device = devices_[row.device];
      device.memsets.add(item.begin, item.end);
      device.anything.add(item.begin, item.end);
    }
    add_to_stream(row, item);
  }
}

void device_activity_index::add(const std::vector<trace::graph_launch_event>& rows) {
  for (const trace::graph_launch_event& row : rows) {
    if (row.end == trace::unknown_time) continue;  // Such a launch covers only the call. Its nodes have their own rows.
    const slice_item item = make_slice(row, row.end, timeline::slice_kind::graph, malformed_);
    if (busy_) devices_[row.device].anything.add(item.begin, item.end);
    add_to_stream(row, item);
  }
}

timeline::slice_set& device_activity_index::set_known(const stream_key& stream, std::size_t lanes, time_ns begin) {
  streams_[stream].set_known(lanes, begin);
  return streams_[stream];
}

timeline::slice_set& device_activity_index::set_known(const direction_key& direction, std::size_t lanes,
                                                      double highest_rate, time_ns begin) {
  direction_work& work = directions_[direction];
  work.slices.set_known(lanes, begin);
  work.rate.set_highest(highest_rate);
  return work.slices;
}

bool device_activity_index::ran_kernels(trace::device_id device) const {
  const auto found = devices_.find(device);
  return with_kernels_.contains(device) || (found != devices_.end() && !found->second.kernels.empty());
}

void device_activity_index::settle() {
  for (auto& [key, slices] : streams_) slices.settle();
  for (auto& [key, work] : directions_) {
    work.slices.settle();
    work.rate.settle();
    work.busy.settle();
    for (auto& [kind, part] : work.parts) part.settle();
  }
  for (auto& [id, device] : devices_) {
    for (timeline::coverage* each :
         {&device.kernels, &device.copies, &device.either, &device.memsets, &device.anything}) {
      each->settle();
    }
  }
}

}  // namespace sluice::index
