// What a lane of memory marks: its highest point in view, and a request that failed.
#include "app/gui/views/timeline/memory_marks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::gui::marks_of_memory {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

query::series make_memory(std::vector<double> low, std::vector<double> high) {
  query::series series;
  series.range = {0, static_cast<time_ns>(low.size()) * 10};
  for (const auto* values : {&low, &high}) {
    query::band& band = series.bands.emplace_back();
    band.role = query::band_role::used;
    band.kind = trace::memory_kind::device;
    band.stacked = true;
    for (const double value : *values) band.bins.push_back(query::bin::constant(value));
  }
  return series;
}

std::optional<highest_point> find(const query::series& memory, time_range visible) {
  return find_highest_point(list_lanes(memory, query::track_kind::memory).front(), memory, visible);
}

TEST(memory_marks, finds_the_highest_sum_of_the_areas) {
  const auto point = find(make_memory({1, 5, 1, 1}, {1, 1, 8, 1}), {0, 40});
  ASSERT_TRUE(point);
  EXPECT_EQ(point->bytes, 9);
  EXPECT_EQ(point->span, (time_range{20, 30}));
}

TEST(memory_marks, looks_only_at_what_is_in_view) {
  const auto point = find(make_memory({1, 5, 1, 1}, {1, 1, 8, 1}), {0, 20});
  ASSERT_TRUE(point);
  EXPECT_EQ(point->bytes, 6);
}

TEST(memory_marks, marks_nothing_if_memory_does_not_change) {
  EXPECT_FALSE(find(make_memory({4, 4, 4}, {4, 4, 4}), {0, 30}));
  EXPECT_FALSE(find(make_memory({0, 0}, {0, 0}), {0, 20}));
}

metrics::report run_out_of_memory() {
  metrics::report report;
  metrics::out_of_memory& memory = report.out_of_memory.emplace_back().metrics;
  memory.device = trace::device_id{1};
  memory.time = 70;
  memory.asked = 46 * gib;
  memory.missing = 14 * gib;
  memory.device_bytes = 140 * gib;
  memory.limit = metrics::memory_limit::device;
  return report;
}

TEST(memory_marks, shows_a_failed_request_on_the_device_that_had_no_memory) {
  const memory_failure failed = find_failure(run_out_of_memory(), trace::device_id{1});
  EXPECT_EQ(failed.time, 70);
  EXPECT_EQ(failed.limit, 140 * gib);
  EXPECT_EQ(failed.limit_label, "the GPU's memory: 140 GiB");
  EXPECT_EQ(failed.label, "asked for 46.0 GiB");
  EXPECT_EQ(find_failure(run_out_of_memory(), trace::device_id{2}).asked, 0U);
  EXPECT_EQ(find_failure({}, trace::device_id{1}).asked, 0U);
}

TEST(memory_marks, shows_the_limit_that_the_program_set) {
  metrics::report report = run_out_of_memory();
  report.out_of_memory.front().metrics.limit = metrics::memory_limit::framework;
  report.out_of_memory.front().metrics.limit_to = 70 * gib;
  const memory_failure failed = find_failure(report, trace::device_id{1});
  EXPECT_EQ(failed.limit, 70 * gib);
  EXPECT_THAT(failed.limit_label, ::testing::StartsWith("the limit that was set"));
}

TEST(memory_marks, lets_the_request_exceed_the_limit_by_what_was_missing) {
  const memory_failure failed = find_failure(run_out_of_memory(), trace::device_id{1});
  EXPECT_EQ(get_base(failed, 50.0 * gib) + 46.0 * gib, 154.0 * gib) << "free memory that it could not use counts";
  EXPECT_EQ(get_base(failed, 120.0 * gib), 120.0 * gib) << "never inside of what was in use";
}

TEST(memory_marks, puts_the_request_on_what_was_in_use_if_the_shortage_is_unknown) {
  memory_failure failed = find_failure(run_out_of_memory(), trace::device_id{1});
  failed.short_by = 0;
  EXPECT_EQ(get_base(failed, 5.0 * gib), 5.0 * gib);
}

}  // namespace
}  // namespace sluice::gui::marks_of_memory
