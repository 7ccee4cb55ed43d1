#include "core/metrics/findings/transfers/copy_waste.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"

namespace sluice::metrics {

void copy_waste_builder::add(const index::event_store& store, time_range run) {
  const time_range here = intersect(scope_.range, run);
  if (here.length() <= 0) return;
  for (const auto& [key, slices] : store.devices().streams()) {
    if (kernel_streams_.contains({key.device, key.stream})) continue;
    bool kernels = false;
    slices.for_each(here.begin, here.end, [&](const timeline::slice_item& each, std::uint16_t) {
      kernels = kernels || static_cast<timeline::slice_kind>(each.kind) == timeline::slice_kind::kernel;
    });
    if (kernels) kernel_streams_.insert({key.device, key.stream});
  }
  const auto& devices = store.devices().devices();
  for (const index::copy_record& copy : store.copies().copies()) {
    if (!here.holds(copy.begin) || copy.end == latest_time) continue;
    if (which_ == copies_grouped::with_host && copy.host_side == trace::memory_kind::unknown) continue;
    const trace::stack_id stack = store.copies().find_stack(copy.call);
    gathered& subject = all_[{copy.device, copy.direction, copy.host_side, stack}];
    copy_group& group = subject.group;
    group.first = group.count == 0 ? copy.begin : std::min(group.first, copy.begin);
    group.last = group.count == 0 ? copy.begin : std::max(group.last, copy.begin);
    group.count += copy.copies;
    saturating_add(group.bytes, copy.bytes);
    const time_ns length = copy.end - copy.begin;
    saturating_add(group.busy, length);
    const auto device = devices.find(copy.device);
    if (device != devices.end()) {
      const timeline::coverage& kernels = device->second.kernels;
      saturating_add(group.alone, length - kernels.busy(copy.begin, copy.end));
      subject.progress.add(static_cast<double>(kernel_time_[copy.device] + kernels.busy(here.begin, copy.begin)));
    }
    saturating_add(group.queued, std::max<time_ns>(copy.begin - copy.enqueued, 0));
    if (kernel_streams_.contains({copy.device, copy.stream})) ++group.on_kernels_stream;
    if (copy.bytes / std::max<std::uint64_t>(copy.copies, 1) < copy_group::small_copy) {
      group.small += copy.copies;
      saturating_add(group.small_bytes, copy.bytes);
      const bool goes_on = subject.small_until > 0 && copy.begin - subject.small_until < longest_pause;
      saturating_add(group.small_spread, std::max<time_ns>(copy.end - (goes_on ? subject.small_until : copy.begin), 0));
      subject.small_until = std::max(subject.small_until, copy.end);
    }
    if (copy.bytes <= group.largest_bytes && group.largest != trace::event_id::none) continue;
    group.largest = copy.event;
    group.largest_bytes = copy.bytes;
  }
  for (const auto& [device, work] : devices)
    saturating_add(kernel_time_[device], work.kernels.busy(here.begin, here.end));
}

std::vector<copy_group> copy_waste_builder::groups(std::size_t most) const {
  std::vector<copy_group> items;
  for (const auto& [key, subject] : all_) {
    copy_group& each = items.emplace_back(subject.group);
    std::tie(each.device, each.direction, each.host_side, each.stack) = key;
    const auto kernels = kernel_time_.find(each.device);
    if (kernels != kernel_time_.end()) each.spread = subject.progress.spread(static_cast<double>(kernels->second));
  }
  std::stable_sort(items.begin(), items.end(), [](const copy_group& a, const copy_group& b) {
    return std::tuple(a.alone, a.busy) > std::tuple(b.alone, b.busy);
  });
  if (items.size() > most) items.resize(most);
  return items;
}

}  // namespace sluice::metrics
