#include "core/metrics/idle/host_stacks.hpp"

#include <map>
#include <set>

#include "core/index/event_store.hpp"
#include "core/timeline/time_tree.hpp"

namespace sluice::metrics {
namespace {

/// For each process, the times in which at least one of its devices has work.
using busy_times = std::map<trace::process_id, timeline::coverage>;

busy_times find_busy_times(const index::event_store& store, std::optional<trace::device_id> only, time_range part) {
  const index::device_activity_index& devices = store.devices();
  std::map<trace::device_id, std::set<trace::process_id>> users;
  for (const auto& [key, slices] : devices.streams())
    if (devices.ran_kernels(key.device) && (!only || key.device == *only)) users[key.device].insert(key.process);
  busy_times busy;
  for (const auto& [key, slices] : devices.streams()) {
    const auto used_by = users.find(key.device);
    if (used_by == users.end()) continue;
    for (const trace::process_id user : used_by->second) {
      timeline::coverage& times = busy[user];
      slices.for_each(part.begin, part.end,
                      [&](const timeline::slice_item& each, std::uint16_t) { times.add(each.begin, each.end); });
    }
  }
  for (auto& [process, times] : busy) times.settle();
  return busy;
}

}  // namespace

stack_use sampled_stacks(const index::event_store& store, const sample_filter& filter, time_range range,
                         const std::atomic<bool>& cancelled, std::optional<time_range> part) {
  const time_range here = part.value_or(range);
  const busy_times busy = find_busy_times(store, filter.device, here);
  std::map<trace::stack_id, stack_metrics> by_stack;
  for (const auto& [thread, samples] : store.samples().threads()) {
    if (filter.thread && thread.thread != *filter.thread) continue;
    const auto device = busy.find(thread.process);
    if (filter.device && device == busy.end()) continue;
    store.samples().for_each_in(thread, here, [&](const index::host_sample& sample, time_range inside) {
      if (cancelled) return;
      if (filter.state && sample.state != *filter.state) return;
      // A sample that began before this part was counted there.
      const bool counts = sample.begin >= here.begin || here.begin == range.begin;
      const time_ns alone = device == busy.end() ? 0 : inside.length() - device->second.busy(inside.begin, inside.end);
      by_stack[sample.stack].add({0, counts ? 1U : 0U, inside.length(), alone});
    });
    if (cancelled) break;
  }
  stack_use use;
  use.time = range.begin;
  use.cancelled = cancelled;
  use.kernels_known = !busy.empty();
  for (const auto& [stack, metrics] : by_stack) use.shares.push_back({stack, metrics});
  return use;
}

}  // namespace sluice::metrics
