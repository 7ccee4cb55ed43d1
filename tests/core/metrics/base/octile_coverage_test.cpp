#include "core/metrics/base/octile_coverage.hpp"

#include <gtest/gtest.h>

namespace sluice::metrics {
namespace {

TEST(octile_coverage, count_the_parts_in_which_something_is_marked) {
  octile_coverage parts;
  EXPECT_EQ(parts.count(), 0U);
  for (const double share : {0.0, 0.1, 0.5, 1.0, 7.0, -1.0}) parts.mark(share);
  EXPECT_EQ(parts.count(), 3U) << "the first, the fifth and the last";
}

TEST(octile_coverage, are_all_but_the_last_even_if_the_last_is_not_marked) {
  octile_coverage parts;
  for (int i = 0; i < 7; ++i) {
    EXPECT_FALSE(parts.all_but_the_last());
    parts.mark(i / 8.0);
  }
  EXPECT_TRUE(parts.all_but_the_last());
}

TEST(progress_samples, tell_the_spread_of_any_number_of_moments) {
  for (const int moments : {8, 1000, 100'000}) {
    progress_samples samples, first_half;
    for (int i = 0; i < moments; ++i) {
      samples.add(i);
      first_half.add(i / 2.0);
    }
    EXPECT_EQ(samples.spread(moments), 8U) << moments;
    EXPECT_EQ(first_half.spread(moments), 4U) << moments;
  }
  EXPECT_EQ(progress_samples().spread(0), 0U);
}

}  // namespace
}  // namespace sluice::metrics
