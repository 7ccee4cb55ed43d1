#include "app/gui/views/timeline/idle_strip.hpp"

#include <gtest/gtest.h>

#include <random>

namespace sluice::gui {
namespace {

TEST(lanes_asked_for, contain_the_view_with_pixels_no_wider) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto begin = static_cast<time_ns>(random() % 2'000'000) - 1'000'000;
    const auto length = 1 + static_cast<time_ns>(random() % 3'000'000);
    const auto width = static_cast<std::uint32_t>(1 + random() % 4096);
    const query::idle_lanes_query query = choose_lanes({begin, begin + length}, width);
    EXPECT_LE(query.range.begin, begin);
    EXPECT_GE(query.range.end, begin + length);
    EXPECT_LE(static_cast<double>(query.range.length()) / query.width, static_cast<double>(length) / width);
    EXPECT_LE(query.range.length(), length * 4);
  }
}

TEST(lanes_asked_for, stay_the_same_while_the_view_pans_a_little) {
  const auto first = choose_lanes({1'000'000, 1'900'000}, 1000);
  EXPECT_EQ(choose_lanes({1'010'000, 1'910'000}, 1000), first);
  EXPECT_EQ(choose_lanes({1'010'000, 1'900'000}, 1010), first) << "a slightly narrower view of more pixels";
  EXPECT_NE(choose_lanes({1'000'000, 1'100'000}, 1000), first);
}

TEST(lanes_asked_for, are_bounded_for_absurd_views) {
  const auto query = choose_lanes({-latest_time / 2, latest_time / 2}, 1'000'000);
  EXPECT_LE(query.width, 16384U);
  EXPECT_LT(query.range.begin, query.range.end);
}

query::idle_lane make_lane() {
  query::idle_lane lane;
  for (const time_range span : {time_range{100, 200}, time_range{200, 210}, time_range{400, 500}}) {
    query::drawn_gap& gap = lane.gaps.emplace_back();
    gap.span = gap.gap = span;
  }
  return lane;
}

TEST(gap_under_the_mouse, is_the_one_at_that_time) {
  const query::idle_lane lane = make_lane();
  EXPECT_EQ(find_gap(lane, 100, 0), &lane.gaps[0]);
  EXPECT_EQ(find_gap(lane, 199, 0), &lane.gaps[0]);
  EXPECT_EQ(find_gap(lane, 200, 0), &lane.gaps[1]);
  EXPECT_EQ(find_gap(lane, 300, 0), nullptr);
  EXPECT_EQ(find_gap({}, 300, 1000), nullptr);
}

TEST(gap_under_the_mouse, is_the_nearest_within_reach) {
  const query::idle_lane lane = make_lane();
  EXPECT_EQ(find_gap(lane, 390, 20), &lane.gaps[2]);
  EXPECT_EQ(find_gap(lane, 215, 20), &lane.gaps[1]);
  EXPECT_EQ(find_gap(lane, 600, 20), nullptr);
}

}  // namespace
}  // namespace sluice::gui
