#include "core/metrics/statistics/allocation_retries.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/metrics/reports.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::metrics {
namespace {

using testing::find;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::layer;
using trace::memory_kind;

class allocation_retries_test : public ::testing::Test {
 protected:
  allocation_retries_test() { made_.standard_tables(); }

  void fail(time_ns time, std::uint64_t bytes, layer subject = layer::driver, trace::stack_id stack = {},
            std::uint64_t thread = 1, memory_kind kind = memory_kind::device) {
    auto row = made_.event<trace::alloc_failed_event>(time);
    row.thread = trace::thread_id{thread};
    row.bytes = bytes;
    row.error = 2;
    row.layer = subject;
    row.kind = kind;
    row.device = trace::device_id{1};
    row.stack = stack;
    row.name = made_.text(subject == layer::driver ? "cuMemAlloc" : "PyTorch");
    made_.writer().add(row);
  }
  void succeed(time_ns time, std::uint64_t bytes, layer subject = layer::driver, trace::stack_id stack = {},
               std::uint64_t thread = 1, memory_kind kind = memory_kind::device) {
    auto row = made_.event<trace::alloc_event>(time);
    row.thread = trace::thread_id{thread};
    row.block = trace::block_id{++blocks_};
    row.bytes = bytes;
    row.layer = subject;
    row.kind = kind;
    row.device = trace::device_id{1};
    row.address = blocks_ << 32;
    row.stack = stack;
    made_.writer().add(row);
  }
  report reported() { return testing::build_report(made_); }

  recording made_;
  testing::stack_maker stack_{made_};
  std::uint64_t blocks_ = 0;
};

TEST_F(allocation_retries_test, what_succeeds_when_asked_for_again_is_no_failure) {
  succeed(1 * ms, 100 * mib);
  fail(10 * ms, 20 * mib);
  made_.add_free(12 * ms, 1);
  succeed(15 * ms, 20 * mib);
  const report whole_report = reported();
  EXPECT_EQ(whole_report.retries.count, 1U);
  EXPECT_EQ(whole_report.retries.total, 5 * ms);
  ASSERT_EQ(whole_report.retries.first.size(), 1U);
  EXPECT_EQ(whole_report.retries.first[0].time, 10 * ms);
  EXPECT_EQ(whole_report.retries.first[0].until, 15 * ms);
  EXPECT_EQ(whole_report.retries.first[0].block, trace::block_id{2});
  EXPECT_EQ(whole_report.whole.failed_allocations, 0U);
  EXPECT_TRUE(whole_report.failures.empty());
  EXPECT_EQ(find(whole_report, finding_kind::failed_allocations), nullptr);
  const finding* found = find(whole_report, finding_kind::retried_allocations);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->text,
            "1 allocation failed and succeeded on a retry, after memory was freed: 5.00 ms lost. The first requested "
            "20.0 MiB at 10.000 ms with cuMemAlloc.");
}

TEST_F(allocation_retries_test, what_the_program_ends_with_is_a_failure) {
  fail(10 * ms, 20 * mib);
  const report whole_report = reported();
  EXPECT_EQ(whole_report.retries.count, 0U);
  EXPECT_EQ(whole_report.whole.failed_allocations, 1U);
}

TEST_F(allocation_retries_test, several_attempts_lead_to_one_success) {
  fail(10 * ms, 20 * mib);
  fail(20 * ms, 20 * mib);
  succeed(30 * ms, 20 * mib);
  const report whole_report = reported();
  EXPECT_EQ(whole_report.retries.count, 2U);
  EXPECT_EQ(whole_report.retries.total, 20 * ms) << "once, from the first";
  EXPECT_EQ(whole_report.whole.failed_allocations, 0U);
}

TEST_F(allocation_retries_test, a_smaller_block_means_that_the_program_knew) {
  fail(10 * ms, 20 * mib);
  succeed(11 * ms, 10 * mib);
  succeed(12 * ms, 20 * mib);
  EXPECT_EQ(reported().whole.failed_allocations, 1U);
}

