// What the recorder's own threads and those of CUPTI do on the host is no part of the recording.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;

class recorder_threads : public testing::Test {
 protected:
  static run_options make_options(bool with_thread_of_cupti) {
    run_options options;
    options.program = "waiting_program";
    options.preload = true;
    if (with_thread_of_cupti) options.variables = {{"SLUICE_FAKE_CUPTI_THREAD", "1"}};
    return options;
  }

  /// Checks that only the program's threads are in the recording, and that each of them has its waits.
  static void expect_threads_of_the_program_only(const recording& run) {
    ASSERT_EQ(run.status, 0);
    ASSERT_TRUE(run.says("recorded with CUPTI version"));
    std::set<thread_id> program;
    for (const alloc_event& each : run.allocs) program.insert(each.thread);
    const auto of_a_thread = [](const alloc_event& each) { return each.bytes == 100; };
    const auto others = std::count_if(run.allocs.begin(), run.allocs.end(), of_a_thread);
    EXPECT_GT(others, 1) << "the program started too few threads";
    EXPECT_EQ(program.size(), static_cast<std::size_t>(others) + 1);
    EXPECT_FALSE(program.contains(thread_id::none));
    std::set<thread_id> known;
    for (const thread_row& each : run.tables().threads.rows()) known.insert(each.id);
    EXPECT_EQ(known, program);
    std::map<thread_id, time_ns> waited;
    for (const host_range_event& each : run.ranges) {
      EXPECT_TRUE(program.contains(each.thread)) << run.tables().text(each.name);
      waited[each.thread] += each.end - each.time;
    }
    for (const thread_id each : program) EXPECT_GE(waited[each], 19'000'000) << "thread " << static_cast<int>(each);
    for (const api_call_event& each : run.calls) EXPECT_TRUE(program.contains(each.thread));
    for (const sync_event& each : run.syncs) EXPECT_TRUE(program.contains(each.thread));
  }

  /// Checks that what those threads report about the device is kept.
  static void expect_device_activity(const recording& run) {
    EXPECT_EQ(run.memsets.size(), 20U);
    for (const memset_event& each : run.memsets) {
      EXPECT_NE(each.call, event_id::none);
      EXPECT_NE(each.thread, thread_id::none) << "the thread that made the call";
    }
    EXPECT_FALSE(run.device_memory.empty());
    EXPECT_FALSE(run.watermarks.empty());
    EXPECT_EQ(run.summary.lost_events, 0U);
  }
};

TEST_F(recorder_threads, of_cupti_are_told_from_threads_that_the_program_starts_meanwhile) {
  const recording run = record(make_options(true));
  expect_threads_of_the_program_only(run);
  expect_device_activity(run);
}

TEST_F(recorder_threads, of_the_capture_library_are_left_out) {
  const recording run = record(make_options(false));
  expect_threads_of_the_program_only(run);
  expect_device_activity(run);
}

}  // namespace
}  // namespace sluice::test
