#include "app/gui/shell/shown_range.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::gui {
namespace {

using metrics::step_metrics;
using metrics::step_summary;

constexpr time_range whole{0, 1'000'000};

std::vector<step_summary> with_steps(std::initializer_list<time_range> spans) {
  step_summary process;
  for (const time_range& each : spans) {
    step_metrics step;
    step.span = each;
    process.steps.push_back(step);
  }
  return {process};
}

TEST(shown_range, of_a_long_range_is_that_range_with_some_air) {
  EXPECT_EQ(shown_range({100'000, 300'000}, whole, {}), (time_range{89'999, 310'001}));
}

TEST(shown_range, of_a_moment_is_a_hundredth_of_the_recording_around_it) {
  EXPECT_EQ(shown_range({500'000, 500'001}, whole, {}), (time_range{494'499, 505'501}));
}

TEST(shown_range, of_a_moment_is_the_shortest_step_that_holds_it) {
  const auto steps = with_steps({{0, 400'000}, {400'000, 700'000}, {490'000, 510'000}});
  EXPECT_EQ(shown_range({500'000, 500'001}, whole, steps), (time_range{488'999, 511'001}));
}

TEST(shown_range, of_a_moment_outside_of_all_steps_is_a_hundredth_of_the_recording) {
  const auto steps = with_steps({{0, 400'000}});
  EXPECT_EQ(shown_range({500'000, 500'001}, whole, steps), (time_range{494'499, 505'501}));
}

TEST(shown_range, of_an_event_is_the_event_with_a_quarter_of_its_length_around_it) {
  EXPECT_EQ(shown_around({100'000, 100'400}, whole), (time_range{99'900, 100'500}));
}

TEST(shown_range, of_an_event_without_length_is_never_a_nanosecond) {
  EXPECT_EQ(shown_around({500'000, 500'000}, whole), (time_range{494'499, 505'501}));
}

}  // namespace
}  // namespace sluice::gui
