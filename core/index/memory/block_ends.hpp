#pragma once

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"

/// Helpers for metrics that are collected from several indexes, one after another. Each index covers one run. Runs are
/// adjacent time ranges that together cover `all_time`.
namespace sluice::index {

/// True if `run` is the last run. Blocks that are live at its end are never freed.
[[nodiscard]] constexpr bool is_last(time_range run) { return run.end >= all_time.end; }

/// True if the block is freed in `run`, or if it is never freed and `run` is the last run. This is true in exactly one
/// run per block. The index of that run knows the block's whole lifetime and all its uses without reading later runs.
[[nodiscard]] inline bool ends_in(const block_record& block, time_range run) {
  return block.freed() ? run.holds(block.died) : is_last(run);
}

}  // namespace sluice::index
