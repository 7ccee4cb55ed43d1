#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/metrics/report/report.hpp"

/// Reduces a report to one rank. In a job of many ranks, every table about devices or processes would be repeated for
/// each rank, so the text report and the window show one rank, and a separate table compares all ranks.
namespace sluice::metrics {

/// The rank to which a report was reduced.
struct one_rank {
  std::int64_t rank = 0;
  std::vector<trace::device_id> devices;  ///< Devices on which the rank has memory or a context.
};

/// If a job has more ranks than this, only one of them is shown.
inline constexpr std::size_t max_ranks_in_full = 4;

/// Returns the rank that needs the most memory; nothing if `subject` has at most `max_ranks_in_full` ranks.
[[nodiscard]] std::optional<std::int64_t> rank_to_show(const report& subject);

/// Reduces `subject` to `rank`, to the processes without a rank, and to everything about all ranks together (findings,
/// the comparison of ranks, names). Returns nothing if `rank` does not exist. O(metrics + contexts).
[[nodiscard]] std::optional<one_rank> keep_rank(report& subject, const trace::tables& tables, std::int64_t rank);

}  // namespace sluice::metrics
