#include "core/metrics/idle/idle_gaps.hpp"

#include <gtest/gtest.h>

#include "tests/core/metrics/wasteful_recording.hpp"

namespace sluice::metrics {
namespace {

using testing::us;
using testing::wasteful_recording;

/// The gaps of a program with eight kernels of 100 us that start every 150 us. In each gap there is a call that starts
/// `before` us before the gap and ends `after` us after the gap's start.
std::vector<gap_group> gaps_with(std::string_view call, time_ns before, time_ns after) {
  wasteful_recording reported;
  for (time_ns i = 0; i < 8; ++i) {
    reported.kernel(i * 150, i * 150 + 100);
    reported.call(i * 150 + 100 - before, i * 150 + 100 + after, call);
  }
  return reported.waste().gaps;
}

time_ns get_total(const std::vector<gap_group>& gaps, gap_cause cause) {
  time_ns total = 0;
  for (const gap_group& each : gaps) total += each.cause == cause ? each.total : 0;
  return total;
}

TEST(idle_gaps, have_a_cause_by_the_name_of_the_call) {
  EXPECT_EQ(cause_of_call("cuStreamSynchronize"), gap_cause::wait);
  EXPECT_EQ(cause_of_call("cuMemcpyHtoD_v2"), gap_cause::blocking_copy);
  EXPECT_EQ(cause_of_call("cuMemcpyHtoDAsync_v2"), gap_cause::host);
  EXPECT_EQ(cause_of_call("cuMemAlloc_v2"), gap_cause::allocation);
  EXPECT_EQ(cause_of_call("cuMemAllocAsync"), gap_cause::host);
  EXPECT_EQ(cause_of_call("cuMemFree_v2"), gap_cause::release);
  EXPECT_EQ(cause_of_call("cuMemFreeAsync"), gap_cause::host);
  EXPECT_EQ(cause_of_call("cuModuleLoadData"), gap_cause::loading);
  EXPECT_EQ(cause_of_call("cuLaunchKernel"), gap_cause::host);
}

TEST(idle_gaps, are_caused_by_the_wait_during_which_the_device_becomes_idle) {
  const auto gaps = gaps_with("cuStreamSynchronize", 50, 5);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].cause, gap_cause::wait);
  EXPECT_EQ(gaps[0].count, 7U);
  EXPECT_EQ(gaps[0].total, 7 * 50 * us) << "includes the host's work after the wait";
  EXPECT_EQ(gaps[0].longest, 50 * us);
}

TEST(idle_gaps, are_caused_by_a_copy_that_blocks) {
  const auto blocking = gaps_with("cuMemcpyHtoD_v2", 10, 5);
  EXPECT_EQ(get_total(blocking, gap_cause::blocking_copy), 7 * 15 * us);
  EXPECT_EQ(get_total(blocking, gap_cause::host), 7 * 35 * us);
  const auto long_call = gaps_with("cuMemcpyHtoDAsync_v2", 60, 5);
  ASSERT_EQ(long_call.size(), 1U) << "an asynchronous copy that takes so long waits";
  EXPECT_EQ(long_call[0].cause, gap_cause::blocking_copy);
  EXPECT_EQ(get_total(gaps_with("cuMemcpyHtoDAsync_v2", 3, 2), gap_cause::blocking_copy), 0);
}

TEST(idle_gaps, are_not_caused_by_calls_of_processes_that_do_not_use_the_device) {
  wasteful_recording reported;
  for (time_ns i = 0; i < 8; ++i) {
    reported.kernel(i * 150, i * 150 + 100);
    reported.call(i * 150 + 80, i * 150 + 105, "cuStreamSynchronize");
    auto other = reported.recorded.event<trace::api_call_event>((i * 150 + 90) * us);
    other.end = other.time + 60 * us;
    other.process = trace::process_id{2};
    other.thread = trace::thread_id{2};
    other.name = reported.recorded.text("cuMemAlloc_v2");
    reported.recorded.writer().add(other);
  }
  const auto gaps = reported.waste().gaps;
  EXPECT_EQ(get_total(gaps, gap_cause::wait), 7 * 25 * us);
  EXPECT_EQ(get_total(gaps, gap_cause::allocation), 0) << "the allocations are another rank's";
}

TEST(idle_gaps, cost_a_wait_as_much_as_it_blocked_the_host_and_the_rest_is_the_hosts) {
  wasteful_recording reported;
  for (time_ns i = 0; i < 8; ++i) {
    reported.kernel(i * 3000, i * 3000 + 100);
    reported.call(i * 3000 + 50, i * 3000 + 105, "cuStreamSynchronize");
  }
  const auto gaps = reported.waste().gaps;
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_EQ(gaps[0].cause, gap_cause::host);
  EXPECT_EQ(gaps[0].total, 7 * (2900 - 55) * us);
  EXPECT_EQ(gaps[1].cause, gap_cause::wait);
  EXPECT_EQ(gaps[1].total, 7 * 55 * us) << "the host could have begun that much earlier";
}

