#include "core/metrics/range_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/metrics/link_share.hpp"
#include "core/trace/model/mapping_flags.hpp"

namespace sluice::metrics {
namespace {

using timeline::extent;
using timeline::slice_item;
using trace::memory_kind;

double per_second(double bytes, time_ns ns) { return ns > 0 ? bytes * 1e9 / static_cast<double>(ns) : 0; }

time_ns clipped(const slice_item& item, time_range range) {
  return std::max<time_ns>(0, std::min(item.end, range.end) - std::max(item.begin, range.begin));
}

/// Returns the number of bytes that an event transfers inside the range.
double bytes_inside(const slice_item& item, time_range range) {
  const time_ns length = item.end - item.begin;
  if (length <= 0 || item.end == latest_time) return static_cast<double>(item.bytes);
  return static_cast<double>(item.bytes) * static_cast<double>(clipped(item, range)) / static_cast<double>(length);
}

/// A part of a range.
struct portion {
  time_range all;
  time_range part;
  /// An event that spans several parts is counted in the first part that it overlaps.
  [[nodiscard]] bool is_new(const slice_item& item) const {
    return part.begin == all.begin || item.begin >= part.begin;
  }
};

// --- curves over parts ----------------------------------------------------------------------------------------------

/// Statistics of a curve, combined over several parts.
struct curve_sum {
  double at_end = 0;
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  time_ns maximum_time = 0;
  double integral = 0;
  [[nodiscard]] bool empty() const { return minimum > maximum; }

