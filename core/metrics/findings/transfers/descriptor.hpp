#pragma once

#include <array>

#include "core/metrics/base/link_share.hpp"
#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/findings/transfers/thresholds.hpp"

/// Registers the findings about copies that are slow, small or not overlapped. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(min_spread == 4 && min_small_copies == 256 && reached_of_link_peak == 0.85);

inline constexpr auto transfers_rules = std::to_array<finding_rule>({
    {finding_kind::pageable_copies, "pageable_copies", "Slow copies: pageable memory",
     "Copies from or to pageable memory are slow, because the driver stages them.",
     "The copies are at least 16 MiB and 10 % of the bytes of a direction, and slower than 75 % of the link. Pinning "
     "saves the time beyond that at 85 % of the link's peak. The finding is only a note if the copies do not recur, "
     "that is, if they occur in fewer than 4 of 8 equal parts of the kernels' time.",
     "The cost of pinning is not counted."},
    {finding_kind::slow_copies, "slow_copies", "Slow copies",
     "Large copies from pinned memory stay far below the link's peak.",
     "The copies are at least 64 MiB, 1 MiB on average, and slower than 60 % of the link.",
     "Other users of the link are not seen."},
    {finding_kind::small_copies, "small_copies", "Many small copies",
     "Many copies are small. Starting such a copy takes longer than moving its data.",
     "One line requests at least 256 copies below 64 KiB. The saving is the time of these copies minus the time of "
     "one copy of all bytes.",
     "The recording does not show whether the data can be gathered into one copy."},
    {finding_kind::migrations, "migrations", "Managed memory migrates",
     "Managed memory migrates between host and GPU page by page.", "At least 16 MiB of pages migrate.",
     "The recording does not show which line accessed the pages."},
    {finding_kind::copies_not_overlapped, "copies_not_overlapped", "GPU waits for copies",
     "The GPU waits for copies while no kernel runs.",
     "Copies without a concurrent kernel take 1 % of the active time, and kernels run during less than a quarter of "
     "the copies' time. The finding is only a note if the copies do not recur, that is, if they occur in fewer than 4 "
     "of 8 equal parts of the kernels' time.",
     "The recording does not show whether the next kernel needs the data that is copied."},
});

void find_slow_transfers(finder& in);
void find_copies_not_overlapped(finder& in);
inline constexpr auto transfers_steps = std::to_array<find_function>({find_slow_transfers, find_copies_not_overlapped});

inline constexpr finding_descriptor transfers_findings{"transfers", "Slow copies", transfers_rules, transfers_steps};

}  // namespace sluice::metrics
