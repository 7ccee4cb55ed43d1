#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::importing {

/// Converts a number that should not be negative but is stored as signed. Negative values become 0.
[[nodiscard]] constexpr std::uint64_t to_unsigned(std::int64_t number) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0));
}

}  // namespace sluice::importing
