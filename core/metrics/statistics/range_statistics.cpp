#include "core/metrics/statistics/range_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/metrics/idle/gap_causes.hpp"
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

/// A part of a range, with the range.
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
    memory_statistics& statistics = into[{block.device, block.layer, block.kind}].blocks;
    if (born_here && (block.flags & trace::rest_of_block) != 0) {
      // This block is the remainder of another block, which counted as freed as a whole.
      statistics.freed_bytes -= block.bytes;
    } else if (born_here) {
      ++statistics.allocations;
      statistics.allocated_bytes += block.bytes;
    }
    if (died_here) {
      ++statistics.frees;
      statistics.freed_bytes += block.bytes;
    }
  }
}

std::vector<memory_statistics> get_memory(const std::map<index::memory_key, memory_sum>& sums, time_range range) {
  std::vector<memory_statistics> items;
  for (const auto& [key, sum] : sums) {
    memory_statistics statistics = sum.blocks;
    statistics.device = key.device;
    statistics.layer = key.layer;
    statistics.kind = key.kind;
    if (!sum.use.empty()) {
      statistics.at_end = whole_bytes(sum.use.at_end);
      // Computed from other members, because the curve includes changes at the first instant of the range.
      const std::uint64_t gone = statistics.at_end + statistics.freed_bytes;
      statistics.at_begin = gone - std::min(gone, statistics.allocated_bytes);
      statistics.minimum = whole_bytes(sum.use.minimum);
      statistics.maximum = whole_bytes(sum.use.maximum);
      statistics.maximum_time = sum.use.maximum_time;
      statistics.mean = sum.use.integral / static_cast<double>(range.length());
    }
    if (statistics.maximum > 0 || statistics.allocations > 0 || statistics.frees > 0) items.push_back(statistics);
  }
  return items;
}

struct untracked_sum {
  std::uint64_t samples = 0;
  std::uint64_t device_bytes = 0;
  time_ns known = 0;  ///< The time of the first sample, before which the value is unknown.
  curve_sum untracked;
  curve_sum used;
  double recorder = 0;
};

void add_untracked(const index::memory_use& memory, const portion& subject,
                   std::map<trace::device_id, untracked_sum>& into) {
  for (const auto& [device, samples] : memory.devices()) {
    untracked_sum& sum = into[device];
    for (const index::device_samples::sample& s : samples.samples)
      if (s.time >= subject.part.begin && s.time < subject.part.end) ++sum.samples;
    sum.known = std::max(subject.all.begin, samples.used.first_time());
    const time_range part{std::max(subject.part.begin, sum.known), subject.part.end};
    sum.untracked.add(samples.untracked, part);
    sum.used.add(samples.used, part);
    if (sum.untracked.empty()) continue;
    if (const auto* last = samples.last_until(subject.part.end - 1)) sum.device_bytes = last->total;
    sum.recorder = samples.recorder.at(subject.part.end - 1);
  }
}

std::vector<untracked_statistics> get_untracked(const std::map<trace::device_id, untracked_sum>& sums,
                                                time_range range) {
  std::vector<untracked_statistics> items;
  for (const auto& [device, sum] : sums) {
    if (sum.untracked.empty()) continue;
    untracked_statistics statistics;
    statistics.device = device;
    statistics.samples = sum.samples;
    statistics.device_bytes = sum.device_bytes;
    statistics.maximum = whole_bytes(sum.untracked.maximum);
    statistics.mean = sum.untracked.integral / static_cast<double>(range.end - sum.known);
    statistics.at_end = whole_bytes(sum.untracked.at_end);
    statistics.recorder = whole_bytes(sum.recorder);
    statistics.used_maximum = whole_bytes(sum.used.maximum);
    items.push_back(statistics);
  }
  return items;
}

struct pool_sum {
  std::uint64_t states = 0;
  curve_sum used;
  curve_sum reserved;
  double used_while_known = 0;  ///< Sum of used bytes times ns, over the time in which both values are known.
  double reserved_while_known = 0;
};

