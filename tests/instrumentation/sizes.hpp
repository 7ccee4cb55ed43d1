#pragma once

#include <cstdint>

namespace sluice {

inline constexpr std::uint64_t mib = std::uint64_t{1} << 20;

}  // namespace sluice
