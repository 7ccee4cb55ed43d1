#include <algorithm>

#include <fmt/format.h>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/findings/finder.hpp"
#include "core/metrics/findings/thresholds.hpp"

namespace sluice::metrics {

double working_time(const report& of) {
  const double active = static_cast<double>(of.whole.active.length());
  double least = active;
  for (const device_activity& device : of.whole.devices) {
    if (device.kernels == 0) continue;
    double once = 0;
    for (const gap_group& gap : of.waste.gaps)
      if (gap.device == device.device) once += static_cast<double>(gap.total - gap.recurring);
    least = std::min(least, once);
  }
  // If no kernels were recorded, idle gaps are unknown.
  return std::max(least < active ? active - least : active, 1.0);
}

std::string finder::share_of_active(time_ns part) const {
  const time_ns active = of.whole.active.length();
  if (active <= 0 || part > active) return {};
  return fmt::format(", {} of the active time", format_share(static_cast<double>(part) / static_cast<double>(active)));
}

bool finder::has(finding_kind kind) const {
  return std::any_of(found.begin(), found.end(), [&](const finding& each) { return each.kind == kind; });
}

bool finder::has(finding_kind kind, const code_place& place) const {
  return std::any_of(found.begin(), found.end(),
                     [&](const finding& each) { return each.kind == kind && text_of(each.where) == text_of(place); });
}

bool finder::trains() const {
  return std::any_of(of.compositions.begin(), of.compositions.end(), [](const peak_composition& peak) {
    return peak.bytes_of(index::category::gradient) > 0 || peak.bytes_of(index::category::optimizer_state) > 0;
  });
}

std::string finder::on(trace::device_id one) const {
  return tables.devices.rows().size() > 1 ? " on " + index::short_label(one, tables) : std::string();
}

std::string finder::gpu(trace::device_id one) const {
  return tables.devices.rows().size() > 1 ? index::short_label(one, tables) : std::string("The GPU");
}

bool finder::has_allocator(trace::memory_kind kind) const {
  return std::any_of(of.whole.memory.begin(), of.whole.memory.end(), [&](const memory_statistics& each) {
    return (each.layer == trace::layer::framework || each.layer == trace::layer::pool) && each.kind == kind;
  });
}

std::string from_place(const code_place& place) {
  const std::string text = text_of(place);
  return text.empty() ? text : " from " + text;
}

std::vector<finding> findings_of(const report& of, const trace::tables& tables, const naming* names) {
  finder all{of, tables, names == nullptr ? code_places(tables) : code_places(tables, *names)};
  for (const auto find : {
           find_faults,          find_failures,
           find_retries,         find_losses,
           find_idle_memory,     find_growth,
           find_unfreed,         find_dead_writes,
           find_cached_unused,   find_fragmentation,
           find_untracked,       find_driver_allocations,
           find_compositions,    find_held_twice,
           find_rank_imbalance,  find_replicated_state,
           find_slow_transfers,  find_copies_not_overlapped,
           find_repeated_copies, find_round_trips,
           find_zero_uploads,    find_waits,
       }) {
    find(all);
    all.device = {};
  }
  join_devices(all.found, tables);
  rank(all.found);
  return std::move(all.found);
}

}  // namespace sluice::metrics
