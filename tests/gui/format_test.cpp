// Axes have round steps and readable labels that never repeat.
#include "app/gui/window/format.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sluice::gui::format {
namespace {

std::vector<std::string> list_labels(const time_axis& axis) {
  std::vector<std::string> labels;
  for (const auto& [time, label] : axis.ticks) labels.push_back(label);
  return labels;
}

TEST(time_axis, steps_are_one_two_or_five_times_a_power_of_ten) {
  for (time_ns length = 10; length < 4'000'000'000'000; length = length * 7 / 3) {
    const time_axis axis = time_ticks({0, length}, 10);
    time_ns lead = axis.step;
    while (lead % 10 == 0) lead /= 10;
    EXPECT_TRUE(lead == 1 || lead == 2 || lead == 5) << axis.step;
    EXPECT_LE(axis.ticks.size(), 12U) << length;
  }
}

TEST(time_axis, uses_the_largest_unit_that_stays_short) {
  EXPECT_EQ(list_labels(time_ticks({2'000'000, 2'500'000}, 3))[1], "2.2 ms");
  EXPECT_EQ(list_labels(time_ticks({0, 20'000'000'000}, 4))[1], "5 s");
  EXPECT_EQ(list_labels(time_ticks({0, 100}, 5))[1], "20 ns");
}

TEST(time_axis, no_two_ticks_read_the_same_however_deep_the_zoom) {
  for (const time_ns begin : {time_ns{0}, time_ns{12'345'678'901}, time_ns{3'600'000'000'000}})
    for (time_ns length = 20; length < 100'000'000'000; length *= 9) {
      const time_axis axis = time_ticks({begin, begin + length}, 8);
      const auto labels = list_labels(axis);
      EXPECT_EQ(std::set<std::string>(labels.begin(), labels.end()).size(), labels.size()) << begin << " " << length;
      for (const std::string& label : labels) EXPECT_LE(label.size(), 14U) << label;
    }
}

TEST(time_axis, far_from_zero_counts_from_a_round_time) {
  const time_axis axis = time_ticks({12'345'678'100, 12'345'679'000}, 5);
  EXPECT_NE(axis.base, 0);
  EXPECT_LE(axis.base, 12'345'678'100);
  EXPECT_EQ(axis.ticks.front().second.front(), '+');
}

TEST(time_axis, of_nothing_is_empty) { EXPECT_TRUE(time_ticks({5, 5}, 10).ticks.empty()); }

TEST(time_axis, works_before_the_start_of_the_recording) {
  const time_axis axis = time_ticks({-1'000'000, 1'000'000}, 4);
  EXPECT_LE(axis.ticks.front().first, -1'000'000);
  EXPECT_EQ(axis.ticks.front().second.front(), '-');
}

TEST(value_axis, bytes_step_in_binary_units) {
  const value_axis axis = value_ticks(double{300 << 20}, value_unit::bytes, 3);
  ASSERT_FALSE(axis.ticks.empty());
  EXPECT_EQ(axis.ticks[0].label, "100 MiB");
  EXPECT_GE(axis.top, double{300 << 20});
}

TEST(value_axis, stays_round_where_bytes_reach_the_next_unit) {
  const value_axis axis = value_ticks(double{1800 << 20}, value_unit::bytes, 10);
  ASSERT_EQ(axis.ticks.size(), 7U);
  EXPECT_EQ(axis.ticks[2].label, "768 MiB");
  EXPECT_EQ(axis.ticks[3].label, "1 GiB");
  EXPECT_EQ(axis.ticks[5].label, "1.5 GiB");
}

TEST(value_axis, has_labels_without_trailing_zeros) {
  EXPECT_EQ(axis_value(double{1 << 21}, value_unit::bytes), "2 MiB");
  EXPECT_EQ(axis_value(double{3 << 19}, value_unit::bytes), "1.5 MiB");
  EXPECT_EQ(axis_value(double{100 << 20}, value_unit::bytes), "100 MiB");
}

TEST(value_axis, rates_step_in_decimal_units) {
  const value_axis axis = value_ticks(63e9, value_unit::rate, 2);
  ASSERT_FALSE(axis.ticks.empty());
  EXPECT_EQ(axis.ticks[0].label, "50 GB/s");
}

TEST(value_axis, has_a_top_even_for_nothing) {
  EXPECT_GT(value_ticks(0, value_unit::bytes, 3).top, 0);
  EXPECT_GT(value_ticks(std::numeric_limits<double>::quiet_NaN(), value_unit::none, 3).top, 0);
  EXPECT_GT(value_ticks(std::numeric_limits<double>::infinity(), value_unit::rate, 3).top, 0);
}

/// Measures text for the tests: each character is 1 wide.
float characters(std::string_view text) {
  return static_cast<float>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

TEST(in_window, names_the_entries_of_the_window_and_no_options) {
  EXPECT_EQ(in_window("no kernel times; record --mode timeline"), "no kernel times; record with \"Timeline\"");
  EXPECT_EQ(in_window("a.so is not looked at: see --sources-from"),
            "a.so is not looked at: see File, Add source folder");
  EXPECT_EQ(in_window("Copies (record --find-duplicates), 1 MiB"),
            "Copies (record with \"Detect duplicate copies\"), 1 MiB");
  EXPECT_EQ(in_window("nvcc --std=c++17 \u00e9"), apart("nvcc --std=c++17 \u00e9")) << "other names are unchanged";
}

TEST(fitted, keeps_a_text_that_fits) {
  EXPECT_EQ(fitted("nn/linear.py:114, forward", 25, characters), "nn/linear.py:114, forward");
  EXPECT_EQ(fitted("", 0, characters), "");
}

TEST(fitted, keeps_the_file_and_the_line_before_all_else) {
  const std::string_view text = "nn/linear.py:114, forward";
  EXPECT_EQ(fitted(text, 24, characters), "linear.py:114, forward");
  EXPECT_EQ(fitted(text, 20, characters), "linear.py:114, forw\u2026");
  EXPECT_EQ(fitted(text, 14, characters), "linear.py:114\u2026");
  EXPECT_EQ(fitted(text, 13, characters), "linear.py:114");
  EXPECT_EQ(fitted(text, 9, characters), "\u2026r.py:114");
  EXPECT_EQ(fitted(text, 5, characters), "\u2026:114");
  EXPECT_EQ(fitted(text, 3, characters), "nn\u2026");
  EXPECT_EQ(fitted("nn/linear.py:114", 13, characters), "linear.py:114");
  EXPECT_EQ(fitted("4 B in 1 copy,  a/linear.py:114, f", 30, characters), "4 B in 1 copy,  linear.py:114\u2026");
  EXPECT_EQ(fitted("forward  (a/linear.py:114)", 16, characters), "forward  (\u2026y:114");
}

TEST(fitted, cuts_the_end_of_what_names_no_line_and_never_inside_a_character) {
  EXPECT_EQ(fitted("at::native::reduce", 8, characters), "at::nat\u2026");
  EXPECT_EQ(fitted("at 12:30 and more", 8, characters), "at 12:3\u2026");
  EXPECT_EQ(fitted("127.0.0.1:8080 and more", 6, characters), "127.0\u2026");
  EXPECT_EQ(fitted("\u00e9\u00e9\u00e9\u00e9", 3, characters), "\u00e9\u00e9\u2026");
  EXPECT_EQ(fitted("\u00e9\u00e9\u00e9.py:1234567", 10, characters), "\u2026y:1234567");
  EXPECT_EQ(fitted("abc", 0, characters), "");
}

TEST(time_point, has_the_digits_that_the_resolution_needs) {
  EXPECT_EQ(time_point(1'500'000'000, 1'000'000), "1.500 s");
  EXPECT_EQ(time_point(trace::unknown_time, 1), "unknown");
}

}  // namespace
}  // namespace sluice::gui::format
