#pragma once

#include <cstddef>

namespace sluice::runtime::recorded_roles {

/// The exit status of a program that found no device.
inline constexpr int no_device = 77;

/// Sizes of blocks, by which the test identifies them.
inline constexpr std::size_t gone_bytes = 1000, kept_bytes = 2000, hit_bytes = 3000;

}  // namespace sluice::runtime::recorded_roles
