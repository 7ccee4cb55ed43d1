// The content of charts: axes, scales, and what the mouse hits.
#include "app/gui/views/chart/chart_model.hpp"

#include <gtest/gtest.h>

#include "app/gui/views/chart/chart_layout.hpp"

namespace sluice::gui {
namespace {

chart_series make_bars(const std::vector<double>& heights) {
  chart_series bars;
  for (std::size_t i = 0; i < heights.size(); ++i)
    bars.points.push_back({.begin = static_cast<double>(i),
                           .end = static_cast<double>(i + 1),
                           .high = heights[i],
                           .item = static_cast<std::uint32_t>(i)});
  return bars;
}

chart_model make_bar_chart(const std::vector<double>& heights) {
  chart_model model;
  model.x = make_item_axis(heights.size(), [](std::int64_t item) { return std::to_string(item); });
  model.series.push_back(make_bars(heights));
  model.scales = true;
  return model;
}

/// Text is 6 pixels wide for each character.
chart_metrics sizes() {
  return {1, 12, [](std::string_view text) { return static_cast<float>(text.size()) * 6; }};
}

std::vector<std::string> labels(const std::vector<format::tick>& ticks) {
  std::vector<std::string> output;
  for (const format::tick& each : ticks) output.push_back(each.label);
  return output;
}

TEST(chart_scale, cuts_off_a_first_step_that_would_flatten_the_rest) {
  chart_model model = make_bar_chart({368, 6, 7, 8, 6, 7});
  EXPECT_EQ(model.fit(value_scale::clipped), value_scale::clipped);
  EXPECT_EQ(model.y.high, 10) << "a quarter above the highest of the others";
  EXPECT_EQ(model.cut_off(), 1U);
}

TEST(chart_scale, cuts_off_nothing_where_no_bar_is_far_higher_than_the_others) {
  chart_model model = make_bar_chart({18, 6, 7, 8, 6, 7});
  EXPECT_EQ(model.fit(value_scale::clipped), value_scale::linear);
  EXPECT_GE(model.y.high, 18);
  EXPECT_EQ(model.cut_off(), 0U);
}

TEST(chart_scale, cuts_off_all_slow_first_steps) {
  EXPECT_EQ(clip_above({368, 90, 40, 6, 7, 8, 6, 7, 6, 8, 7, 6}), 10);
}

TEST(chart_scale, cuts_off_what_is_above_four_times_the_median_but_at_most_a_quarter) {
  std::vector<double> heights(8, 1.0);
  heights[0] = 4;
  EXPECT_EQ(clip_above(heights), 4) << "no more than four times the median";
  heights[0] = 100;
  heights[7] = 50;
  EXPECT_EQ(clip_above(heights), 1.25);
  heights[3] = 60;
  EXPECT_EQ(clip_above(heights), 100) << "three of eight are no exceptions";
}

TEST(chart_scale, of_a_few_bars_shows_all_of_them) {
  EXPECT_EQ(clip_above({100, 1, 1}), 100);
  EXPECT_EQ(clip_above({}), 0);
}

TEST(chart_scale, is_linear_or_logarithmic_if_the_user_wants_that) {
  chart_model model = make_bar_chart({368, 6, 7, 8, 6, 7});
  EXPECT_EQ(model.fit(value_scale::linear), value_scale::linear);
  EXPECT_GE(model.y.high, 368);
  EXPECT_EQ(model.fit(value_scale::logarithmic), value_scale::logarithmic);
  EXPECT_TRUE(model.y.logarithmic);
  EXPECT_GT(model.y.to_share(6), 0) << "the lowest bar is visible";
  EXPECT_EQ(model.cut_off(), 0U);
}

TEST(chart_scale, of_bars_without_height_is_linear) {
  chart_model model = make_bar_chart({0, 0, 0, 0, 0});
  EXPECT_EQ(model.fit(value_scale::logarithmic), value_scale::linear);
}

TEST(chart_axis, of_steps_labels_round_numbers) {
  chart_axis axis = make_item_axis(120, [](std::int64_t item) { return "s" + std::to_string(item); });
  EXPECT_EQ(labels(axis.ticks(4)), (std::vector<std::string>{"s0", "s50", "s100"}));
  EXPECT_EQ(axis.ticks(4)[1].value, 50.5) << "in the middle of its bar";
  EXPECT_EQ(axis.ticks(200).size(), 120U);
}

TEST(chart_axis, of_times_counts_from_any_origin) {
  const chart_axis axis = make_time_axis({2'000'000'000, 4'000'000'000}, 1'000'000'000);
  EXPECT_EQ(axis.to_share(axis.place(3'000'000'000)), 0.5);
  EXPECT_EQ(axis.time(axis.to_value(0.25)), 2'500'000'000);
  EXPECT_EQ(labels(axis.ticks(2)), (std::vector<std::string>{"2 s", "3 s", "4 s"}));
}

TEST(chart_axis, that_is_logarithmic_gives_each_decade_the_same_length) {
  const chart_axis axis{.unit = format::value_unit::nanoseconds, .logarithmic = true, .low = 1e3, .high = 1e6};
  EXPECT_NEAR(axis.to_share(1e4), 1.0 / 3, 1e-9);
  EXPECT_NEAR(axis.to_value(2.0 / 3), 1e5, 1e-3);
  EXPECT_EQ(axis.to_share(0), 0) << "there is no logarithm of 0";
  EXPECT_EQ(labels(axis.ticks(5)), (std::vector<std::string>{"1 µs", "10 µs", "100 µs", "1 ms"}));
}

TEST(chart_layout, leaves_space_for_labels_and_places_values) {
  chart_model model = make_bar_chart({1, 2});
  model.fit(value_scale::linear);
  const chart_layout at = lay_out(model, {100, 50}, {300, 200}, sizes());
  EXPECT_TRUE(at.fits(sizes()));
  EXPECT_GT(at.area.min.x, 100) << "labels of the values";
  EXPECT_LT(at.area.max.y, 250 - 12) << "labels of the items";
  EXPECT_FLOAT_EQ(at.to_x(0), at.area.min.x);
  EXPECT_FLOAT_EQ(at.to_x(2), at.area.max.x);
  EXPECT_FLOAT_EQ(at.to_y(0), at.area.max.y);
  EXPECT_NEAR(at.x_at(at.to_x(0.5)), 0.5, 1e-3);
  EXPECT_NEAR(at.y_at(at.to_y(1.5)), 1.5, 1e-3);
}

TEST(chart_layout, says_if_there_is_no_space) {
  const chart_model model = make_bar_chart({1, 2});
  EXPECT_FALSE(lay_out(model, {0, 0}, {30, 200}, sizes()).fits(sizes()));
  EXPECT_FALSE(lay_out(model, {0, 0}, {300, 30}, sizes()).fits(sizes()));
}

TEST(chart_layout, has_rows_above_only_for_what_is_in_them) {
  chart_model model = make_bar_chart({1, 2});
  EXPECT_EQ(lay_out(model, {0, 0}, {300, 200}, sizes()).header, 0);
  model.marks.push_back({.at = 1, .label = "median"});
  const float one = lay_out(model, {0, 0}, {300, 200}, sizes()).header;
  EXPECT_GT(one, 12);
  model.offers_scales = true;
  EXPECT_EQ(lay_out(model, {0, 0}, {300, 200}, sizes()).header, 2 * one);
}

TEST(chart_pointer, hits_a_bar_anywhere_in_its_column) {
  chart_model model = make_bar_chart({1, 100, 2});
  model.fit(value_scale::linear);
  const chart_layout at = lay_out(model, {0, 0}, {400, 200}, sizes());
  const chart_pointer pointer = at.point_at({at.to_x(2.5), at.area.min.y + 1}, sizes());
  EXPECT_EQ(pointer.series, 0U);
  EXPECT_EQ(pointer.item, 2U);
}

TEST(chart_pointer, hits_the_front_box_and_nothing_beside_it) {
  chart_model model;
  model.x = make_item_axis(10, {});
  model.y.high = 10;
  model.series.resize(2);
  for (chart_series& each : model.series) each.look = series_look::boxes;
  model.series[0].points = {{.begin = 0, .end = 10, .low = 0, .high = 4, .item = 7}};
  model.series[1].points = {{.begin = 2, .end = 4, .low = 0, .high = 2, .item = 8}};
  const chart_layout at = lay_out(model, {0, 0}, {400, 200}, sizes());
  const auto hit = [&](double x, double y) { return at.point_at({at.to_x(x), at.to_y(y)}, sizes()); };
  EXPECT_EQ(hit(3, 1).item, 8U);
  EXPECT_EQ(hit(3, 3).item, 7U);
  EXPECT_EQ(hit(3, 5).series, std::nullopt);
}

TEST(chart_pointer, hits_the_nearest_dot_if_one_is_near) {
  chart_model model;
  model.x.high = model.y.high = 10;
  chart_series& dots = model.series.emplace_back();
  dots.look = series_look::dots;
  dots.points = {{.begin = 5, .high = 5, .item = 1}, {.begin = 5.1, .high = 5, .item = 2}};
  const chart_layout at = lay_out(model, {0, 0}, {400, 200}, sizes());
  EXPECT_EQ(at.point_at({at.to_x(5.1) + 1, at.to_y(5)}, sizes()).item, 2U);
  EXPECT_EQ(at.point_at({at.to_x(7), at.to_y(5)}, sizes()).series, std::nullopt);
}

TEST(chart_points, of_equal_height_become_one) {
  std::vector<chart_point> points;
  for (const double high : {1.0, 1.0, 2.0, 2.0, 1.0}) {
    const auto begin = points.empty() ? 0.0 : points.back().end;
    add_joined(points, {.begin = begin, .end = begin + 1, .high = high});
  }
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[1].begin, 2);
  EXPECT_EQ(points[1].end, 4);
}

}  // namespace
}  // namespace sluice::gui
