#pragma once

#include <array>
#include <cstdint>

#include "core/figures/stack_use.hpp"
#include "core/symbols/attribution.hpp"

/// By what to group the stacks that hold memory, where nobody chose. The report, the window and SQL use this function.
namespace sluice::analysis {

/// What is compared, in this order. `owner` must be asked for: it is about driver calls.
inline constexpr std::array attributions_compared = {symbols::attribution::line, symbols::attribution::caller,
                                                     symbols::attribution::module, symbols::attribution::package};

struct attribution_choice {
  symbols::attribution by = symbols::attribution::line;
  /// The bytes of the largest group under each of `attributions_compared`.
  std::array<std::uint64_t, attributions_compared.size()> largest{};
};

/// Chooses what splits the bytes most evenly: that whose largest group is smallest. Bytes without a stack, and those of
/// stacks that say nothing about it, are one group. One line of a program often holds all memory (`trainer.train()`),
/// and then says nothing. A later one of `attributions_compared` is taken only if its largest group is smaller by more
/// than a twentieth of all bytes, so that a tie leaves the line. O(stacks).
[[nodiscard]] attribution_choice most_even(const stack_use& use, symbols::attributor& who);

}  // namespace sluice::analysis
