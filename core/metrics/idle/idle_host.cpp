#include "core/metrics/idle/idle_host.hpp"

#include <algorithm>

#include "core/index/event_store.hpp"
#include "core/metrics/idle/idle_gaps.hpp"

namespace sluice::metrics {

void idle_host_builder::add(const index::event_store& store, time_range run, std::span<const idle_part> parts,
                            const trace::tables& tables) {
  samples_.add(store.samples(), run);
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin;
    while (end < parts.size() && parts[end].device == parts[begin].device && parts[end].gap == parts[begin].gap) ++end;
    add_gap(parts.subspan(begin, end - begin), tables);
    begin = end;
  }
}

void idle_host_builder::add_gap(std::span<const idle_part> parts, const trace::tables& tables) {
  spans_.clear();
  for (const idle_part& each : parts)
    if (each.cause == gap_cause::host) spans_.push_back({each.thread, each.span});
  if (spans_.empty()) return;
  const time_range gap = parts.front().gap;
  host_cause_groups& groups = devices_.try_emplace(parts.front().device, gap.begin).first->second;
  groups.add({gap, spans_, 0}, samples_, [&](const index::host_sample& sample) -> const host_cause& {
    return reasons_.find(sample.work(), tables);
  });
}

std::vector<host_cause_group> idle_host_builder::get_groups(trace::device_id device, time_ns end) const {
  const auto found = devices_.find(device);
  if (!samples_.any() || found == devices_.end()) return {};
  return found->second.groups(end, limit);
}

}  // namespace sluice::metrics
