#pragma once

#include <array>
#include <cstdint>

#include "core/metrics/base/stack_use.hpp"
#include "core/symbols/attribution.hpp"

/// Chooses the default grouping of the stacks that hold memory: by line, caller, module or package. The default is
/// chosen once per recording, from its main peak, and stored in `report::grouping`. The report, the window and SQL use
/// this grouping unless the user chooses another.
namespace sluice::metrics {

/// The groupings to choose from, in order of preference. `owner` is never chosen automatically, because it applies to
/// driver calls.
inline constexpr std::array attributions_compared = {symbols::attribution::line, symbols::attribution::caller,
                                                     symbols::attribution::module, symbols::attribution::package};

/// A grouping, and the numbers from which it was chosen.
struct attribution_choice {
  symbols::attribution by = symbols::attribution::line;
  /// The bytes of the largest group under each grouping in `attributions_compared`.
  std::array<std::uint64_t, attributions_compared.size()> largest{};
};

/// Chooses the grouping whose largest group is the smallest. Bytes without a stack or without a name under a grouping
/// form one group. A single line of a program often holds all memory (`trainer.train()`), which is not informative. The
/// groupings are tried in the order of `attributions_compared`. A later grouping replaces the best grouping so far only
/// if its largest group is smaller by more than a twentieth of all bytes. Therefore, `line` wins if all groupings are
/// about equal. O(stacks).
[[nodiscard]] attribution_choice most_even(const stack_use& use, symbols::attributor& who);

}  // namespace sluice::metrics
