
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/query/types/step_statistics.hpp"
#include "core/trace/model/names.hpp"
#include "tests/core/query/results/in_both_ways.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/steps_program.hpp"

namespace sluice::query {
namespace {

using testing::mib;
using testing::ms;
using testing::recording;

const step_metric* metric(const step_statistics& in, std::string_view label) {
  const auto found =
      std::find_if(in.metrics.begin(), in.metrics.end(), [&](const step_metric& each) { return each.label == label; });
  return found == in.metrics.end() ? nullptr : &*found;
}

void write(recording& to) { testing::write_steps(to, 12, 8 * mib, mib); }

TEST(step_statistics, are_those_of_the_range_of_each_step) {
  recording recorded;
  write(recorded);
  recorded.close();
  const step_statistics found = make_result(recorded.path(), step_statistics_query{});
  ASSERT_EQ(found.steps.size(), 12U);
  EXPECT_EQ(found.measured, 12U);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    const metrics::range_statistics statistics = make_result(recorded.path(), statistics_query{found.steps[i].span});
    for (const auto& each : statistics.memory) {
      const std::string name = "GPU 0, " + describe_memory(each.layer, each.kind);
      const step_metric* peak = metric(found, "peak, " + name);
      ASSERT_NE(peak, nullptr) << name;
      EXPECT_EQ(peak->values[i], static_cast<double>(each.maximum));
      ++compared;
    }
    for (const auto& each : statistics.transfers) {
      const step_metric* copied = metric(found, "copied, GPU 0, " + std::string(get_name(each.direction)));
      ASSERT_NE(copied, nullptr);
      EXPECT_EQ(copied->values[i], each.bytes);
      ++compared;
    }
  }
  EXPECT_GE(compared, 24U);
  const step_metric* duration = metric(found, "duration");
  ASSERT_NE(duration, nullptr);
  EXPECT_EQ(duration->values[3], static_cast<double>(found.steps[3].span.length()));
}

/// Queries a growing recording repeatedly through one slot, as a panel does.
TEST(step_statistics, of_a_live_recording_follow_its_steps) {
  recording whole;
  testing::write_steps(whole, 400, 8 * mib, mib);
  whole.close();
  const auto source = trace::file::open(whole.path()).value()->latest();
  recording grows(64);
  testing::copy_rows(*source, grows.writer());
  grows.flush();
  engine asked(trace::file::open(grows.path()).value());
  slot<step_statistics_query> panel;
  std::uint64_t seen = 0;
  const auto until = [&](const auto& done) {
    for (int i = 0; i < 20'000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return done();
  };
  step_statistics last;
  const auto follow = [&](std::uint64_t most) {
    return until([&] {
      asked.refresh();
      const auto result = panel.ask(asked, {});
      if (result && result->step_count > seen) {
        seen = result->step_count;
        EXPECT_EQ(result->measured, result->step_count);
      }
      if (result) last = *result.value;
      return seen >= most;
    });
  };
  ASSERT_TRUE(follow(400));
  EXPECT_GT(last.settled, 200U) << "steps that ended a second ago";
  EXPECT_LT(last.settled, 400U) << "others may still get rows";
  auto later = grows.event<trace::marker_event>(6000 * ms);
  later.step = 400;
  grows.writer().add(later);
  grows.flush();
  ASSERT_TRUE(follow(401));
  grows.close();
  const step_statistics expected = make_result(grows.path(), step_statistics_query{});
  ASSERT_EQ(last.metrics.size(), expected.metrics.size());
  for (std::size_t i = 0; i < expected.metrics.size(); ++i) {
    EXPECT_EQ(last.metrics[i].label, expected.metrics[i].label);
    ASSERT_EQ(last.metrics[i].values.size(), expected.metrics[i].values.size());
    for (std::size_t step = 0; step < 400; ++step)
      EXPECT_TRUE(last.metrics[i].values[step] == expected.metrics[i].values[step] ||
                  std::isnan(expected.metrics[i].values[step]))
          << expected.metrics[i].label << " of step " << step;
  }
}

TEST(step_statistics, from_sections_are_those_from_an_index_of_everything) {
  const auto [whole, sections] = ask_both_ways(write, step_statistics_query{});
  ASSERT_EQ(sections.metrics.size(), whole.metrics.size());
  for (std::size_t i = 0; i < whole.metrics.size(); ++i) {
    EXPECT_EQ(sections.metrics[i].label, whole.metrics[i].label);
    ASSERT_EQ(sections.metrics[i].values.size(), whole.metrics[i].values.size());
    for (std::size_t step = 0; step < whole.steps.size(); ++step)
      EXPECT_NEAR(sections.metrics[i].values[step], whole.metrics[i].values[step],
                  std::fabs(whole.metrics[i].values[step]) * 1e-9)
          << whole.metrics[i].label << " of step " << step;
  }
}

TEST(step_statistics, of_a_recording_without_steps_are_none) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(0, 100, "x");
  recorded.close();
  const step_statistics found = make_result(recorded.path(), step_statistics_query{});
  EXPECT_TRUE(found.processes.empty());
  EXPECT_TRUE(found.steps.empty());
  EXPECT_TRUE(found.metrics.empty());
}

TEST(step_statistics, name_the_processes_that_have_steps) {
  recording recorded;
  write(recorded);
  recorded.close();
  const step_statistics found = make_result(recorded.path(), step_statistics_query{});
  ASSERT_EQ(found.processes.size(), 1U);
  EXPECT_EQ(found.processes[0].steps, 12U);
  const step_statistics other = make_result(recorded.path(), step_statistics_query{trace::process_id{99}});
  EXPECT_TRUE(other.steps.empty()) << "the process does not exist";
  EXPECT_EQ(other.processes.size(), 1U);
}

TEST(outliers, are_far_from_the_median_by_both_measures) {
  double median = 0;
  EXPECT_EQ(find_outliers({10, 11, 10, 9, 10, 30, 10}, median), (std::vector<std::uint32_t>{5}));
  EXPECT_EQ(median, 10);
  EXPECT_TRUE(find_outliers({100, 100, 100, 100, 104}, median).empty()) << "4 % is not worth a mark";
  EXPECT_EQ(find_outliers({100, 100, 100, 100, 106}, median), (std::vector<std::uint32_t>{4}));
  EXPECT_TRUE(find_outliers({1, 2, 3, 4, 5, 6, 7, 8, 14}, median).empty()) << "such values vary";
}

TEST(outliers, are_not_looked_for_among_few_values) {
  double median = 0;
  EXPECT_TRUE(find_outliers({}, median).empty());
  EXPECT_EQ(median, 0);
  EXPECT_TRUE(find_outliers({1, 1, 100, std::nan("")}, median).empty());
}

TEST(outliers, are_never_what_is_not_known) {
  double median = 0;
  EXPECT_EQ(find_outliers({std::nan(""), 1, 1, 1, 1, 9}, median), (std::vector<std::uint32_t>{5}));
}

}  // namespace
}  // namespace sluice::query
