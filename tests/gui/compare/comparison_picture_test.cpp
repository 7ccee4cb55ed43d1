// Which steps of two recordings the picture of a comparison shows.
#include "app/gui/views/compare/comparison_picture.hpp"

#include <gtest/gtest.h>

namespace sluice::gui {
namespace {

std::vector<metrics::step_metrics> make_steps(std::int64_t first, std::int64_t count, time_ns length) {
  std::vector<metrics::step_metrics> steps;
  for (std::int64_t i = 0; i < count; ++i) {
    metrics::step_metrics& each = steps.emplace_back();
    each.number = first + i;
    each.span = {i * length, (i + 1) * length};
  }
  return steps;
}

constexpr std::array<time_range, 2> openings = {time_range{5, 9}, time_range{7, 30}};

TEST(pictured_steps, are_those_with_the_same_numbers_from_the_middle) {
  const auto before = make_steps(0, 40, 100), after = make_steps(10, 30, 50);
  const auto found = choose_pictured({&before, &after}, openings);
  ASSERT_EQ(found[0].steps.size(), 3U);
  ASSERT_EQ(found[1].steps.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[0].steps[i].number, found[1].steps[i].number);
  EXPECT_EQ(found[0].steps[0].number, 24) << "the first of the middle three of the steps 10 to 39";
  EXPECT_EQ(found[0].range.begin, found[0].steps.front().span.begin) << "aligned at the begin of a step";
  EXPECT_EQ(found[0].range.length(), 300);
  EXPECT_EQ(found[1].range.length(), 150);
}

TEST(pictured_steps, come_from_the_middle_of_each_side_without_common_numbers) {
  const auto before = make_steps(0, 9, 100), after = make_steps(100, 5, 100);
  const auto found = choose_pictured({&before, &after}, openings);
  EXPECT_EQ(found[0].steps.at(0).number, 3);
  EXPECT_EQ(found[1].steps.at(0).number, 101);
}

TEST(pictured_steps, are_fewer_if_a_side_has_fewer) {
  const auto before = make_steps(0, 1, 100), after = make_steps(0, 2, 100);
  const auto found = choose_pictured({&before, &after}, openings);
  EXPECT_EQ(found[0].steps.size(), 1U);
  EXPECT_EQ(found[1].steps.size(), 2U);
}

TEST(pictured_steps, give_way_to_the_opening_ranges_if_a_side_has_none) {
  const auto before = make_steps(0, 9, 100);
  const auto found = choose_pictured({&before, nullptr}, openings);
  EXPECT_EQ(found[0].range, openings[0]);
  EXPECT_EQ(found[1].range, openings[1]);
  EXPECT_TRUE(found[0].steps.empty());
}

}  // namespace
}  // namespace sluice::gui
