#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::importing {

/// A number that cannot be negative and that a file holds as a signed one: 0 where it is negative.
[[nodiscard]] constexpr std::uint64_t unsigned_of(std::int64_t number) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0));
}

}  // namespace sluice::importing