TEST_F(allocation_retries_test, another_thread_or_kind_of_memory_says_nothing) {
  fail(10 * ms, 20 * mib);
  succeed(11 * ms, 20 * mib, layer::driver, {}, 2);
  succeed(12 * ms, 20 * mib, layer::driver, {}, 1, memory_kind::pinned);
  EXPECT_EQ(reported().whole.failed_allocations, 1U);
}

TEST_F(allocation_retries_test, pinned_host_memory_is_retried_too) {
  fail(10 * ms, 20 * mib, layer::driver, {}, 1, memory_kind::pinned);
  succeed(12 * ms, 20 * mib, layer::driver, {}, 1, memory_kind::pinned);
  EXPECT_EQ(reported().retries.count, 1U);
}

// PyTorch asks the driver, empties its cache, asks again, and then calls its profiler's hook.
TEST_F(allocation_retries_test, a_failure_that_the_framework_reports_counts_once) {
  fail(10 * ms, 20 * mib);
  fail(11 * ms, 20 * mib);
  fail(12 * ms, 19 * mib, layer::framework);
  succeed(50 * ms, 20 * mib);  // The program continued.
  const report whole_report = reported();
  EXPECT_EQ(whole_report.retries.count, 0U);
  EXPECT_EQ(whole_report.retries.reported_again, 2U);
  EXPECT_EQ(whole_report.whole.failed_allocations, 1U);
  ASSERT_EQ(whole_report.failures.size(), 1U);
  EXPECT_EQ(whole_report.failures[0].layer, layer::framework);
}

TEST_F(allocation_retries_test, another_line_of_the_program_is_no_retry) {
  const auto one = stack_({testing::python("load", "train.py", 5), testing::python("main", "train.py", 50)});
  const auto other = stack_({testing::python("load", "train.py", 9), testing::python("main", "train.py", 50)});
  fail(10 * ms, 20 * mib, layer::driver, one);
  succeed(30 * ms, 20 * mib, layer::driver, other);
  EXPECT_EQ(reported().whole.failed_allocations, 1U);
}

// An allocator may ask again from a different line of its own code.
TEST_F(allocation_retries_test, only_python_frames_are_compared) {
  const auto line = testing::python("load", "train.py", 5);
  fail(10 * ms, 20 * mib, layer::driver, stack_({testing::native("malloc+1", "libc10_cuda.so"), line}));
  succeed(30 * ms, 20 * mib, layer::driver, stack_({testing::native("malloc+2", "libc10_cuda.so"), line}));
  EXPECT_EQ(reported().retries.count, 1U);
}

TEST_F(allocation_retries_test, of_a_range_are_those_that_failed_in_it) {
  fail(10 * ms, 20 * mib);
  succeed(15 * ms, 20 * mib);
  fail(30 * ms, 20 * mib);
  succeed(36 * ms, 20 * mib);
  const report whole_report = testing::build_report(made_, time_range{20 * ms, 40 * ms});
  EXPECT_EQ(whole_report.retries.count, 1U);
  EXPECT_EQ(whole_report.retries.total, 6 * ms);
}

TEST_F(allocation_retries_test, the_first_are_listed_and_all_counted) {
  for (int i = 0; i < 100; ++i) {
    fail((10 + 2 * i) * ms, 20 * mib);
    succeed((11 + 2 * i) * ms, 20 * mib);
  }
  fail(1000 * ms, 20 * mib);
  const report whole_report = reported();
  EXPECT_EQ(whole_report.retries.count, 100U);
  EXPECT_EQ(whole_report.retries.total, 100 * ms);
  EXPECT_EQ(whole_report.retries.first.size(), allocation_retries::limit);
  ASSERT_EQ(whole_report.failures.size(), 1U) << "not hidden by the retries";
  EXPECT_EQ(whole_report.failures[0].time, 1000 * ms);
}

}  // namespace
}  // namespace sluice::metrics