void add_pools(const index::memory_use& memory, const portion& subject, std::map<trace::pool_id, pool_sum>& into) {
  for (const auto& each : memory.pools()) {
    const auto& pool = each.second;  // A local name is needed because lambdas cannot capture structured bindings.
    pool_sum& sum = into[each.first];
    sum.states += static_cast<std::uint64_t>(std::count_if(pool.times.begin(), pool.times.end(), [&](time_ns time) {
      return time >= subject.part.begin && time < subject.part.end;
    }));
    const time_range known{std::max(subject.part.begin, pool.reserved.first_time()), subject.part.end};
    const auto add_used = [&](const auto& tree) {
      sum.used.add(tree, subject.part);
      if (!pool.reserved.empty()) sum.used_while_known += tree.over(known.begin, known.end).integral;
    };
    if (pool.blocks.empty())
      add_used(pool.used);
    else
      add_used(pool.blocks);
    sum.reserved.add(pool.reserved, subject.part);
    if (!pool.reserved.empty()) sum.reserved_while_known += pool.reserved.over(known.begin, known.end).integral;
  }
}

std::vector<pool_statistics> get_pools(const std::map<trace::pool_id, pool_sum>& sums) {
  std::vector<pool_statistics> items;
  for (const auto& [id, sum] : sums) {
    if (sum.used.empty() || sum.reserved.empty()) continue;
    pool_statistics statistics;
    statistics.pool = id;
    statistics.states = sum.states;
    statistics.used_maximum = whole_bytes(sum.used.maximum);
    statistics.used_maximum_time = sum.used.maximum_time;
    statistics.used_at_end = whole_bytes(sum.used.at_end);
    statistics.reserved_maximum = whole_bytes(sum.reserved.maximum);
    statistics.reserved_maximum_time = sum.reserved.maximum_time;
    statistics.reserved_at_end = whole_bytes(sum.reserved.at_end);
    if (sum.reserved_while_known > 0)
      statistics.used_share = std::clamp(sum.used_while_known / sum.reserved_while_known, 0.0, 1.0);
    if (statistics.states > 0 || statistics.used_maximum > 0 || statistics.reserved_maximum > 0)
      items.push_back(statistics);
  }
  return items;
}

// --- transfers ------------------------------------------------------------------------------------------------------

struct direction_sum {
  transfer_statistics all;
  std::map<memory_kind, transfer_part> parts;
};

void add_direction(const index::direction_work& work, const portion& subject, direction_sum& into) {
  work.slices.for_each(subject.part.begin, subject.part.end, [&](const slice_item& item, std::uint16_t) {
    if (!subject.is_new(item)) return;
    transfer_part& part = into.parts[static_cast<memory_kind>(item.tag)];
    ++into.all.count;
    ++part.count;
    if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::migration)) ++into.all.migrations;
    const double bytes = bytes_inside(item, subject.all);
    into.all.bytes += bytes;
    part.bytes += bytes;
    saturating_add(into.all.total, clipped(item, subject.all));
    // A transfer of zero duration or without an end has no bandwidth.
    if (item.end <= item.begin || item.end == latest_time) return;
    const double bandwidth = index::compute_bandwidth(item);
    part.fastest_bandwidth = std::max(part.fastest_bandwidth, bandwidth);
    const bool first_of_equals = bandwidth == into.all.fastest_bandwidth && item.event < into.all.fastest;
    if (bandwidth > into.all.fastest_bandwidth || first_of_equals) {
      into.all.fastest_bandwidth = bandwidth;
      into.all.fastest = item.event;
    }
  });
  saturating_add(into.all.busy, work.busy.busy(subject.part.begin, subject.part.end));
  into.all.maximum_bandwidth =
      std::max(into.all.maximum_bandwidth, work.rate.over(subject.part.begin, subject.part.end).maximum);
  for (const auto& [side, covered] : work.parts)
    saturating_add(into.parts[side].busy, covered.busy(subject.part.begin, subject.part.end));
}

