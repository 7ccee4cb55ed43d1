#pragma once

#include <array>
#include <cstdint>

#include "core/figures/stack_use.hpp"
#include "core/symbols/attribution.hpp"

/// The default grouping of the stacks that hold memory: by line, caller, module or package. It is chosen once for a
/// recording, for its main peak: `report::grouping`, which the report, the window and SQL use if the user does not choose.
namespace sluice::analysis {

/// What is compared, in this order. `owner` must be asked for: it is about driver calls.
inline constexpr std::array attributions_compared = {symbols::attribution::line, symbols::attribution::caller,
                                                     symbols::attribution::module, symbols::attribution::package};

struct attribution_choice {
  symbols::attribution by = symbols::attribution::line;
  /// The bytes of the largest group under each of `attributions_compared`.
  std::array<std::uint64_t, attributions_compared.size()> largest{};
};

/// Chooses the grouping whose largest group is the smallest. Bytes whose stack is missing or has no such name are one
/// group. One line of a program often holds all memory (`trainer.train()`), and then says nothing. The groupings are
/// tried in the order of `attributions_compared`; the next one replaces the best so far only if its largest group is
/// smaller by more than a twentieth of all bytes. So the line is kept if all are about equal. O(stacks).
[[nodiscard]] attribution_choice most_even(const stack_use& use, symbols::attributor& who);

}  // namespace sluice::analysis