  template <class Tree>
  void add(const Tree& tree, time_range part) {
    const extent over = tree.over(part.begin, part.end);
    if (over.empty()) return;
    at_end = tree.at(part.end - 1);
    minimum = std::min(minimum, over.minimum);
    if (over.maximum > maximum) {
      maximum = over.maximum;
      maximum_time = over.maximum_time;
    }
    integral += over.integral;
  }
};

// --- the active span ------------------------------------------------------------------------------------------------

/// Determines the time from the first to the last device work or allocation.
struct active_sum {
  time_ns begin = latest_time;
  time_ns end = -latest_time;
  void add(time_ns first, time_ns last) {
    begin = std::min(begin, first);
    end = std::max(end, last);
  }
  /// Adds the allocations of device memory and of host memory that the device can access.
  void add_births(const index::memory_use& memory, time_range part) {
    for (const index::block_record& block : memory.blocks())
      if (block.allocated && !block.born_before() && block.kind != memory_kind::host && part.holds(block.born))
        add(block.born, block.born + 1);
  }
  [[nodiscard]] time_range inside(time_range range) const {
    const time_range found{std::max(begin, range.begin), std::min(end, range.end)};
    return found.begin < found.end ? found : range;
  }
};

// --- memory ---------------------------------------------------------------------------------------------------------

struct memory_sum {
  curve_sum use;
  memory_statistics blocks;  ///< Only the members that are counts or sums of blocks are used.
};

void add_memory(const index::memory_use& memory, time_range part, std::map<index::memory_key, memory_sum>& into) {
  for (const auto& [key, tree] : memory.use()) into[key].use.add(tree, part);
  for (const index::block_record& block : memory.blocks()) {
    if (!block.allocated || block.imported()) continue;
    // Skip blocks whose free was requested before the recording, because they were not in use during it.
    if (block.born_before() && block.freed() && block.died <= block.born) continue;
    const bool born_here = !block.born_before() && block.born >= part.begin && block.born < part.end;
    const bool died_here = block.freed() && block.died >= part.begin && block.died < part.end;
    if (!born_here && !died_here) continue;
    memory_statistics& of = into[{block.device, block.layer, block.kind}].blocks;
    if (born_here && (block.flags & trace::rest_of_block) != 0) {
      // The original block, of which this block is the remainder, counted as freed as a whole.
      of.freed_bytes -= block.bytes;
    } else if (born_here) {
      ++of.allocations;
      of.allocated_bytes += block.bytes;
    }
    if (died_here) {
      ++of.frees;
      of.freed_bytes += block.bytes;
    }
  }
}

std::vector<memory_statistics> memory_of(const std::map<index::memory_key, memory_sum>& sums, time_range range) {
  std::vector<memory_statistics> all;
  for (const auto& [key, sum] : sums) {
    memory_statistics of = sum.blocks;
    of.device = key.device;
    of.layer = key.layer;
    of.kind = key.kind;
    if (!sum.use.empty()) {
      of.at_end = whole_bytes(sum.use.at_end);
      // Computed from other members, because the curve includes changes at the first instant of the range.
      const std::uint64_t gone = of.at_end + of.freed_bytes;
      of.at_begin = gone - std::min(gone, of.allocated_bytes);
      of.minimum = whole_bytes(sum.use.minimum);
      of.maximum = whole_bytes(sum.use.maximum);
      of.maximum_time = sum.use.maximum_time;
      of.mean = sum.use.integral / static_cast<double>(range.length());
    }
    if (of.maximum > 0 || of.allocations > 0 || of.frees > 0) all.push_back(of);
  }
  return all;
}

struct untracked_sum {
  std::uint64_t samples = 0;
  std::uint64_t device_bytes = 0;
  time_ns known = 0;  ///< The time of the first sample, before which the value is unknown.
  curve_sum untracked;
  curve_sum used;
  double recorder = 0;
};

void add_untracked(const index::memory_use& memory, const portion& of,
                   std::map<trace::device_id, untracked_sum>& into) {
  for (const auto& [device, samples] : memory.devices()) {
    untracked_sum& sum = into[device];
    for (const index::device_samples::sample& s : samples.samples)
      if (s.time >= of.part.begin && s.time < of.part.end) ++sum.samples;
    sum.known = std::max(of.all.begin, samples.used.first_time());
    const time_range part{std::max(of.part.begin, sum.known), of.part.end};
    sum.untracked.add(samples.untracked, part);
    sum.used.add(samples.used, part);
    if (sum.untracked.empty()) continue;
    if (const auto* last = samples.last_until(of.part.end - 1)) sum.device_bytes = last->total;
    sum.recorder = samples.recorder.at(of.part.end - 1);
  }
}

std::vector<untracked_statistics> untracked_of(const std::map<trace::device_id, untracked_sum>& sums,
                                               time_range range) {
  std::vector<untracked_statistics> all;
  for (const auto& [device, sum] : sums) {
    if (sum.untracked.empty()) continue;
    untracked_statistics of;
    of.device = device;
    of.samples = sum.samples;
    of.device_bytes = sum.device_bytes;
    of.maximum = whole_bytes(sum.untracked.maximum);
    of.mean = sum.untracked.integral / static_cast<double>(range.end - sum.known);
    of.at_end = whole_bytes(sum.untracked.at_end);
    of.recorder = whole_bytes(sum.recorder);
    of.used_maximum = whole_bytes(sum.used.maximum);
    all.push_back(of);
  }
  return all;
}

struct pool_sum {
  std::uint64_t states = 0;
  curve_sum used;
  curve_sum reserved;
  double used_while_known = 0;  ///< Sum of used bytes times ns, over the time in which both values are known.
  double reserved_while_known = 0;
};

void add_pools(const index::memory_use& memory, const portion& of, std::map<trace::pool_id, pool_sum>& into) {
  for (const auto& each : memory.pools()) {
    const auto& pool = each.second;  // A local name is needed because lambdas cannot capture structured bindings.
    pool_sum& sum = into[each.first];
    sum.states += static_cast<std::uint64_t>(std::count_if(pool.times.begin(), pool.times.end(), [&](time_ns time) {
      return time >= of.part.begin && time < of.part.end;
    }));
    const time_range known{std::max(of.part.begin, pool.reserved.first_time()), of.part.end};
    const auto add_used = [&](const auto& tree) {
      sum.used.add(tree, of.part);
      if (!pool.reserved.empty()) sum.used_while_known += tree.over(known.begin, known.end).integral;
    };
    if (pool.blocks.empty())
      add_used(pool.used);
    else
      add_used(pool.blocks);
    sum.reserved.add(pool.reserved, of.part);
    if (!pool.reserved.empty()) sum.reserved_while_known += pool.reserved.over(known.begin, known.end).integral;
  }
}

std::vector<pool_statistics> pools_of(const std::map<trace::pool_id, pool_sum>& sums) {
  std::vector<pool_statistics> all;
  for (const auto& [id, sum] : sums) {
    if (sum.used.empty() || sum.reserved.empty()) continue;
    pool_statistics of;
    of.pool = id;
    of.states = sum.states;
    of.used_maximum = whole_bytes(sum.used.maximum);
    of.used_maximum_time = sum.used.maximum_time;
    of.used_at_end = whole_bytes(sum.used.at_end);
    of.reserved_maximum = whole_bytes(sum.reserved.maximum);
    of.reserved_maximum_time = sum.reserved.maximum_time;
    of.reserved_at_end = whole_bytes(sum.reserved.at_end);
    if (sum.reserved_while_known > 0)
      of.used_share = std::clamp(sum.used_while_known / sum.reserved_while_known, 0.0, 1.0);
    if (of.states > 0 || of.used_maximum > 0 || of.reserved_maximum > 0) all.push_back(of);
  }
  return all;
}

// --- transfers ------------------------------------------------------------------------------------------------------

struct direction_sum {
  transfer_statistics all;
  std::map<memory_kind, transfer_part> parts;
};

void add_direction(const index::direction_work& work, const portion& of, direction_sum& into) {
  work.slices.for_each(of.part.begin, of.part.end, [&](const slice_item& item, std::uint16_t) {
    if (!of.is_new(item)) return;
    transfer_part& part = into.parts[static_cast<memory_kind>(item.tag)];
    ++into.all.count;
    ++part.count;
    if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::migration)) ++into.all.migrations;
    const double bytes = bytes_inside(item, of.all);
    into.all.bytes += bytes;
    part.bytes += bytes;
    saturating_add(into.all.total, clipped(item, of.all));
    // A transfer of zero duration or without an end has no bandwidth.
    if (item.end <= item.begin || item.end == latest_time) return;
    const double bandwidth = index::bandwidth_of(item);
    part.fastest_bandwidth = std::max(part.fastest_bandwidth, bandwidth);
    const bool first_of_equals = bandwidth == into.all.fastest_bandwidth && item.event < into.all.fastest;
    if (bandwidth > into.all.fastest_bandwidth || first_of_equals) {
      into.all.fastest_bandwidth = bandwidth;
      into.all.fastest = item.event;
    }
  });
  saturating_add(into.all.busy, work.busy.busy(of.part.begin, of.part.end));
  into.all.maximum_bandwidth = std::max(into.all.maximum_bandwidth, work.rate.over(of.part.begin, of.part.end).maximum);
  for (const auto& [side, covered] : work.parts)
    saturating_add(into.parts[side].busy, covered.busy(of.part.begin, of.part.end));
}

