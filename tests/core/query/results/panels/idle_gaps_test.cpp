#include "core/query/types/idle_gaps.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/query/results/in_both_ways.hpp"

namespace sluice::query {
namespace {

using metrics::gap_cause;
using testing::recording;

constexpr time_ns us = 1000;
constexpr time_range whole_time{0, 1'000'000 * us};

/// Writes kernels of 100 us with growing gaps between them: 20 us, 40 us, ... The host waits in each gap.
void write_gaps(recording& to) {
  to.standard_tables();
  time_ns at = 0;
  for (time_ns i = 0; i < 80; ++i) {
    to.add_kernel(at, at + 100 * us, "gemm");
    to.add_call(at + 90 * us, at + 105 * us, "cuStreamSynchronize");
    at += 100 * us + (i + 1) * 20 * us;
  }
  to.add_copy(at, at + 10 * us, 1 << 20);
}

TEST(listed_gaps, are_the_longest_first_with_what_ended_them) {
  recording recorded;
  write_gaps(recorded);
  recorded.close();
  const idle_gap_list list = make_result(recorded.path(), idle_gaps_query{whole_time});
  ASSERT_EQ(list.gaps.size(), 80U);
  EXPECT_EQ(list.gaps[0].gap.span.length(), 80 * 20 * us);
  EXPECT_EQ(list.gaps[0].gap.before, slice_kind::kernel);
  EXPECT_EQ(list.gaps[0].gap.after_kind, slice_kind::h2d);
  EXPECT_EQ(list.gaps[1].gap.after_kind, slice_kind::kernel);
  EXPECT_TRUE(std::is_sorted(list.gaps.begin(), list.gaps.end(),
                             [](const auto& a, const auto& b) { return a.gap.span.length() > b.gap.span.length(); }));
}

TEST(listed_gaps, say_what_took_most_of_each) {
  recording recorded;
  write_gaps(recorded);
  recorded.close();
  const idle_gap_list list = make_result(recorded.path(), idle_gaps_query{whole_time});
  const listed_gap& shortest = list.gaps.back();
  EXPECT_EQ(shortest.gap.span.length(), 20 * us);
  EXPECT_EQ(shortest.gap.cause, gap_cause::wait);
  EXPECT_EQ(shortest.gap.caused, 15 * us) << "the time for which the call blocked the host";
  EXPECT_EQ(list.gaps.front().gap.cause, gap_cause::host);
  EXPECT_EQ(list.gaps.front().gap.caused, 80 * 20 * us - 15 * us);
}

TEST(listed_gaps, add_up_to_the_idle_time_of_the_device) {
  recording recorded;
  write_gaps(recorded);
  recorded.close();
  const idle_gap_list list = make_result(recorded.path(), idle_gaps_query{whole_time});
  const metrics::report report = make_result(recorded.path(), report_query{});
  ASSERT_EQ(report.whole.devices.size(), 1U);
  const metrics::device_activity& device = report.whole.devices[0];
  const metrics::gap_lengths& lengths = list.lengths.at(device.device);
  EXPECT_EQ(lengths.total, device.last - device.first - device.busy);
  EXPECT_EQ(lengths.count, 80U);
  std::uint64_t counted = 0;
  for (const auto& bin : lengths.bins) counted += bin.count;
  EXPECT_EQ(counted, 80U);
  EXPECT_EQ(lengths.bins[14].count, 1U) << "16 to 33 us: 20 us";
}

TEST(listed_gaps, have_causes_that_add_up_to_the_idle_time) {
  recording recorded;
  write_gaps(recorded);
  recorded.close();
  const idle_gap_list list = make_result(recorded.path(), idle_gaps_query{whole_time});
  ASSERT_EQ(list.devices.size(), 1U);
  time_ns total = 0;
  for (const metrics::cause_time& each : list.devices[0].causes) total += each.total;
  EXPECT_EQ(total, list.devices[0].idle());
  EXPECT_EQ(total, list.lengths.begin()->second.total);
}

TEST(listed_gaps, have_the_causes_of_the_findings) {
  recording recorded;
  write_gaps(recorded);
  recorded.close();
  const idle_gap_list list = make_result(recorded.path(), idle_gaps_query{whole_time});
  const metrics::report report = make_result(recorded.path(), report_query{});
  ASSERT_EQ(list.lines.size(), report.waste.gaps.size());
  for (std::size_t i = 0; i < list.lines.size(); ++i) {
    EXPECT_EQ(list.lines[i].cause, report.waste.gaps[i].cause);
    EXPECT_EQ(list.lines[i].count, report.waste.gaps[i].count);
    EXPECT_EQ(list.lines[i].total, report.waste.gaps[i].total);
    EXPECT_EQ(list.lines[i].longest_gap, report.waste.gaps[i].longest_gap);
  }
}

TEST(listed_gaps, from_sections_are_those_from_an_index_of_everything) {
  const auto [whole, sections] = ask_both_ways(write_gaps, idle_gaps_query{whole_time});
  ASSERT_EQ(sections.gaps.size(), whole.gaps.size());
  for (std::size_t i = 0; i < whole.gaps.size(); ++i) {
    EXPECT_EQ(sections.gaps[i].gap.span, whole.gaps[i].gap.span);
    EXPECT_EQ(sections.gaps[i].gap.after_kind, whole.gaps[i].gap.after_kind);
    EXPECT_EQ(sections.gaps[i].gap.cause, whole.gaps[i].gap.cause);
    EXPECT_EQ(sections.gaps[i].gap.caused, whole.gaps[i].gap.caused);
  }
  ASSERT_EQ(sections.devices.size(), whole.devices.size());
  for (std::size_t i = 0; i < whole.devices.size(); ++i) {
    EXPECT_EQ(sections.devices[i].span, whole.devices[i].span);
    EXPECT_EQ(sections.devices[i].busy, whole.devices[i].busy);
    ASSERT_EQ(sections.devices[i].causes.size(), whole.devices[i].causes.size());
    for (std::size_t k = 0; k < whole.devices[i].causes.size(); ++k) {
      EXPECT_EQ(sections.devices[i].causes[k].cause, whole.devices[i].causes[k].cause);
      EXPECT_EQ(sections.devices[i].causes[k].total, whole.devices[i].causes[k].total);
    }
  }
}

TEST(listed_gaps, of_many_are_the_longest) {
  recording recorded;
  recorded.standard_tables();
  time_ns at = 0;
  for (time_ns i = 0; i < 1500; ++i) {
    recorded.add_kernel(at, at + 10 * us);
    at += 10 * us + 20 * us + i;
  }
  recorded.close();
  const idle_gap_list list = make_result(recorded.path(), idle_gaps_query{whole_time});
  ASSERT_EQ(list.gaps.size(), idle_gap_list::limit);
  EXPECT_EQ(list.lengths.begin()->second.count, 1499U);
  EXPECT_EQ(list.gaps.front().gap.span.length(), 20 * us + 1498);
  EXPECT_EQ(list.gaps.back().gap.span.length(), 20 * us + 499);
}

}  // namespace
}  // namespace sluice::query
