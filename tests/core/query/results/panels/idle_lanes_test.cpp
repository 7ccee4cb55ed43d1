#include "core/query/types/idle_lanes.hpp"

#include <gtest/gtest.h>

#include "core/query/types/idle_gaps.hpp"
#include "tests/core/query/results/in_both_ways.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::query {
namespace {

using metrics::gap_cause;
using testing::native;
using testing::python;
using testing::recording;
using trace::host_state;

constexpr time_ns lane_us = 1000;
constexpr time_range lane_time{0, 100'000 * lane_us};

/// A kernel that was launched 10 lane_us before it begins.
void write_launch(recording& to, time_ns begin, time_ns end) {
  auto kernel = to.event<trace::kernel_event>(begin);
  kernel.end = end;
  kernel.enqueued = begin - 10 * lane_us;
  kernel.name = to.text("gemm");
  kernel.device = trace::device_id{1};
  kernel.stream = trace::stream_id{1};
  to.add_call(begin - 10 * lane_us, begin - 7 * lane_us, "cuLaunchKernel");
  to.writer().add(kernel);
}

/// 100 kernels of 400 lane_us, a gap of 600 lane_us after each. In a gap, the thread builds a plan with cuDNN, and launches the
/// next kernel 10 lane_us before it begins.
void write_lanes(recording& to) {
  to.standard_tables();
  testing::stack_maker stacks(to);
  const auto plan =
      stacks({native("cudnnBackendFinalize", "/usr/lib/libcudnn.so.9"), python("step", "/home/me/train.py", 12)});
  for (time_ns at = 0; at < lane_time.end; at += 1000 * lane_us) {
    write_launch(to, at, at + 400 * lane_us);
    for (time_ns time = at + 400 * lane_us; time < at + 990 * lane_us; time += 100 * lane_us) {
      auto sample = to.event<trace::host_sample_event>(time);
      sample.length = std::min(100 * lane_us, at + 990 * lane_us - time);
      sample.state = host_state::running;
      sample.stack = plan;
      to.writer().add(sample);
    }
  }
}

template <class Query>
auto ask(const Query& query) {
  recording recorded;
  write_lanes(recorded);
  recorded.close();
  return make_result(recorded.path(), query);
}

time_ns sum_idle(const idle_lane& lane) {
  time_ns sum = 0;
  for (const drawn_gap& each : lane.gaps) sum += each.idle;
  return sum;
}

TEST(idle_lane, has_each_part_of_a_gap_where_pixels_are_small) {
  const idle_lanes found = ask(idle_lanes_query{{0, 2'000 * lane_us}, 2000});
  ASSERT_EQ(found.lanes.size(), 1U);
  const idle_lane& lane = found.lanes[0];
  ASSERT_EQ(lane.gaps.size(), 4U);
  EXPECT_EQ(lane.gaps[0].span, (time_range{400 * lane_us, 990 * lane_us}));
  EXPECT_EQ(lane.gaps[0].cause, gap_cause::host);
  EXPECT_EQ(lane.gaps[0].gap, (time_range{400 * lane_us, 1'000 * lane_us}));
  EXPECT_EQ(lane.gaps[1].span, (time_range{990 * lane_us, 1'000 * lane_us}));
  EXPECT_EQ(lane.gaps[1].cause, gap_cause::launch);
}

TEST(idle_lane, names_library_and_line) {
  const idle_lanes found = ask(idle_lanes_query{{0, 2'000 * lane_us}, 2000});
  ASSERT_EQ(found.lanes.size(), 1U);
  const gap_words& words = found.words.at(found.lanes[0].gaps[0].words);
  EXPECT_EQ(words.library, "cuDNN");
  EXPECT_FALSE(metrics::is_catch_all(words.reason));
  EXPECT_EQ(words.share, 1);
  EXPECT_EQ(words.place, "me/train.py:12 (step)");
  EXPECT_FALSE(words.place_is_next);
}

TEST(idle_lane, keeps_all_idle_time_where_pixels_are_wide) {
  for (const std::uint32_t width : {1U, 7U, 64U, 1000U, 20'000U}) {
    const idle_lanes found = ask(idle_lanes_query{lane_time, width});
    ASSERT_EQ(found.lanes.size(), 1U);
    EXPECT_EQ(sum_idle(found.lanes[0]), 99 * 600 * lane_us) << width;
    EXPECT_LE(found.lanes[0].gaps.size(), width * 3UL) << width;
    for (const drawn_gap& each : found.lanes[0].gaps) {
      if (each.parts == 1) continue;
      EXPECT_EQ(each.cause, gap_cause::host) << "most of the time in every pixel";
    }
  }
}

TEST(idle_lane, shows_a_gap_that_is_longer_than_the_range) {
  const idle_lanes found = ask(idle_lanes_query{{500 * lane_us, 600 * lane_us}, 100});
  ASSERT_EQ(found.lanes.size(), 1U);
  ASSERT_EQ(found.lanes[0].gaps.size(), 1U);
  EXPECT_EQ(found.lanes[0].gaps[0].span, (time_range{500 * lane_us, 600 * lane_us}));
  EXPECT_EQ(found.lanes[0].gaps[0].gap, (time_range{400 * lane_us, 1'000 * lane_us}));
}

TEST(idle_lane, from_sections_is_that_from_an_index_of_everything) {
  for (const time_range range :
       {lane_time, time_range{50'500 * lane_us, 50'600 * lane_us}, time_range{10'000 * lane_us, 30'200 * lane_us}}) {
    const auto [whole, sections] = ask_both_ways(write_lanes, idle_lanes_query{range, 500});
    ASSERT_EQ(sections.lanes.size(), 1U);
    ASSERT_EQ(whole.lanes.size(), 1U);
    ASSERT_EQ(sections.lanes[0].gaps.size(), whole.lanes[0].gaps.size());
    for (std::size_t i = 0; i < whole.lanes[0].gaps.size(); ++i) {
      const drawn_gap& a = whole.lanes[0].gaps[i];
      const drawn_gap& b = sections.lanes[0].gaps[i];
      EXPECT_EQ(b.span, a.span);
      EXPECT_EQ(b.cause, a.cause);
      EXPECT_EQ(b.gap, a.gap);
      EXPECT_EQ(sections.words.at(b.words).library, whole.words.at(a.words).library);
    }
  }
}

TEST(listed_gap, has_what_samples_say_and_both_stacks) {
  const idle_gap_list list = ask(idle_gaps_query{lane_time});
  ASSERT_EQ(list.gaps.size(), 99U);
  for (const listed_gap& each : list.gaps) {
    EXPECT_EQ(each.host.library, "cuDNN");
    EXPECT_EQ(each.host.place, "me/train.py:12 (step)");
  }
  const gap_stacks stacks = ask(gap_stacks_query{0, list.gaps[0].host.stack, list.gaps[0].gap.stack});
  ASSERT_EQ(stacks.host.size(), 2U);
  EXPECT_EQ(stacks.host[0].function, "cudnnBackendFinalize");
  EXPECT_EQ(stacks.host[1].function, "step");
  EXPECT_TRUE(stacks.next.empty()) << "launches were recorded without stacks";
}

/// Two kernels, and a gap between them in which the thread does three things for the same time.
void write_several_things(recording& to) {
  to.standard_tables();
  testing::stack_maker stacks(to);
  const trace::stack_id done[] = {
      stacks({native("cudnnBackendFinalize", "/usr/lib/libcudnn.so.9"), python("step", "/home/me/train.py", 12)}),
      stacks({native("nvrtcCompileProgram", "/usr/lib/libnvrtc.so.13"), python("warm", "/home/me/train.py", 20)}),
      stacks({native("cuMemAlloc_v2", "/usr/lib/libcuda.so.1"), python("grow", "/home/me/train.py", 30)})};
  write_launch(to, 0, 100 * lane_us);
  write_launch(to, 400 * lane_us, 500 * lane_us);
  for (int i = 0; i < 3; ++i) {
    auto sample = to.event<trace::host_sample_event>((100 + i * 90) * lane_us);
    sample.length = 90 * lane_us;
    sample.state = host_state::running;
    sample.stack = done[i];
    to.writer().add(sample);
  }
}

TEST(listed_gap, names_no_cause_that_has_less_than_half_of_the_samples) {
  recording recorded;
  write_several_things(recorded);
  recorded.close();
  const idle_gap_list list = make_result(recorded.path(), idle_gaps_query{lane_time});
  ASSERT_EQ(list.gaps.size(), 1U);
  const gap_words& words = list.gaps[0].host;
  EXPECT_EQ(words.reason, metrics::host_reason::mixed);
  EXPECT_EQ(words.library, "");
  EXPECT_EQ(words.share, 1);
  EXPECT_NE(words.stack, trace::stack_id::none);
}

TEST(listed_gap, from_sections_has_the_samples_of_all_of_the_gap) {
  const auto [whole, sections] = ask_both_ways(write_lanes, idle_gaps_query{lane_time});
  ASSERT_EQ(sections.gaps.size(), whole.gaps.size());
  for (std::size_t i = 0; i < whole.gaps.size(); ++i) EXPECT_EQ(sections.gaps[i].host.stack, whole.gaps[i].host.stack);
}

}  // namespace
}  // namespace sluice::query