std::vector<transfer_statistics> transfers_of(const std::map<index::direction_key, direction_sum>& sums,
                                              const trace::tables& tables) {
  std::vector<transfer_statistics> all;
  for (const auto& [key, sum] : sums) {
    if (sum.all.count == 0) continue;
    transfer_statistics of = sum.all;
    of.device = key.device;
    of.direction = key.direction;
    of.mean_bandwidth = per_second(of.bytes, of.busy);
    const trace::device_row* device = tables.devices.find(key.device);
    const bool over_the_link = key.direction == trace::direction::h2d || key.direction == trace::direction::d2h;
    of.link_peak = link_peak_of(key.direction, device);
    if (device != nullptr && over_the_link)
      of.attainable =
          static_cast<double>(key.direction == trace::direction::h2d ? device->attainable_h2d : device->attainable_d2h);
    for (const auto& [side, counted] : sum.parts) {
      if (counted.count == 0 || !over_the_link) continue;
      transfer_part& part = of.parts.emplace_back(counted);
      part.host_side = side;
      part.mean_bandwidth = per_second(part.bytes, part.busy);
    }
    std::stable_sort(of.parts.begin(), of.parts.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    all.push_back(std::move(of));
  }
  return all;
}

// --- what ran -------------------------------------------------------------------------------------------------------

using by_name = std::unordered_map<std::uint64_t, named_time>;

void count_named(by_name& names, const slice_item& item, time_range range) {
  named_time& of = names[raw(item.name)];
  of.name = item.name;
  ++of.count;
  const time_ns length = clipped(item, range);
  saturating_add(of.total, length);
  // If several events are equally long, take the one with the lowest id, so that the order of arrival does not matter.
  const bool first_of_equals = length == of.longest && item.event < of.longest_event;
  if (length > of.longest || of.longest_event == trace::event_id::none || first_of_equals) {
    of.longest = length;
    of.longest_event = item.event;
  }
}

std::vector<named_time> longest(const by_name& names) {
  std::vector<named_time> all;
  for (const auto& [id, of] : names) all.push_back(of);
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.total != b.total ? a.total > b.total : a.name < b.name; });
  if (all.size() > range_statistics::named_limit) all.resize(range_statistics::named_limit);
  return all;
}