TEST(idle_gaps, are_reported_of_each_of_very_many_devices) {
  constexpr std::uint64_t devices = 100;
  static_assert(devices > idle_gaps_builder::limit);
  wasteful_recording reported;
  for (std::uint64_t device = 1; device <= devices; ++device)
    for (const time_ns begin : {0, 3'000}) {
      auto row = reported.recorded.event<trace::kernel_event>(begin * us);
      row.end = row.time + 100 * us;
      row.device = trace::device_id{device};
      row.stream = trace::stream_id{device};
      reported.recorded.writer().add(row);
    }
  EXPECT_EQ(reported.waste().gaps.size(), devices);
}

TEST(idle_gaps, without_a_call_count_at_any_length) {
  wasteful_recording reported;
  reported.kernel(0, 100);
  reported.kernel(1000, 1100);  // After a gap of 900 us.
  reported.kernel(2100, 2200);  // After a gap of 1 ms.
  const auto gaps = reported.waste().gaps;
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].count, 2U);
  EXPECT_EQ(gaps[0].total, 1900 * us);
  EXPECT_EQ(gaps[0].longest_gap, (time_range{1100 * us, 2100 * us}));
}

TEST(idle_gaps, need_kernel_times) {
  wasteful_recording reported;
  reported.recorded.add_copy(0, 100 * us, 1000);
  reported.recorded.add_copy(5000 * us, 5100 * us, 1000);
  EXPECT_TRUE(reported.waste().gaps.empty());
}