std::vector<transfer_statistics> list_transfers(const std::map<index::direction_key, direction_sum>& sums,
                                                const trace::tables& tables) {
  std::vector<transfer_statistics> items;
  for (const auto& [key, sum] : sums) {
    if (sum.all.count == 0) continue;
    transfer_statistics statistics = sum.all;
    statistics.device = key.device;
    statistics.direction = key.direction;
    statistics.mean_bandwidth = per_second(statistics.bytes, statistics.busy);
    const trace::device_row* device = tables.devices.find(key.device);
    const bool over_the_link = key.direction == trace::direction::h2d || key.direction == trace::direction::d2h;
    statistics.link_peak = find_link_peak(key.direction, device);
    if (device != nullptr && over_the_link)
      statistics.attainable =
          static_cast<double>(key.direction == trace::direction::h2d ? device->attainable_h2d : device->attainable_d2h);
    for (const auto& [side, counted] : sum.parts) {
      if (counted.count == 0 || !over_the_link) continue;
      transfer_part& part = statistics.parts.emplace_back(counted);
      part.host_side = side;
      part.mean_bandwidth = per_second(part.bytes, part.busy);
    }
    std::stable_sort(statistics.parts.begin(), statistics.parts.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    items.push_back(std::move(statistics));
  }
  return items;
}

// --- what ran -------------------------------------------------------------------------------------------------------

using by_name = std::unordered_map<std::uint64_t, named_time>;

void count_named(by_name& names, const slice_item& item, time_range range) {
  named_time& subject = names[raw(item.name)];
  subject.name = item.name;
  ++subject.count;
  const time_ns length = clipped(item, range);
  saturating_add(subject.total, length);
  // If several events are equally long, take the one with the lowest id, so that the order of arrival does not matter.
  const bool first_of_equals = length == subject.longest && item.event < subject.longest_event;
  if (length > subject.longest || subject.longest_event == trace::event_id::none || first_of_equals) {
    subject.longest = length;
    subject.longest_event = item.event;
  }
}

/// True if the recorder wrote ranges of this name around waits for a lock, another thread or Python's GIL.
bool is_recorded_wait(std::string_view name) {
  const gap_cause cause = cause_of_range(name);
  return cause == gap_cause::lock || cause == gap_cause::gil;
}

/// Leaves out the names for which `without(name)` is true.
template <class Without>
std::vector<named_time> longest(const by_name& names, Without&& without) {
  std::vector<named_time> times;
  for (const auto& [id, subject] : names)
    if (!without(subject.name)) times.push_back(subject);
  std::sort(times.begin(), times.end(),
            [](const auto& a, const auto& b) { return a.total != b.total ? a.total > b.total : a.name < b.name; });
  if (times.size() > range_statistics::named_limit) times.resize(range_statistics::named_limit);
  return times;
}

std::vector<named_time> longest(const by_name& names) {
  return longest(names, [](trace::string_id /*name*/) { return false; });
}

struct device_sum {
  device_activity counted;
  bool worked = false;      ///< True if `first` and `last` are set.
  bool was_busy = false;    ///< True if there is any device work, not just a stream.
  time_ns either_busy = 0;  ///< Time with kernels or copies.
};

void add_devices(const index::device_activity_index& devices, const portion& subject, by_name& kernels,
                 std::map<trace::device_id, device_sum>& into) {
  for (const auto& [key, slices] : devices.streams()) {
    slices.for_each(subject.part.begin, subject.part.end,
                    [&, device = key.device](const slice_item& item, std::uint16_t) {
                      device_sum& sum = into[device];
                      sum.counted.first = sum.worked ? std::min(sum.counted.first, item.begin) : item.begin;
                      sum.counted.last = sum.worked ? std::max(sum.counted.last, item.end) : item.end;
                      sum.worked = true;
                      if (!subject.is_new(item)) return;
                      if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::kernel)) {
                        ++sum.counted.kernels;
                        saturating_add(sum.counted.kernel_total, clipped(item, subject.all));
                        count_named(kernels, item, subject.all);
                      } else if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::memset)) {
                        ++sum.counted.memsets;
                        saturating_add(sum.counted.memset_bytes, item.bytes);
                      }
                    });
  }
  for (const auto& [id, work] : devices.devices()) {
    device_sum& sum = into[id];
    sum.was_busy = true;
    const auto busy = [&](const timeline::coverage& coverage) {
      return coverage.busy(subject.part.begin, subject.part.end);
    };
    saturating_add(sum.counted.kernel_busy, busy(work.kernels));
    saturating_add(sum.counted.copy_busy, busy(work.copies));
    saturating_add(sum.either_busy, busy(work.either));
    saturating_add(sum.counted.busy, busy(work.anything));
    saturating_add(sum.counted.memset_busy, busy(work.memsets));
  }
}

std::vector<device_activity> get_devices(const std::map<trace::device_id, device_sum>& sums, time_range range) {
  std::vector<device_activity> activities;
  for (const auto& [id, sum] : sums) {
    device_activity activity = sum.counted;
    activity.device = id;
    if (sum.worked) {
      activity.first = std::max(range.begin, activity.first);
      activity.last = std::min(range.end, activity.last);
    }
    activity.copy_only = sum.either_busy - activity.kernel_busy;
    activity.overlap = activity.kernel_busy - (sum.either_busy - activity.copy_busy);  // No term here can overflow.
    if (sum.was_busy && (activity.busy > 0 || activity.kernels > 0 || activity.memsets > 0))
      activities.push_back(activity);
  }
  return activities;
}

