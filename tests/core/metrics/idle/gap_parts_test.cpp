#include "core/metrics/idle/gap_parts.hpp"

#include <gtest/gtest.h>

#include "tests/core/metrics/idle/idle_program.hpp"

namespace sluice::metrics {
namespace {

using testing::get_idle;
using testing::idle_program;

TEST(gap_parts, from_the_launch_call_on_are_the_launch) {
  idle_program program;
  program.launch(0, 5, 100);
  program.launch(292, 300, 400);
  const auto builder = program.build();
  EXPECT_EQ(get_idle(builder, gap_cause::host), 192);
  EXPECT_EQ(get_idle(builder, gap_cause::launch), 8);
}

TEST(gap_parts, of_work_that_was_enqueued_before_are_queued) {
  idle_program program;
  program.launch(0, 5, 100);
  program.launch(100, 300, 400);
  program.launch(20, 450, 460);
  const auto builder = program.build();
  EXPECT_EQ(get_idle(builder, gap_cause::queued), 250);
  EXPECT_EQ(get_idle(builder, gap_cause::host), 0);
}

TEST(gap_parts, of_short_host_code_between_launches_are_the_launch) {
  idle_program program;
  program.launch(0, 5, 100);
  program.launch(119, 125, 200);
  program.launch(221, 230, 300);
  const auto builder = program.build();
  EXPECT_EQ(get_idle(builder, gap_cause::launch), 25 + 9) << "19 us of host code count as launch, 21 us do not";
  EXPECT_EQ(get_idle(builder, gap_cause::host), 21);
}

TEST(gap_parts, of_a_launch_call_that_takes_long_are_that_call) {
  idle_program program;
  program.launch(0, 5, 100);
  program.launch(200, 5210, 5300, 5000);
  const auto builder = program.build();
  EXPECT_EQ(get_idle(builder, gap_cause::host), 100 + 5000);
  EXPECT_EQ(get_idle(builder, gap_cause::launch), 10);
  const auto gaps = builder.gaps();
  ASSERT_GE(gaps.size(), 2U);
  EXPECT_EQ(gaps[0].total, 5000 * idle_program::us);
  EXPECT_NE(gaps[0].call, trace::string_id::none) << "cuLaunchKernel";
}

TEST(gap_parts, of_a_blocking_copy_that_stages_pageable_memory_are_the_copy) {
  idle_program program;
  program.launch(0, 5, 100);
  program.call(50, 250, "cuMemcpyHtoD_v2");
  program.kernel_of(50, 200, 240);
  EXPECT_EQ(get_idle(program.build(), gap_cause::blocking_copy), 100);
}

TEST(gap_parts, of_a_launch_call_that_a_full_queue_blocked_cost_nothing) {
  idle_program program;
  program.launch(0, 5, 100);
  program.launch(10, 102, 200, 90);
  const auto builder = program.build();
  EXPECT_EQ(get_idle(builder, gap_cause::queued), 2);
  EXPECT_EQ(builder.devices().at(0).idle(), 2 * idle_program::us);
}

TEST(gap_parts, of_a_wait_on_an_idle_device_are_host_code_unless_it_takes_long) {
  idle_program program;
  program.launch(0, 5, 100);
  program.call(150, 155, "cuStreamSynchronize");
  program.launch(300, 305, 400);
  program.call(450, 550, "cuStreamSynchronize");
  program.launch(600, 605, 700);
  const auto builder = program.build();
  EXPECT_EQ(get_idle(builder, gap_cause::wait), 100);
  EXPECT_EQ(get_idle(builder, gap_cause::host), 200 + 100);
}

TEST(gap_parts, of_calls_in_the_gap_are_each_as_long_as_the_call) {
  idle_program program;
  program.launch(0, 5, 100);
  program.call(120, 150, "cuMemAlloc_v2");
  program.call(200, 240, "cuModuleLoadData");
  program.launch(300, 305, 400);
  const auto builder = program.build();
  EXPECT_EQ(get_idle(builder, gap_cause::allocation), 30);
  EXPECT_EQ(get_idle(builder, gap_cause::loading), 40);
  EXPECT_EQ(get_idle(builder, gap_cause::host), 130);
  EXPECT_EQ(get_idle(builder, gap_cause::launch), 5);
}

TEST(gap_parts, of_nested_and_overlapping_calls_count_once) {
  idle_program program;
  program.launch(0, 5, 100);
  program.call(120, 220, "cuModuleLoadData");
  program.call(130, 140, "cuMemAlloc_v2");
  program.call(200, 250, "cuMemFree_v2");
  program.launch(300, 305, 400);
  const auto builder = program.build();
  EXPECT_EQ(get_idle(builder, gap_cause::loading), 100);
  EXPECT_EQ(get_idle(builder, gap_cause::allocation), 0);
  EXPECT_EQ(get_idle(builder, gap_cause::release), 30);
}

TEST(gap_parts, of_files_count_on_the_thread_that_launches) {
  idle_program program;
  const auto read = [&](std::uint64_t thread, time_ns begin, time_ns end) {
    auto row = program.recorded.event<trace::file_io_event>(begin * idle_program::us);
    row.end = end * idle_program::us;
    row.thread = trace::thread_id{thread};
    program.recorded.writer().add(row);
  };
  program.launch(0, 5, 100);
  read(2, 10, 590);
  read(1, 150, 250);
  program.launch(300, 305, 400);
  program.launch(500, 505, 600);
  const auto builder = program.build();
  EXPECT_EQ(get_idle(builder, gap_cause::file), 100) << "another thread reads all the time";
  EXPECT_EQ(get_idle(builder, gap_cause::host), 100 + 100);
}

TEST(gap_parts, of_an_allocation_that_runs_across_a_cut_are_the_same) {
  idle_program program;
  program.launch(0, 5, 100);
  auto row = program.recorded.event<trace::alloc_event>(300 * idle_program::us);
  row.block = trace::block_id{1};
  row.bytes = 100;
  row.kind = trace::memory_kind::device;
  row.device = trace::device_id{1};
  row.layer = trace::layer::driver;
  row.name = program.recorded.text("cuMemAlloc_v2");
  row.call_begin = 120 * idle_program::us;
  program.recorded.writer().add(row);
  program.call(150, 160, "cuMemFree_v2", 2);
  program.launch(400, 405, 500);
  for (const std::vector<time_ns>& cuts : {std::vector<time_ns>{}, {200}, {155, 300}}) {
    const auto builder = program.build(cuts);
    EXPECT_EQ(get_idle(builder, gap_cause::allocation), 180) << "what began first counts";
    EXPECT_EQ(get_idle(builder, gap_cause::host), 20 + 100);
  }
}

}  // namespace
}  // namespace sluice::metrics
