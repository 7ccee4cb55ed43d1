// The time of host threads by call stack, and the part of it in which the GPU was idle.
#include "core/metrics/idle/host_stacks.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/base/cancel.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::metrics {
namespace {

using trace::host_state;

class host_stacks : public ::testing::Test {
 protected:
  void SetUp() override { made_.standard_tables(); }

  void sample(time_ns begin, time_ns length, std::uint64_t stack, host_state state = host_state::running,
              std::uint64_t thread = 1, std::uint64_t process = 1) {
    auto row = made_.event<trace::host_sample_event>(begin);
    row.length = length;
    row.stack = trace::stack_id{stack};
    row.state = state;
    row.thread = trace::thread_id{thread};
    row.process = trace::process_id{process};
    made_.writer().add(row);
  }
  void kernel(time_ns begin, time_ns end, std::uint64_t device = 1, std::uint64_t process = 1) {
    auto row = made_.event<trace::kernel_event>(begin);
    row.end = end;
    row.device = trace::device_id{device};
    row.stream = trace::stream_id{device};
    row.process = trace::process_id{process};
    made_.writer().add(row);
  }
  const index::event_store& store() {
    if (!indexed_) {
      made_.close();
      indexed_ = std::make_unique<testing::indexed>(made_.open());
    }
    return indexed_->index;
  }
  std::map<std::uint64_t, stack_metrics> sum(time_range range, const sample_filter& filter = {}) {
    std::map<std::uint64_t, stack_metrics> by_stack;
    for (const stack_share& share : sampled_stacks(store(), filter, range, never_cancelled).shares)
      by_stack[raw(share.stack)] = share.metrics;
    return by_stack;
  }
  using sums = std::map<std::uint64_t, stack_metrics>;

  testing::recording made_;
  std::unique_ptr<testing::indexed> indexed_;
};

TEST_F(host_stacks, count_the_time_inside_the_range) {
  sample(0, 10, 1);
  sample(10, 10, 2);
  sample(20, 10, 1);
  EXPECT_EQ(sum({0, 100}), (sums{{1, {0, 2, 20, 0}}, {2, {0, 1, 10, 0}}}));
  EXPECT_EQ(sum({5, 22}), (sums{{1, {0, 2, 7, 0}}, {2, {0, 1, 10, 0}}}));
  EXPECT_EQ(sum({40, 50}), sums{});
  EXPECT_FALSE(sampled_stacks(store(), {}, {0, 100}, never_cancelled).kernels_known);
}

TEST_F(host_stacks, count_apart_what_ran_while_the_gpu_was_idle) {
  sample(0, 10, 1);
  sample(10, 10, 2);
  kernel(4, 8);
  kernel(6, 15);
  EXPECT_EQ(sum({0, 100}), (sums{{1, {0, 1, 10, 4}}, {2, {0, 1, 10, 5}}}));
  EXPECT_TRUE(sampled_stacks(store(), {}, {0, 100}, never_cancelled).kernels_known);
}

TEST_F(host_stacks, wait_for_the_devices_of_their_own_process) {
  sample(0, 10, 1);
  sample(0, 10, 2, host_state::running, 2, 2);
  sample(0, 10, 3, host_state::running, 3, 3);
  kernel(0, 5, 1, 1);
  kernel(3, 7, 2, 1);
  kernel(4, 10, 2, 2);
  EXPECT_EQ(sum({0, 100}), (sums{{1, {0, 1, 10, 0}}, {2, {0, 1, 10, 3}}, {3, {0, 1, 10, 0}}}))
      << "the first process uses both devices, the second one, the third none";
  EXPECT_EQ(sum({0, 100}, {.device = trace::device_id{1}}), (sums{{1, {0, 1, 10, 5}}}));
  EXPECT_EQ(sum({0, 100}, {.device = trace::device_id{2}}), (sums{{1, {0, 1, 10, 3}}, {2, {0, 1, 10, 3}}}));
}

TEST_F(host_stacks, are_chosen_by_thread_and_state) {
  sample(0, 10, 1);
  sample(10, 10, 1, host_state::blocked);
  sample(0, 10, 2, host_state::blocked, 2);
  EXPECT_EQ(sum({0, 100}, {.thread = trace::thread_id{1}}), (sums{{1, {0, 2, 20, 0}}}));
  EXPECT_EQ(sum({0, 100}, {.state = host_state::blocked}), (sums{{1, {0, 1, 10, 0}}, {2, {0, 1, 10, 0}}}));
  EXPECT_EQ(sum({0, 100}, {.thread = trace::thread_id{2}, .state = host_state::running}), sums{});
}

TEST_F(host_stacks, of_the_parts_of_a_range_add_up) {
  std::mt19937_64 random(5);
  time_ns now = 0;
  for (int i = 0; i < 300; ++i) {
    const auto length = static_cast<time_ns>(random() % 50);
    sample(now, length, random() % 6);
    now += length + static_cast<time_ns>(random() % 5);
    if (random() % 3 == 0) kernel(now, now + static_cast<time_ns>(random() % 90));
  }
  for (int round = 0; round < 50; ++round) {
    const auto begin = static_cast<time_ns>(random() % 2000);
    const time_range range{begin, begin + static_cast<time_ns>(random() % 5000)};
    stack_use parts;
    for (time_ns from = range.begin; from < range.end;) {
      const time_ns to = std::min(range.end, from + 1 + static_cast<time_ns>(random() % 900));
      parts.join(sampled_stacks(store(), {}, range, never_cancelled, time_range{from, to}));
      from = to;
    }
    sums joined;
    for (const stack_share& share : parts.shares) joined[raw(share.stack)] = share.metrics;
    ASSERT_EQ(joined, sum(range)) << range.begin << " to " << range.end;
  }
}

TEST_F(host_stacks, end_when_they_are_not_wanted) {
  sample(0, 10, 1);
  const std::atomic<bool> cancelled{true};
  EXPECT_TRUE(sampled_stacks(store(), {}, {0, 100}, cancelled).cancelled);
}

}  // namespace
}  // namespace sluice::metrics
