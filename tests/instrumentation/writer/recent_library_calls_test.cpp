// recent_library_calls finds the innermost call of a thread at a time, and bounds what it keeps.
#include "instrumentation/writer/sampling/recent_library_calls.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::writer {
namespace {

TEST(recent_library_calls, a_call_lasts_from_its_begin_to_its_end) {
  recent_library_calls calls;
  calls.add(1, 100, 7);
  EXPECT_EQ(calls.find(1, 99), 0U);
  EXPECT_EQ(calls.find(1, 100), 7U);
  EXPECT_EQ(calls.find(1, 5'000), 7U) << "it has not ended";
  EXPECT_EQ(calls.find(2, 100), 0U) << "another thread";
  calls.add(1, 200, 0);
  EXPECT_EQ(calls.find(1, 199), 7U);
  EXPECT_EQ(calls.find(1, 200), 0U);
}

TEST(recent_library_calls, the_innermost_call_counts) {
  recent_library_calls calls;
  calls.add(1, 100, 7);
  calls.add(1, 150, 8);
  calls.add(1, 160, 0);
  calls.add(1, 200, 0);
  EXPECT_EQ(calls.find(1, 149), 7U);
  EXPECT_EQ(calls.find(1, 150), 8U);
  EXPECT_EQ(calls.find(1, 160), 7U);
  EXPECT_EQ(calls.find(1, 200), 0U);
}

TEST(recent_library_calls, old_calls_are_forgotten_and_open_ones_are_not) {
  recent_library_calls calls;
  calls.add(1, 0, 7);
  calls.add(1, 10, 8);
  calls.add(1, 20, 0);
  calls.add(1, recent_library_calls::max_age + 21, 9);
  EXPECT_EQ(calls.find(1, 15), 7U);
}

TEST(recent_library_calls, a_hostile_process_can_fill_no_memory) {
  recent_library_calls calls;
  for (std::uint64_t i = 0; i < 10 * recent_library_calls::max_calls; ++i)
    calls.add(1, static_cast<trace::time_ns>(i), i + 1);
  EXPECT_EQ(calls.find(1, 5), 0U) << "the oldest calls gave way";
  for (std::uint64_t tid = 2; tid < 10 * recent_library_calls::max_threads; ++tid) calls.add(tid, 0, 5);
  EXPECT_EQ(calls.find(2, 0), 5U);
  EXPECT_EQ(calls.find(9 * recent_library_calls::max_threads, 0), 0U);
  calls.add(1, std::numeric_limits<trace::time_ns>::min(), 0);
  calls.add(1, std::numeric_limits<trace::time_ns>::max(), 3);
  calls.add(1, std::numeric_limits<trace::time_ns>::max(), 0);
  EXPECT_EQ(calls.find(1, std::numeric_limits<trace::time_ns>::max()), 0U);
}

}  // namespace
}  // namespace sluice::writer
