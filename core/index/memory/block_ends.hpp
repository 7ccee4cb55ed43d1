#pragma once

#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"

/// For figures that are gathered from indexes of runs: time ranges that follow one another and cover `all_time`.
namespace sluice::analysis {

/// True for the last run: what lives at its end is never freed.
[[nodiscard]] constexpr bool is_last(time_range run) { return run.end >= all_time.end; }

/// True if the life of the block ends in `run`: it is freed there, or it is never freed and this is the last run. True of
/// one run for each block. An index of that run knows all of its life and uses without being told what comes later.
[[nodiscard]] inline bool ends_in(const block_record& block, time_range run) {
  return block.freed() ? run.holds(block.died) : is_last(run);
}

}  // namespace sluice::analysis
