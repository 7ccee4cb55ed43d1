#include "core/query/types/durations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/core/query/results/in_both_ways.hpp"

namespace sluice::query {
namespace {

using testing::ms;
using testing::recording;
using trace::event_id;
using trace::row_type;

/// The expected durations in a recording, computed independently of the query.
struct kernels_by_hand {
  std::vector<time_ns> durations;  // of "gemm"
  event_id first{};
  trace::string_id gemm{};
};

/// Writes kernels with two names, whose durations are 1 ns to 1 ms.
kernels_by_hand write_kernels(recording& to) {
  to.standard_tables();
  kernels_by_hand hand;
  hand.gemm = to.text("gemm");
  std::mt19937 random(11);
  for (int i = 0; i < 1000; ++i) {
    const time_ns begin = i * 2 * ms;
    const auto duration = static_cast<time_ns>(1 + (random() % 1000) * (random() % 1000));
    const event_id id = to.add_kernel(begin, begin + duration, i % 3 == 0 ? "copy" : "gemm");
    if (i % 3 == 0) continue;
    if (hand.durations.empty()) hand.first = id;
    hand.durations.push_back(duration);
  }
  return hand;
}

constexpr time_range all_kernels{0, 10'000 * ms};

TEST(durations, of_a_name_are_counted_exactly) {
  recording recorded;
  kernels_by_hand by_hand = write_kernels(recorded);
  recorded.close();
  durations_query query{all_kernels, row_type::kernel, by_hand.gemm, {}, {}};
  const duration_histogram found = make_result(recorded.path(), query);
  std::vector<time_ns>& times = by_hand.durations;
  std::sort(times.begin(), times.end());
  EXPECT_EQ(found.count, times.size());
  EXPECT_EQ(found.total, std::accumulate(times.begin(), times.end(), time_ns{0}));
  EXPECT_EQ(found.shortest, times.front());
  EXPECT_EQ(found.longest, times.back());
  for (const duration_bar& bar : found.bars) {
    const auto inside =
        std::count_if(times.begin(), times.end(), [&](time_ns d) { return d >= bar.from && d < bar.to; });
    EXPECT_EQ(bar.count, static_cast<std::uint64_t>(inside)) << bar.from << " to " << bar.to;
    if (bar.count == 0) continue;
    EXPECT_EQ(bar.span.length(), *(std::lower_bound(times.begin(), times.end(), bar.to) - 1));
  }
  const time_ns median = times[(times.size() + 1) / 2 - 1];
  EXPECT_NEAR(static_cast<double>(found.median), static_cast<double>(median), static_cast<double>(median) / 2000 + 1);
  const time_ns high = times[(times.size() * 99 + 99) / 100 - 1];
  EXPECT_NEAR(static_cast<double>(found.percentile99), static_cast<double>(high), static_cast<double>(high) / 2000 + 1);
}

TEST(durations, have_the_count_and_the_sum_of_the_statistics) {
  recording recorded;
  const kernels_by_hand by_hand = write_kernels(recorded);
  recorded.close();
  const metrics::range_statistics statistics = make_result(recorded.path(), statistics_query{all_kernels});
  const duration_histogram every =
      make_result(recorded.path(), durations_query{all_kernels, row_type::kernel, {}, {}, {}});
  ASSERT_EQ(statistics.devices.size(), 1U);
  EXPECT_EQ(every.count, statistics.devices[0].kernels);
  EXPECT_EQ(every.total, statistics.devices[0].kernel_total);
  const duration_histogram named =
      make_result(recorded.path(), durations_query{all_kernels, row_type::kernel, by_hand.gemm, {}, {}});
  const auto kernel = std::find_if(statistics.kernels.begin(), statistics.kernels.end(),
                                   [&](const metrics::named_time& each) { return each.name == by_hand.gemm; });
  ASSERT_NE(kernel, statistics.kernels.end());
  EXPECT_EQ(named.count, kernel->count);
  EXPECT_EQ(named.total, kernel->total);
  EXPECT_EQ(named.longest, kernel->longest);
}

TEST(durations, of_a_range_are_those_of_what_overlaps_it) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(0, 100, "a");
  recorded.add_kernel(100, 250, "a");
  recorded.add_kernel(200, 200, "a");
  recorded.add_kernel(300, 400, "a");
  recorded.close();
  const duration_histogram found =
      make_result(recorded.path(), durations_query{{100, 300}, row_type::kernel, {}, {}, {}});
  EXPECT_EQ(found.count, 2U);
  EXPECT_EQ(found.shortest, 0);
  EXPECT_EQ(found.longest, 150) << "counted with its whole duration";
}

TEST(durations, like_those_of_an_event_have_its_name_or_direction) {
  recording recorded(64);
  const kernels_by_hand by_hand = write_kernels(recorded);
  const event_id up = recorded.add_copy(3000 * ms, 3001 * ms, 100);
  recorded.add_copy(3002 * ms, 3003 * ms, 100);
  recorded.add_copy(3004 * ms, 3005 * ms, 100, trace::direction::d2h);
  recorded.close();
  durations_query query{all_kernels, row_type::memset, {}, by_hand.first, {}};
  const duration_histogram found = make_result(recorded.path(), query);
  EXPECT_EQ(found.kind, row_type::kernel);
  EXPECT_EQ(found.name, by_hand.gemm);
  EXPECT_EQ(found.count, by_hand.durations.size());
  query.like = up;
  const duration_histogram copies = make_result(recorded.path(), query);
  EXPECT_EQ(copies.kind, row_type::transfer);
  EXPECT_EQ(copies.direction, trace::direction::h2d);
  EXPECT_EQ(copies.count, 2U);
}

TEST(durations, of_no_event_are_an_error_that_says_so) {
  recording recorded;
  recorded.standard_tables();
  recorded.close();
  engine asked(trace::file::open(recorded.path()).value());
  const auto found = asked.ask_now(durations_query{all_kernels, row_type::kernel, {}, event_id{77}, {}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::not_found);
}

TEST(durations, step_through_the_events_of_a_bar_and_begin_again) {
  recording recorded(64);
  recorded.standard_tables();
  const event_id a = recorded.add_kernel(0, 1000, "x");
  recorded.add_kernel(2000, 2010, "x");
  const event_id b = recorded.add_kernel(3000, 4001, "x");
  const event_id c = recorded.add_kernel(3000, 4002, "x");
  recorded.close();
  durations_query query{all_kernels, row_type::kernel, {}, {}, duration_step{900, 1100, 0, event_id::none}};
  std::vector<event_id> visited;
  for (int i = 0; i < 4; ++i) {
    const duration_histogram found = make_result(recorded.path(), query);
    ASSERT_TRUE(found.next);
    visited.push_back(found.next->event);
    query.step->after = found.next->span.begin;
    query.step->event = found.next->event;
  }
  EXPECT_EQ(visited, (std::vector<event_id>{a, b, c, a}));
}

TEST(durations, of_events_without_an_end_are_reported_apart) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(0, trace::unknown_time, "x");
  recorded.add_kernel(10, 5, "ends before it begins");
  recorded.close();
  const duration_histogram found =
      make_result(recorded.path(), durations_query{all_kernels, row_type::kernel, {}, {}, {}});
  EXPECT_EQ(found.unfinished, 1U);
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.longest, 0);
  ASSERT_EQ(found.bars.size(), 1U);
  EXPECT_EQ(found.bars[0].count, 1U);
}

TEST(durations, of_nothing_are_no_bars) {
  recording recorded;
  recorded.standard_tables();
  recorded.close();
  const duration_histogram found =
      make_result(recorded.path(), durations_query{all_kernels, row_type::sync, {}, {}, {}});
  EXPECT_EQ(found.count, 0U);
  EXPECT_TRUE(found.bars.empty());
  EXPECT_EQ(found.median, 0);
}

}  // namespace
}  // namespace sluice::query
