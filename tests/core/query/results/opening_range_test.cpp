#include "core/query/results/opening_range.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::query {
namespace {

/// `count` steps of 100 ns from `begin`.
std::vector<index::step> steps_from(time_ns begin, std::size_t count) {
  std::vector<index::step> steps;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = begin + static_cast<time_ns>(i) * 100;
    steps.push_back({{at, at + 100}, static_cast<std::int64_t>(i), {}});
  }
  return steps;
}

double same_in_each(time_range) { return 1000; }

TEST(opening_range, shows_twelve_steps_from_the_middle_of_the_steady_ones) {
  const time_range opening = choose_opening({0, 100'000}, {}, steps_from(50'000, 100), same_in_each);
  // Steps 25 to 99 are steady, and the twelve in their middle are 56 to 67.
  EXPECT_EQ(opening, (time_range{55'600 - 24, 56'800 + 24}));
}

TEST(opening_range, shows_all_steps_if_memory_grows_from_step_to_step) {
  const auto grows = [](time_range over) { return static_cast<double>(over.begin); };
  const time_range opening = choose_opening({0, 100'000}, {}, steps_from(50'000, 100), grows);
  EXPECT_EQ(opening, (time_range{50'000 - 200, 60'000 + 200}));
}

TEST(opening_range, takes_neither_a_high_first_step_nor_a_high_last_one_for_growth) {
  const std::vector<index::step> steps = steps_from(50'000, 100);
  const auto high_at_both_ends = [&](time_range over) {
    return over == steps.front().span || over == steps.back().span ? 9000.0 : 1000.0;
  };
  EXPECT_EQ(choose_opening({0, 100'000}, {}, steps, high_at_both_ends).length(), 1248);
}

TEST(opening_range, shows_all_of_few_steps) {
  EXPECT_EQ(choose_opening({0, 100'000}, {}, steps_from(50'000, 5), same_in_each), (time_range{49'990, 50'510}));
}

TEST(opening_range, is_the_active_time_without_two_steps) {
  EXPECT_EQ(choose_opening({10, 20}, {}, {}, same_in_each), (time_range{10, 20}));
  EXPECT_EQ(choose_opening({0, 100'000}, {}, steps_from(50'000, 1), same_in_each), (time_range{0, 100'000}));
}

TEST(opening_range, is_the_time_of_the_devices_work_if_the_rest_is_most_of_the_active_time) {
  EXPECT_EQ(choose_opening({0, 100'000}, {70'000, 80'000}, {}, same_in_each), (time_range{69'800, 80'200}));
  EXPECT_EQ(choose_opening({0, 100'000}, {95'000, 100'000}, {}, same_in_each), (time_range{94'900, 100'000}));
  EXPECT_EQ(choose_opening({0, 100'000}, {40'000, 100'000}, {}, same_in_each), (time_range{0, 100'000}));
}

TEST(opening_range, stays_in_the_active_time) {
  EXPECT_EQ(choose_opening({50'000, 50'400}, {}, steps_from(50'000, 4), same_in_each), (time_range{50'000, 50'400}));
  std::vector<index::step> steps = steps_from(50'000, 4);
  steps.back().span.end = 900'000;  // As for marks, of which the last one lasts until the end of the recording.
  EXPECT_EQ(choose_opening({0, 50'500}, {}, steps, same_in_each), (time_range{49'990, 50'500}));
  // A damaged file may have steps anywhere.
  EXPECT_EQ(choose_opening({0, 40'000}, {}, steps_from(50'000, 40), same_in_each), (time_range{0, 40'000}));
}

}  // namespace
}  // namespace sluice::query
