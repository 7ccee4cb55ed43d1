#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/figures/report.hpp"

/// What a report says of one rank. In a job of many ranks, each table about devices or processes would come once for each
/// rank, so the text report and the window show one of them, and a table compares all.
namespace sluice::analysis {

struct one_rank {
  std::int64_t rank = 0;
  std::vector<trace::device_id> devices;  ///< On which the rank has memory or a context.
};

/// With more ranks than this, one of them is shown.
inline constexpr std::size_t most_ranks_in_full = 4;

/// The rank that needs most memory; none if `of` has at most `most_ranks_in_full`.
[[nodiscard]] std::optional<std::int64_t> rank_to_show(const report& of);

/// Leaves in `of` only what it says of this rank, of processes without a rank, and of all ranks together (findings, the
/// comparison of ranks, names). Nothing if there is no such rank. O(figures + contexts).
[[nodiscard]] std::optional<one_rank> keep_rank(report& of, const trace::tables& tables, std::int64_t rank);

}  // namespace sluice::analysis
