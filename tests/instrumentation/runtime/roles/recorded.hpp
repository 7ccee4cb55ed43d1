#pragma once

#include <cstddef>

namespace sluice::runtime::recorded_roles {

/// The status of a program that found no device to work on.
inline constexpr int no_device = 77;

/// Of blocks: by these the test tells them apart.
inline constexpr std::size_t gone_bytes = 1000, kept_bytes = 2000, hit_bytes = 3000;

}  // namespace sluice::runtime::recorded_roles
