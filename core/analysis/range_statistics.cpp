#include "core/analysis/range_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/analysis/index.hpp"

namespace sluice::analysis {
namespace {

using summaries::extent;
using summaries::slice_item;
using trace::memory_kind;

std::uint64_t whole_bytes(double bytes) { return bytes > 0 ? static_cast<std::uint64_t>(std::llround(bytes)) : 0; }

double per_second(double bytes, time_ns ns) { return ns > 0 ? bytes * 1e9 / static_cast<double>(ns) : 0; }

time_ns clipped(const slice_item& item, time_range range) {
  return std::max<time_ns>(0, std::min(item.end, range.end) - std::max(item.begin, range.begin));
}

/// The part of an event's bytes that falls into the range.
double bytes_inside(const slice_item& item, time_range range) {
  const time_ns length = item.end - item.begin;
  if (length <= 0 || item.end == latest_time) return static_cast<double>(item.bytes);
  return static_cast<double>(item.bytes) * static_cast<double>(clipped(item, range)) / static_cast<double>(length);
}

// --- memory ---------------------------------------------------------------------------------------------------------

void count_blocks(const memory_use& memory, time_range range, std::map<memory_key, memory_statistics>& into) {
  for (const block_record& block : memory.blocks()) {
    if (!block.allocated || block.imported()) continue;
    const bool born_here = !block.born_before() && block.born >= range.begin && block.born < range.end;
    const bool died_here = block.freed() && block.died >= range.begin && block.died < range.end;
    if (!born_here && !died_here) continue;
    memory_statistics& of = into[{block.device, block.level, block.kind}];
    if (born_here) {
      ++of.allocations;
      of.allocated_bytes += block.bytes;
    }
    if (died_here) {
      ++of.frees;
      of.freed_bytes += block.bytes;
    }
  }
}

std::vector<memory_statistics> measure_memory(const memory_use& memory, time_range range) {
  std::map<memory_key, memory_statistics> by_key;
  for (const auto& [key, tree] : memory.use()) {
    const extent over = tree.over(range.begin, range.end);
    if (over.empty()) continue;
    memory_statistics& of = by_key[key];
    of.at_begin = whole_bytes(tree.at(range.begin));
    of.at_end = whole_bytes(tree.at(range.end - 1));
    of.minimum = whole_bytes(over.minimum);
    of.maximum = whole_bytes(over.maximum);
    of.maximum_time = over.maximum_time;
    of.mean = over.integral / static_cast<double>(range.length());
  }
  count_blocks(memory, range, by_key);
  std::vector<memory_statistics> all;
  for (auto& [key, of] : by_key) {
    of.device = key.device;
    of.level = key.level;
    of.kind = key.kind;
    if (of.maximum > 0 || of.allocations > 0 || of.frees > 0) all.push_back(of);
  }
  return all;
}

std::vector<untracked_statistics> measure_untracked(const memory_use& memory, time_range range) {
  std::vector<untracked_statistics> all;
  for (const auto& [device, samples] : memory.devices()) {
    untracked_statistics of;
    of.device = device;
    for (const device_samples::sample& s : samples.samples) {
      if (s.time < range.begin || s.time >= range.end) continue;
      ++of.samples;
    }
    // Nothing is known before the first sample.
    const time_ns known = std::max(range.begin, samples.used.first_time());
    const extent over = samples.untracked.over(known, range.end);
    if (over.empty()) continue;
    of.device_bytes = samples.samples.back().total;
    of.maximum = whole_bytes(over.maximum);
    of.mean = over.integral / static_cast<double>(range.end - known);
    of.at_end = whole_bytes(samples.untracked.at(range.end - 1));
    of.recorder = whole_bytes(samples.recorder.at(range.end - 1));
    of.used_maximum = whole_bytes(samples.used.over(known, range.end).maximum);
    all.push_back(of);
  }
  return all;
}

std::vector<pool_statistics> measure_pools(const memory_use& memory, time_range range) {
  std::vector<pool_statistics> all;
  for (const auto& entry : memory.pools()) {
    const pool_use& pool = entry.second;
    pool_statistics of;
    of.pool = entry.first;
    of.states = static_cast<std::uint64_t>(std::count_if(pool.times.begin(), pool.times.end(),
                                                         [&](time_ns t) { return t >= range.begin && t < range.end; }));
    const auto used = [&](auto&& ask) { return pool.blocks.empty() ? ask(pool.used) : ask(pool.blocks); };
    const extent used_over = used([&](const auto& tree) { return tree.over(range.begin, range.end); });
    const extent reserved_over = pool.reserved.over(range.begin, range.end);
    if (used_over.empty() || reserved_over.empty()) continue;
    of.used_maximum = whole_bytes(used_over.maximum);
    of.used_maximum_time = used_over.maximum_time;
    of.used_at_end = whole_bytes(used([&](const auto& tree) { return tree.at(range.end - 1); }));
    of.reserved_maximum = whole_bytes(reserved_over.maximum);
    of.reserved_maximum_time = reserved_over.maximum_time;
    of.reserved_at_end = whole_bytes(pool.reserved.at(range.end - 1));
    if (!pool.reserved.empty()) {
      // Only where both are known.
      const time_ns known = std::max(range.begin, pool.reserved.first_time());
      const double reserved = pool.reserved.over(known, range.end).integral;
      const double in_use = used([&](const auto& tree) { return tree.over(known, range.end); }).integral;
      if (reserved > 0) of.used_share = std::clamp(in_use / reserved, 0.0, 1.0);
    }
    if (of.states > 0 || of.used_maximum > 0 || of.reserved_maximum > 0) all.push_back(of);
  }
  return all;
}

// --- transfers ------------------------------------------------------------------------------------------------------

transfer_statistics measure_direction(const direction_work& work, time_range range) {
  transfer_statistics of;
  std::map<memory_kind, transfer_part> parts;
  work.slices.for_each(range.begin, range.end, [&](const slice_item& item, std::uint16_t) {
    transfer_part& part = parts[static_cast<memory_kind>(item.tag)];
    ++of.count;
    ++part.count;
    if (item.kind == static_cast<std::uint8_t>(slice_kind::migration)) ++of.migrations;
    const double bytes = bytes_inside(item, range);
    of.bytes += bytes;
    part.bytes += bytes;
    of.total += clipped(item, range);
    // One that took no time, or has not ended, has no bandwidth.
    if (item.end <= item.begin || item.end == latest_time) return;
    const double bandwidth = bandwidth_of(item);
    part.fastest_bandwidth = std::max(part.fastest_bandwidth, bandwidth);
    if (bandwidth > of.fastest_bandwidth) {
      of.fastest_bandwidth = bandwidth;
      of.fastest = item.event;
    }
  });
  of.busy = work.busy.busy(range.begin, range.end);
  of.mean_bandwidth = per_second(of.bytes, of.busy);
  of.maximum_bandwidth = std::max(0.0, work.rate.over(range.begin, range.end).maximum);
  for (auto& [side, part] : parts) {
    part.host_side = side;
    const auto covered = work.parts.find(side);
    if (covered != work.parts.end()) part.busy = covered->second.busy(range.begin, range.end);
    part.mean_bandwidth = per_second(part.bytes, part.busy);
    of.parts.push_back(part);
  }
  std::stable_sort(of.parts.begin(), of.parts.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return of;
}

std::vector<transfer_statistics> measure_transfers(const device_activity_index& devices, const trace::tables& tables,
                                                   time_range range) {
  std::vector<transfer_statistics> all;
  for (const auto& [key, work] : devices.directions()) {
    transfer_statistics of = measure_direction(work, range);
    if (of.count == 0) continue;
    of.device = key.device;
    of.direction = key.direction;
    const bool over_the_link = key.direction == trace::direction::h2d || key.direction == trace::direction::d2h;
    if (!over_the_link) of.parts.clear();
    if (const trace::device_row* device = tables.devices.find(key.device); device != nullptr && over_the_link) {
      of.link_peak = static_cast<double>(device->link_peak);
      of.attainable =
          static_cast<double>(key.direction == trace::direction::h2d ? device->attainable_h2d : device->attainable_d2h);
    }
    if (const trace::device_row* device = tables.devices.find(key.device);
        device != nullptr && key.direction == trace::direction::p2p) {
      of.link_peak = static_cast<double>(device->peer_peak);
    }
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
  of.total += length;
  if (length > of.longest || of.longest_event == trace::event_id::none) {
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

void measure_devices(const device_activity_index& devices, time_range range, range_statistics& into) {
  by_name kernels;
  std::map<trace::device_id, device_activity> by_device;
  for (const auto& [key, slices] : devices.streams()) {
    slices.for_each(range.begin, range.end, [&, device = key.device](const slice_item& item, std::uint16_t) {
      const auto [place, fresh] = by_device.try_emplace(device);
      device_activity& of = place->second;
      of.first = std::max(range.begin, fresh ? item.begin : std::min(of.first, item.begin));
      of.last = std::min(range.end, fresh ? item.end : std::max(of.last, item.end));
      if (item.kind == static_cast<std::uint8_t>(slice_kind::kernel)) {
        ++of.kernels;
        of.kernel_total += clipped(item, range);
        count_named(kernels, item, range);
      } else if (item.kind == static_cast<std::uint8_t>(slice_kind::memset)) {
        ++of.memsets;
      }
    });
  }
  for (const auto& [id, work] : devices.devices()) {
    device_activity of = by_device[id];
    of.device = id;
    const auto busy = [&](const summaries::coverage& what) { return what.busy(range.begin, range.end); };
    of.kernel_busy = busy(work.kernels);
    of.copy_busy = busy(work.copies);
    const time_ns either = busy(work.either);
    of.copy_only = either - of.kernel_busy;
    of.overlap = of.kernel_busy + of.copy_busy - either;
    of.busy = busy(work.anything);
    of.memset_busy = busy(work.memsets);
    if (of.busy > 0 || of.kernels > 0 || of.memsets > 0) into.devices.push_back(of);
  }
  into.kernel_names = kernels.size();
  into.kernels = longest(kernels);
}

void measure_host(const host_activity& host, time_range range, range_statistics& into) {
  by_name calls;
  by_name ranges;
  for (const auto& [key, work] : host.threads()) {
    thread_statistics of;
    of.thread = key.thread;
    of.process = key.process;
    work.calls.for_each(range.begin, range.end, [&](const slice_item& item, std::uint16_t) {
      if (item.kind == static_cast<std::uint8_t>(slice_kind::api_call)) {
        ++of.calls;
        count_named(calls, item, range);
      } else if (item.kind == static_cast<std::uint8_t>(slice_kind::file_io) &&
                 (item.bytes > 0 || item.end > item.begin)) {
        ++of.file_operations;
        of.file_bytes += bytes_inside(item, range);
      }
    });
    work.ranges.for_each(range.begin, range.end, [&](const slice_item& item, std::uint16_t) {
      if (item.kind == static_cast<std::uint8_t>(slice_kind::range)) count_named(ranges, item, range);
    });
    of.call_busy = work.call_busy.busy(range.begin, range.end);
    of.wait_busy = work.wait_busy.busy(range.begin, range.end);
    of.file_busy = work.file_busy.busy(range.begin, range.end);
    if (of.calls > 0 || of.wait_busy > 0 || of.file_operations > 0) into.threads.push_back(of);
  }
  std::stable_sort(into.threads.begin(), into.threads.end(),
                   [](const auto& a, const auto& b) { return a.call_busy + a.wait_busy > b.call_busy + b.wait_busy; });
  into.calls = longest(calls);
  into.ranges = longest(ranges);
}

}  // namespace

range_statistics measure(const index& from, const trace::tables& tables, time_range asked) {
  range_statistics all;
  const time_range range = bounded(asked);
  all.range = range;
  if (range.length() <= 0) return all;
  all.memory = measure_memory(from.memory(), range);
  all.untracked = measure_untracked(from.memory(), range);
  all.pools = measure_pools(from.memory(), range);
  all.transfers = measure_transfers(from.devices(), tables, range);
  measure_devices(from.devices(), range, all);
  measure_host(from.host(), range, all);
  for (const trace::alloc_failed_event& row : from.memory().failed()) {
    if (row.time >= range.begin && row.time < range.end) ++all.failed_allocations;
  }
  for (const trace::loss_event& row : from.memory().losses()) {
    const time_ns end = row.end == trace::unknown_time ? row.time : std::max(row.time, row.end);
    if (row.time >= range.end || end < range.begin) continue;
    all.lost_events += row.events;
    all.lost_memory_events += row.memory_events;
  }
  return all;
}

}  // namespace sluice::analysis