struct device_sum {
  device_activity counted;
  bool worked = false;      ///< True if `first` and `last` are set.
  bool was_busy = false;    ///< True if there is any device work, not just a stream.
  time_ns either_busy = 0;  ///< Time with kernels or copies.
};

void add_devices(const index::device_activity_index& devices, const portion& of, by_name& kernels,
                 std::map<trace::device_id, device_sum>& into) {
  for (const auto& [key, slices] : devices.streams()) {
    slices.for_each(of.part.begin, of.part.end, [&, device = key.device](const slice_item& item, std::uint16_t) {
      device_sum& sum = into[device];
      sum.counted.first = sum.worked ? std::min(sum.counted.first, item.begin) : item.begin;
      sum.counted.last = sum.worked ? std::max(sum.counted.last, item.end) : item.end;
      sum.worked = true;
      if (!of.is_new(item)) return;
      if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::kernel)) {
        ++sum.counted.kernels;
        saturating_add(sum.counted.kernel_total, clipped(item, of.all));
        count_named(kernels, item, of.all);
      } else if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::memset)) {
        ++sum.counted.memsets;
        saturating_add(sum.counted.memset_bytes, item.bytes);
      }
    });
  }
  for (const auto& [id, work] : devices.devices()) {
    device_sum& sum = into[id];
    sum.was_busy = true;
    const auto busy = [&](const timeline::coverage& what) { return what.busy(of.part.begin, of.part.end); };
    saturating_add(sum.counted.kernel_busy, busy(work.kernels));
    saturating_add(sum.counted.copy_busy, busy(work.copies));
    saturating_add(sum.either_busy, busy(work.either));
    saturating_add(sum.counted.busy, busy(work.anything));
    saturating_add(sum.counted.memset_busy, busy(work.memsets));
  }
}

std::vector<device_activity> devices_of(const std::map<trace::device_id, device_sum>& sums, time_range range) {
  std::vector<device_activity> all;
  for (const auto& [id, sum] : sums) {
    device_activity of = sum.counted;
    of.device = id;
    if (sum.worked) {
      of.first = std::max(range.begin, of.first);
      of.last = std::min(range.end, of.last);
    }
    of.copy_only = sum.either_busy - of.kernel_busy;
    of.overlap = of.kernel_busy - (sum.either_busy - of.copy_busy);  // No term here can overflow.
    if (sum.was_busy && (of.busy > 0 || of.kernels > 0 || of.memsets > 0)) all.push_back(of);
  }
  return all;
}

void add_thread(const index::thread_work& work, const portion& of, thread_statistics& into, by_name& calls,
                by_name& ranges) {
  work.calls.for_each(of.part.begin, of.part.end, [&](const slice_item& item, std::uint16_t) {
    if (!of.is_new(item)) return;
    if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::api_call)) {
      ++into.calls;
      count_named(calls, item, of.all);
    } else if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::file_io) &&
               (item.bytes > 0 || item.end > item.begin)) {
      ++into.file_operations;
      into.file_bytes += bytes_inside(item, of.all);
    }
  });
  work.ranges.for_each(of.part.begin, of.part.end, [&](const slice_item& item, std::uint16_t) {
    if (of.is_new(item) && item.kind == static_cast<std::uint8_t>(timeline::slice_kind::range))
      count_named(ranges, item, of.all);
  });
  saturating_add(into.call_busy, work.call_busy.busy(of.part.begin, of.part.end));
  saturating_add(into.wait_busy, work.wait_busy.busy(of.part.begin, of.part.end));
  saturating_add(into.file_busy, work.file_busy.busy(of.part.begin, of.part.end));
}

