#include "core/metrics/idle/launch_rate.hpp"

#include <gtest/gtest.h>

#include "tests/core/metrics/idle/idle_program.hpp"
#include "tests/core/metrics/wasteful_recording.hpp"

namespace sluice::metrics {
namespace {

using testing::idle_program;
using testing::us;

TEST(launch_rate, is_the_time_from_launch_to_launch_against_the_work_of_each) {
  idle_program program;
  for (time_ns i = 0; i < 1001; ++i) program.launch(i * 20, i * 20 + 6, i * 20 + 10);
  const launch_rate rate = program.build().devices().at(0).launches;
  EXPECT_EQ(rate.launches, 1000U);
  EXPECT_EQ(rate.period(), 20 * us);
  EXPECT_EQ(rate.work_per_launch(), 4 * us);
  EXPECT_EQ(rate.idle, 16'000 * us);
  EXPECT_EQ(rate.stretches, 1U);
  EXPECT_EQ(rate.saved, 16'000 * us - launch_rate::graph_launch - 1000 * launch_rate::node_gap);
}

TEST(launch_rate, counts_no_launch_for_which_the_device_does_not_wait) {
  idle_program program;
  for (time_ns i = 0; i < 100; ++i) program.launch(i * 20, 1000 + i * 101, 1100 + i * 101);
  EXPECT_EQ(program.build().devices().at(0).launches.launches, 0U);
}

TEST(launch_rate, of_launches_apart_from_each_other_leaves_nothing_to_save) {
  idle_program program;
  for (time_ns i = 0; i < 10; ++i) {
    program.launch(i * 1000, i * 1000 + 5, i * 1000 + 10);
    program.launch(i * 1000 + 12, i * 1000 + 18, i * 1000 + 20);
  }
  const launch_rate rate = program.build().devices().at(0).launches;
  EXPECT_EQ(rate.launches, 10U);
  EXPECT_EQ(rate.stretches, 10U) << "the host does something else for 980 us in between";
  EXPECT_EQ(rate.saved, 0) << "a graph of two kernels takes as long to launch";
}

TEST(launch_meter, goes_on_over_gaps_of_the_device_itself) {
  launch_meter meter;
  meter.add({0, 10 * us}, 10 * us, false, 1, 5 * us);
  meter.add({20 * us, 21 * us}, 0, true, 1, 10 * us);
  meter.add({30 * us, 40 * us}, 10 * us, false, 1, 9 * us);
  const launch_rate rate = meter.get_rate();
  EXPECT_EQ(rate.stretches, 1U);
  EXPECT_EQ(rate.launches, 3U);
  EXPECT_EQ(rate.idle, 20 * us);
}

}  // namespace
}  // namespace sluice::metrics