TEST(idle_gaps, recur_without_the_three_longest) {
  wasteful_recording reported;
  time_ns now = 0;
  for (const time_ns gap : {9000, 2000, 3000, 8000, 4000, 7000}) {
    reported.kernel(now, now + 100);
    now += 100 + gap;
  }
  reported.kernel(now, now + 100);
  const auto gaps = reported.waste().gaps;
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].count, 6U);
  EXPECT_EQ(gaps[0].total, 33'000 * us);
  EXPECT_EQ(gaps[0].recurring, 9'000 * us);
  EXPECT_EQ(gaps[0].longest, 9'000 * us);
}

/// A program with 64 kernels of 100 us; after each of the first `idle` kernels, the device is idle for 2 ms.
std::uint64_t get_spread(int idle) {
  wasteful_recording reported;
  time_ns now = 0;
  for (int i = 0; i < 64; ++i) {
    reported.kernel(now, now + 100);
    now += i < idle ? 2100 : 100;
  }
  return reported.waste().gaps.at(0).spread;
}

TEST(idle_gaps, are_spread_by_the_work_that_is_done_between_them) {
  EXPECT_EQ(get_spread(64), 8U);
  EXPECT_EQ(get_spread(32), 5U) << "half of the work, though nearly all of the time";
  EXPECT_EQ(get_spread(4), 1U);
}

TEST(driver_calls, are_those_that_block_by_the_stack_that_allocates) {
  wasteful_recording reported;
  reported.kernel(0, 10);
  const trace::stack_id stack = reported.stack({testing::python("step", "/home/me/train.py", 9)});
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto time = static_cast<time_ns>(i) * 1000 * us;
    auto row = reported.recorded.event<trace::alloc_event>(time);
    row.block = trace::block_id{i};
    row.bytes = 100;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    row.name = reported.recorded.text("cuMemAlloc_v2");
    row.stack = stack;
    row.call_begin = time - 50 * us;
    reported.recorded.writer().add(row);
    auto freed = reported.recorded.event<trace::free_event>(time + 100 * us);
    freed.block = row.block;
    freed.completed = freed.time + 20 * us;
    reported.recorded.writer().add(freed);
  }
  const auto calls = reported.waste().driver_calls;
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_FALSE(calls[0].frees);
  EXPECT_EQ(calls[0].total, 150 * us);
  EXPECT_TRUE(calls[1].frees);
  EXPECT_EQ(calls[1].total, 60 * us);
  for (const driver_call_group& each : calls) {
    EXPECT_EQ(each.stack, stack);
    EXPECT_EQ(each.count, 3U);
    EXPECT_EQ(each.kind, trace::memory_kind::device);
  }
}

/// A range in each gap between eight kernels of 100 us that start every 3 ms: from `from` us to `to` us after the start
/// of the preceding kernel.
struct placed_range {
  std::string_view name;
  time_ns from = 0;
  time_ns to = 0;
};
std::vector<gap_group> gaps_in(std::initializer_list<placed_range> ranges) {
  wasteful_recording reported;
  for (time_ns i = 0; i < 8; ++i) {
    reported.kernel(i * 3000, i * 3000 + 100);
    for (const placed_range& each : ranges)
      reported.recorded.add_range((i * 3000 + each.from) * us, (i * 3000 + each.to) * us, each.name);
  }
  return reported.waste().gaps;
}

TEST(idle_gaps, are_caused_by_what_a_range_says_as_far_as_it_covers_them) {
  const std::initializer_list<std::pair<std::string_view, gap_cause>> causes{
      {"garbage collection", gap_cause::garbage},
      {"torch.compile", gap_cause::compilation},
      {"next batch of the DataLoader", gap_cause::data},
      {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", gap_cause::data}};
  for (const auto& [name, cause] : causes) {
    const auto gaps = gaps_in({{name, 200, 2900}});
    ASSERT_EQ(gaps.size(), 2U) << name;
    EXPECT_EQ(gaps[0].cause, cause) << name;
    EXPECT_EQ(gaps[0].count, 7U);
    EXPECT_EQ(gaps[0].total, 7 * 2700 * us);
    EXPECT_EQ(gaps[1].cause, gap_cause::host);
    EXPECT_EQ(gaps[1].total, 7 * 200 * us) << "before and after the range";
  }
}

TEST(idle_gaps, have_the_closest_cause_of_ranges_that_nest) {
  const auto gaps = gaps_in({{"next batch of the DataLoader", 150, 2900}, {"garbage collection", 200, 2800}});
  EXPECT_EQ(get_total(gaps, gap_cause::garbage), 7 * 2600 * us);
  EXPECT_EQ(get_total(gaps, gap_cause::data), 7 * 150 * us);
  EXPECT_EQ(get_total(gaps, gap_cause::host), 7 * 150 * us);
}

TEST(idle_gaps, are_the_programs_own_code_where_no_such_range_covers_them) {
  const auto gaps = gaps_in({{"garbage collection", 200, 1000}});
  EXPECT_EQ(get_total(gaps, gap_cause::garbage), 7 * 800 * us);
  EXPECT_EQ(get_total(gaps, gap_cause::host), 7 * 2100 * us);
}

/// Eight kernels of 100 us that start every 3 ms; in the gaps, each thread that launched them waits in a range with its
/// name, or does not wait (""). If `one_more_has_ended`, another thread launched two seconds before.
std::vector<gap_group> gaps_of_threads(const std::vector<std::string_view>& waits, bool one_more_has_ended = false) {
  wasteful_recording reported;
  const auto call = [&](std::uint64_t thread, time_ns at) {
    auto row = reported.recorded.event<trace::api_call_event>(at * us);
    row.end = row.time + 5 * us;
    row.name = reported.recorded.text("cuLaunchKernel");
    row.thread = trace::thread_id{thread};
    reported.recorded.writer().add(row);
  };
  for (time_ns i = 0; i < 8; ++i) {
    const time_ns step = 2'000'000 + i * 3000;
    reported.kernel(step, step + 100);
    if (one_more_has_ended && i == 0) call(9, 10);
    for (std::size_t thread = 0; thread < waits.size(); ++thread) {
      call(thread + 1, step + 20);
      if (waits[thread].empty() || i == 7) continue;
      auto row = reported.recorded.event<trace::host_range_event>((step + 200) * us);
      row.end = (step + 2900) * us;
      row.name = reported.recorded.text(waits[thread]);
      row.thread = trace::thread_id{thread + 1};
      reported.recorded.writer().add(row);
    }
  }
  return reported.waste().gaps;
}

TEST(idle_gaps, are_caused_by_a_lock_if_all_threads_that_launch_wait) {
  const auto cause_if = [](const std::vector<std::string_view>& waits, bool one_more_has_ended = false) {
    const auto gaps = gaps_of_threads(waits, one_more_has_ended);
    return gaps.empty() ? gap_cause::wait : gaps[0].cause;
  };
  EXPECT_EQ(cause_if({"waiting for a lock"}), gap_cause::lock);
  EXPECT_EQ(cause_if({"waiting for another thread"}), gap_cause::lock);
  EXPECT_EQ(cause_if({"waiting for Python's GIL"}), gap_cause::gil);
  EXPECT_EQ(cause_if({"waiting for Python's GIL", "waiting for another thread"}), gap_cause::lock);
  EXPECT_EQ(cause_if({"", "waiting for another thread"}), gap_cause::host) << "the thread of a backward pass";
  EXPECT_EQ(cause_if({"waiting for a lock"}, true), gap_cause::lock) << "a thread that has ended does nothing";
}

TEST(idle_gaps, name_the_programs_innermost_range_around_the_longest) {
  wasteful_recording reported;
  for (time_ns i = 0; i < 8; ++i) reported.kernel(i * 3000, i * 3000 + 100);
  reported.recorded.add_range(0, 24'000 * us, "epoch");
  reported.recorded.add_range(200 * us, 2900 * us, "parse");
  reported.recorded.add_range(300 * us, 400 * us, "open");
  const auto text = reported.recorded.text("parse");
  const auto gaps = reported.waste().gaps;
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].range, text) << "neither the whole epoch nor short ranges";
}

}  // namespace
}  // namespace sluice::metrics
