#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace sluice::testing {

/// Calls `property` with each seed in [`first`, `end`). The first failure names its seed and ends the test.
template <class Property>
void for_each_seed(std::uint64_t first, std::uint64_t end, const Property& property) {
  for (std::uint64_t seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    property(seed);
  }
}

}  // namespace sluice::testing
