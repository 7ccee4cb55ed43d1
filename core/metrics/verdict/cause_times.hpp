#pragma once

#include <array>

#include "core/metrics/report/report.hpp"

namespace sluice::metrics {

/// Returns the idle time of a device for each cause, without the one-time parts of the same cause's `gap_group`s. In ns,
/// indexed by `gap_cause`. `idle` is an element of `waste_metrics::idle_times`. O(causes + gap groups).
[[nodiscard]] inline std::array<double, gap_cause_count> sum_recurring(const device_idle& idle,
                                                                       const waste_metrics& waste) {
  std::array<double, gap_cause_count> times{};
  for (const cause_time& each : idle.causes)
    times[static_cast<std::size_t>(each.cause)] += static_cast<double>(each.total);
  for (const gap_group& each : waste.gaps)
    if (each.device == idle.device)
      times[static_cast<std::size_t>(each.cause)] -= static_cast<double>(each.total - each.recurring);
  for (double& each : times) each = each > 0 ? each : 0;
  return times;
}

}  // namespace sluice::metrics