void add_thread(const index::thread_work& work, const portion& subject, thread_statistics& into, by_name& calls,
                by_name& ranges) {
  work.calls.for_each(subject.part.begin, subject.part.end, [&](const slice_item& item, std::uint16_t) {
    if (!subject.is_new(item)) return;
    if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::api_call)) {
      ++into.calls;
      count_named(calls, item, subject.all);
    } else if (item.kind == static_cast<std::uint8_t>(timeline::slice_kind::file_io) &&
               (item.bytes > 0 || item.end > item.begin)) {
      ++into.file_operations;
      into.file_bytes += bytes_inside(item, subject.all);
    }
  });
  work.ranges.for_each(subject.part.begin, subject.part.end, [&](const slice_item& item, std::uint16_t) {
    if (subject.is_new(item) && item.kind == static_cast<std::uint8_t>(timeline::slice_kind::range))
      count_named(ranges, item, subject.all);
  });
  saturating_add(into.call_busy, work.call_busy.busy(subject.part.begin, subject.part.end));
  saturating_add(into.wait_busy, work.wait_busy.busy(subject.part.begin, subject.part.end));
  saturating_add(into.file_busy, work.file_busy.busy(subject.part.begin, subject.part.end));
}

std::vector<thread_statistics> list_threads(const std::map<index::thread_key, thread_statistics>& sums) {
  std::vector<thread_statistics> items;
  for (const auto& [key, subject] : sums)
    if (subject.calls > 0 || subject.wait_busy > 0 || subject.file_operations > 0) items.push_back(subject);
  std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
    return saturating_sum(a.call_busy, a.wait_busy) > saturating_sum(b.call_busy, b.wait_busy);
  });
  return items;
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

  /// Counts failures and losses. There are few of them, so every section contains all failures and losses so far.
  void count_failures(const index::memory_use& use) {
    failed_allocations = lost_events = lost_memory_events = 0;
    for (const trace::alloc_failed_event& row : use.failed())
      if (row.time >= range.begin && row.time < range.end) ++failed_allocations;
    for (const trace::loss_event& row : use.losses()) {
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

void range_measurer::add(const index::event_store& store, time_range part) {
  sums& whole = *sums_;
  if (part.length() <= 0) return;
  const portion subject{whole.range, part};
  whole.count_failures(store.memory());
  whole.births.add_births(store.memory(), part);
  add_memory(store.memory(), part, whole.memory);
  add_untracked(store.memory(), subject, whole.untracked);
  add_pools(store.memory(), subject, whole.pools);
  for (const auto& [key, work] : store.devices().directions()) add_direction(work, subject, whole.transfers[key]);
  add_devices(store.devices(), subject, whole.kernels, whole.devices);
  for (const auto& [key, work] : store.host().threads()) {
    thread_statistics& thread = whole.threads[key];
    thread.thread = key.thread;
    thread.process = key.process;
    add_thread(work, subject, thread, whole.calls, whole.ranges);
  }
}

range_statistics range_measurer::metrics(const trace::tables& tables) const {
  const sums& whole = *sums_;
  range_statistics statistics;
  statistics.range = whole.range;
  statistics.memory = get_memory(whole.memory, whole.range);
  statistics.untracked = get_untracked(whole.untracked, whole.range);
  statistics.pools = get_pools(whole.pools);
  statistics.transfers = list_transfers(whole.transfers, tables);
  statistics.devices = get_devices(whole.devices, whole.range);
  active_sum active = whole.births;
  for (const device_activity& device : statistics.devices) active.add(device.first, device.last);
  statistics.active = active.inside(whole.range);
  statistics.kernels = longest(whole.kernels);
  statistics.kernel_names = whole.kernels.size();
  statistics.calls = longest(whole.calls);
  statistics.ranges = longest(whole.ranges, [&](trace::string_id name) { return is_recorded_wait(tables.text(name)); });
  statistics.threads = list_threads(whole.threads);
  statistics.failed_allocations = whole.failed_allocations;
  statistics.lost_events = whole.lost_events;
  statistics.lost_memory_events = whole.lost_memory_events;
  return statistics;
}

time_range active_span(const index::event_store& store, time_range range) {
  active_sum active;
  active.add_births(store.memory(), range);
  for (const auto& [id, work] : store.devices().devices())
    if (const timeline::level_tree& open = work.anything.open(); !open.empty())
      active.add(open.first_time(), open.last_time());
  return active.inside(range);
}

range_statistics measure(const index::event_store& store, const trace::tables& tables, time_range range) {
  range_measurer measurer(range);
  measurer.add(store, bounded(range));
  return measurer.metrics(tables);
}

}  // namespace sluice::metrics