std::vector<thread_statistics> threads_of(const std::map<index::thread_key, thread_statistics>& sums) {
  std::vector<thread_statistics> all;
  for (const auto& [key, of] : sums)
    if (of.calls > 0 || of.wait_busy > 0 || of.file_operations > 0) all.push_back(of);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return saturating_sum(a.call_busy, a.wait_busy) > saturating_sum(b.call_busy, b.wait_busy);
  });
  return all;
}

}  // namespace

struct range_measurer::sums {
  time_range range;
  std::map<index::memory_key, memory_sum> memory;
  std::map<trace::device_id, untracked_sum> untracked;
  std::map<trace::pool_id, pool_sum> pools;
  std::map<index::direction_key, direction_sum> transfers;
  std::map<trace::device_id, device_sum> devices;
  std::map<index::thread_key, thread_statistics> threads;
  by_name kernels;
  by_name calls;
  by_name ranges;
  active_sum births;
  std::uint64_t failed_allocations = 0;
  std::uint64_t lost_events = 0;
  std::uint64_t lost_memory_events = 0;

  /// There are few failures and losses, so every section contains all of them so far.
  void count_failures(const index::memory_use& from) {
    failed_allocations = lost_events = lost_memory_events = 0;
    for (const trace::alloc_failed_event& row : from.failed())
      if (row.time >= range.begin && row.time < range.end) ++failed_allocations;
    for (const trace::loss_event& row : from.losses()) {
      const time_ns end = row.end == trace::unknown_time ? row.time : std::max(row.time, row.end);
      if (row.time >= range.end || end < range.begin) continue;
      lost_events += row.events;
      lost_memory_events += row.memory_events;
    }
  }
};

range_measurer::range_measurer(time_range range) : sums_(std::make_unique<sums>()) { sums_->range = bounded(range); }

range_measurer::range_measurer(const range_measurer& other) : sums_(std::make_unique<sums>(*other.sums_)) {}

range_measurer::~range_measurer() = default;

void range_measurer::set_end(time_ns end) { sums_->range.end = bounded(end); }

void range_measurer::add(const index::event_store& from, time_range part) {
  sums& all = *sums_;
  if (part.length() <= 0) return;
  const portion of{all.range, part};
  all.count_failures(from.memory());
  all.births.add_births(from.memory(), part);
  add_memory(from.memory(), part, all.memory);
  add_untracked(from.memory(), of, all.untracked);
  add_pools(from.memory(), of, all.pools);
  for (const auto& [key, work] : from.devices().directions()) add_direction(work, of, all.transfers[key]);
  add_devices(from.devices(), of, all.kernels, all.devices);
  for (const auto& [key, work] : from.host().threads()) {
    thread_statistics& thread = all.threads[key];
    thread.thread = key.thread;
    thread.process = key.process;
    add_thread(work, of, thread, all.calls, all.ranges);
  }
}

range_statistics range_measurer::metrics(const trace::tables& tables) const {
  const sums& all = *sums_;
  range_statistics made;
  made.range = all.range;
  made.memory = memory_of(all.memory, all.range);
  made.untracked = untracked_of(all.untracked, all.range);
  made.pools = pools_of(all.pools);
  made.transfers = transfers_of(all.transfers, tables);
  made.devices = devices_of(all.devices, all.range);
  active_sum active = all.births;
  for (const device_activity& device : made.devices) active.add(device.first, device.last);
  made.active = active.inside(all.range);
  made.kernels = longest(all.kernels);
  made.kernel_names = all.kernels.size();
  made.calls = longest(all.calls);
  made.ranges = longest(all.ranges);
  made.threads = threads_of(all.threads);
  made.failed_allocations = all.failed_allocations;
  made.lost_events = all.lost_events;
  made.lost_memory_events = all.lost_memory_events;
  return made;
}

time_range active_span(const index::event_store& from, time_range range) {
  active_sum active;
  active.add_births(from.memory(), range);
  for (const auto& [id, work] : from.devices().devices())
    if (const timeline::level_tree& open = work.anything.open(); !open.empty())
      active.add(open.first_time(), open.last_time());
  return active.inside(range);
}

range_statistics measure(const index::event_store& from, const trace::tables& tables, time_range range) {
  range_measurer all(range);
  all.add(from, bounded(range));
  return all.metrics(tables);
}

}  // namespace sluice::metrics
