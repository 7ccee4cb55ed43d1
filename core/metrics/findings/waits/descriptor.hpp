#pragma once

#include <array>
#include <string_view>

#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/idle/idle_gaps.hpp"

/// Registers the findings about times in which the GPU has no work. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(reported_idle_share == 0.005 && min_recurring == 4 && gap_splitter::short_host == 20'000 &&
              gap_splitter::longest_launch == 100'000);

inline constexpr std::string_view gaps_seen =
    "Needs kernel times (record --mode timeline). The finding names the line of the call. For host code, it names the "
    "next line that allocates or copies. Times of host and GPU agree to about 1 us.";

inline constexpr auto waits_rules = std::to_array<finding_rule>({
    {finding_kind::frequent_waits, "frequent_waits", "GPU idle",
     "The host waits for the GPU, and the GPU is idle until it has new work.",
     "There are at least 4 idle gaps that start while the host waits in a call such as "
     "cuStreamSynchronize. A gap counts for at most as long as the host waited. The saving comes from a simulation of "
     "the process without such calls. Each line gets its part of the gain.",
     gaps_seen},
    {finding_kind::hidden_waits, "hidden_waits", "GPU idle",
     "A call that does not look like a wait waits for the GPU, which is then idle until it has new work.",
     "The rule is the same as for frequent waits, but for a blocking copy, cuMemFree or cuMemAlloc.", gaps_seen},
    {finding_kind::idle_gaps, "idle_gaps", "GPU idle", "The GPU is idle while the host does other work.",
     "There are at least 4 idle gaps, 0.5 % of the active time in total, in parts of which the host is in no call that "
     "blocks it, loads code, or reads files. Each ns has one cause: a call; a range for garbage collection, "
     "torch.compile or the DataLoader; locks, other threads or Python's GIL, while all threads that launch work wait "
     "for them; or the program's own code. Sluice adds these ranges. Launches are too slow if the host launches work "
     "one by one, with less than 20 us of its own code before each launch, and the GPU runs it faster; calls of 100 us "
     "or more are not counted as launches. The saving is the idle time of each such sequence, minus what it would cost "
     "as a CUDA graph: 10 us, and 1.1 us for each kernel.",
     "Needs kernel times (record --mode timeline). The finding names the next line that allocates or copies. Waits "
     "for a mutex of C or C++, and the work of threads without ranges, are not seen."},
});

void find_waits(finder& in);
inline constexpr auto waits_steps = std::to_array<find_function>({find_waits});

inline constexpr finding_descriptor waits_findings{"waits", "An idle GPU", waits_rules, waits_steps};

}  // namespace sluice::metrics
