#include "core/metrics/analyzers/copy_waste.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"

namespace sluice::metrics {

void copy_waste_builder::add(const index::event_store& from, time_range run) {
  const time_range here = common_of(scope_.range, run);
  if (here.length() <= 0) return;
  for (const auto& [key, slices] : from.devices().streams()) {
    if (kernel_streams_.contains({key.device, key.stream})) continue;
    bool kernels = false;
    slices.for_each(here.begin, here.end, [&](const timeline::slice_item& each, std::uint16_t) {
      kernels = kernels || static_cast<timeline::slice_kind>(each.kind) == timeline::slice_kind::kernel;
    });
    if (kernels) kernel_streams_.insert({key.device, key.stream});
  }
  const auto& devices = from.devices().devices();
  for (const index::copy_record& copy : from.copies().copies()) {
    if (!here.holds(copy.begin) || copy.end == latest_time) continue;
    if (which_ == copies_grouped::with_host && copy.host_side == trace::memory_kind::unknown) continue;
    const trace::stack_id stack = from.copies().stack_of(copy.call);
    gathered& of = all_[{copy.device, copy.direction, copy.host_side, stack}];
    copy_group& made = of.made;
    made.first = made.count == 0 ? copy.begin : std::min(made.first, copy.begin);
    made.last = made.count == 0 ? copy.begin : std::max(made.last, copy.begin);
    made.count += copy.copies;
    saturating_add(made.bytes, copy.bytes);
    const time_ns length = copy.end - copy.begin;
    saturating_add(made.busy, length);
    const auto device = devices.find(copy.device);
    if (device != devices.end()) {
      const timeline::coverage& kernels = device->second.kernels;
      saturating_add(made.alone, length - kernels.busy(copy.begin, copy.end));
      of.progress.add(static_cast<double>(kernel_time_[copy.device] + kernels.busy(here.begin, copy.begin)));
    }
    saturating_add(made.queued, std::max<time_ns>(copy.begin - copy.enqueued, 0));
    if (kernel_streams_.contains({copy.device, copy.stream})) ++made.on_kernels_stream;
    if (copy.bytes / std::max<std::uint64_t>(copy.copies, 1) < copy_group::small_copy) {
      made.small += copy.copies;
      saturating_add(made.small_bytes, copy.bytes);
      const bool goes_on = of.small_until > 0 && copy.begin - of.small_until < longest_pause;
      saturating_add(made.small_spread, std::max<time_ns>(copy.end - (goes_on ? of.small_until : copy.begin), 0));
      of.small_until = std::max(of.small_until, copy.end);
    }
    if (copy.bytes <= made.largest_bytes && made.largest != trace::event_id::none) continue;
    made.largest = copy.event;
    made.largest_bytes = copy.bytes;
  }
  for (const auto& [device, work] : devices)
    saturating_add(kernel_time_[device], work.kernels.busy(here.begin, here.end));
}

std::vector<copy_group> copy_waste_builder::groups(std::size_t most) const {
  std::vector<copy_group> made;
  for (const auto& [key, of] : all_) {
    copy_group& each = made.emplace_back(of.made);
    std::tie(each.device, each.direction, each.host_side, each.stack) = key;
    const auto kernels = kernel_time_.find(each.device);
    if (kernels != kernel_time_.end()) each.spread = of.progress.spread(static_cast<double>(kernels->second));
  }
  std::stable_sort(made.begin(), made.end(), [](const copy_group& a, const copy_group& b) {
    return std::tuple(a.alone, a.busy) > std::tuple(b.alone, b.busy);
  });
  if (made.size() > most) made.resize(most);
  return made;
}

}  // namespace sluice::metrics
