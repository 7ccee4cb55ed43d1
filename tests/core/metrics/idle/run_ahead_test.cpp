#include "core/metrics/idle/run_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/core/metrics/wasteful_recording.hpp"

namespace sluice::metrics {
namespace {

using testing::us;

/// Steps that start every `period` us: a call launches a kernel, which starts after 5 us and runs for `kernel`
/// us; from 2 us on, the host waits for the end of the kernel.
struct loop {
  std::vector<queued_work> works;
  std::vector<time_range> waits;
  loop(int steps, time_ns period, time_ns kernel) {
    for (time_ns at = 0; at < steps * period * us; at += period * us) {
      works.push_back({at, at + 5 * us, at + (5 + kernel) * us, 1});
      waits.push_back({at + 2 * us, at + (5 + kernel) * us});
    }
  }
};

TEST(run_ahead, fills_the_gaps_of_a_device_that_has_more_work_than_the_host) {
  const loop output(10, 125, 100);
  EXPECT_EQ(gain_of_running_ahead(output.works, output.waits), 9 * 25 * us) << "kernels follow one another";
}

TEST(run_ahead, gains_no_more_than_the_waits_if_the_host_has_more_work) {
  const loop output(10, 115, 10);
  EXPECT_EQ(gain_of_running_ahead(output.works, output.waits), 9 * 13 * us);
}

TEST(run_ahead, gains_nothing_from_a_wait_at_the_end) {
  const std::vector<queued_work> works{{0, 5 * us, 100 * us, 1}, {10 * us, 100 * us, 200 * us, 1}};
  EXPECT_EQ(gain_of_running_ahead(works, {{20 * us, 200 * us}}), 0);
  EXPECT_EQ(gain_of_running_ahead(works, {}), 0);
  EXPECT_EQ(gain_of_running_ahead({}, {{0, 10}}), 0);
}

TEST(run_ahead, counts_waits_of_two_threads_at_once_as_one) {
  const loop output(10, 125, 100);
  std::vector<time_range> twice = output.waits;
  twice.insert(twice.end(), output.waits.begin(), output.waits.end());
  EXPECT_EQ(gain_of_running_ahead(output.works, twice), 9 * 25 * us);
}

TEST(run_ahead, keeps_a_work_behind_the_work_of_another_stream_that_it_waited_for) {
  // The kernel on stream 2 was launched at 10 us, and started when the copy on stream 1 ended.
  const std::vector<queued_work> works{
      {0, 5 * us, 105 * us, 1}, {10 * us, 106 * us, 206 * us, 2}, {300 * us, 305 * us, 310 * us, 2}};
  // The host waited before the last work. Without that wait, the last work starts right after the kernel, whose time
  // must not change.
  EXPECT_EQ(gain_of_running_ahead(works, {{12 * us, 299 * us}}), 99 * us);
}

TEST(run_ahead, keeps_a_copy_behind_the_kernel_that_uses_the_memory) {
  // A kernel on stream 1; the host waits, and then copies the next kernel's input on stream 2.
  const std::vector<queued_work> works{{0, 5 * us, 105 * us, 1, 1},
                                       {110 * us, 115 * us, 165 * us, 2, 2},
                                       {170 * us, 175 * us, 275 * us, 1, 1},
                                       {280 * us, 285 * us, 335 * us, 2, 2},
                                       {340 * us, 345 * us, 445 * us, 1, 1}};
  const std::vector<time_range> waits{
      {2 * us, 109 * us}, {112 * us, 169 * us}, {172 * us, 279 * us}, {282 * us, 339 * us}};
  const std::vector<work_order> one_buffer{
      {0, 110 * us}, {110 * us, 170 * us}, {170 * us, 280 * us}, {280 * us, 340 * us}};
  const std::vector<work_order> two_buffers{{110 * us, 170 * us}, {280 * us, 340 * us}};
  EXPECT_EQ(gain_of_running_ahead(works, waits, one_buffer), 4 * 10 * us) << "only the launch latency";
  EXPECT_GT(gain_of_running_ahead(works, waits, two_buffers), 80 * us) << "each copy runs beside a kernel";
}

TEST(run_ahead, moves_nothing_if_the_calls_took_no_time) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): a fixed seed.
  for (int round = 0; round < 200; ++round) {
    std::vector<queued_work> works;
    std::vector<time_range> blocked;
    time_ns now = 0;
    std::vector<time_ns> until(3);
    for (int i = 0; i < 50; ++i) {
      now += static_cast<time_ns>(random() % 30'000);
      const auto stream = static_cast<std::uint32_t>(random() % 3);
      time_ns begin = std::max(now + 1'000 + static_cast<time_ns>(random() % 5'000), until[stream]);
      if (random() % 4 == 0) begin = std::max(begin, until[random() % 3]);
      until[stream] = begin + static_cast<time_ns>(random() % 50'000);
      works.push_back({now, begin, until[stream], stream});
      blocked.push_back({now, now});
    }
    EXPECT_EQ(gain_of_running_ahead(works, blocked), 0);
  }
}

TEST(run_ahead, never_gains_more_than_the_host_stood_still) {
  std::mt19937 random(2);  // NOLINT(cert-msc51-cpp): a fixed seed.
  for (int round = 0; round < 200; ++round) {
    std::vector<queued_work> works;
    std::vector<time_range> blocked;
    time_ns now = 0, stood = 0, free = 0;
    for (int i = 0; i < 50; ++i) {
      now += static_cast<time_ns>(random() % 30'000);
      const time_ns begin = std::max(now + 3'000, free);
      free = begin + static_cast<time_ns>(random() % 50'000);
      works.push_back({now, begin, free, 1});
      if (random() % 3 != 0) continue;
      blocked.push_back({now + 1'000, free});
      stood += free - now - 1'000;
      now = free;
    }
    const time_ns gain = gain_of_running_ahead(works, blocked);
    EXPECT_GE(gain, 0);
    EXPECT_LE(gain, stood);
  }
}

TEST(run_ahead, does_not_depend_on_the_order_in_which_works_arrive) {
  std::mt19937 random(7);
  const auto within = [&](time_ns most) { return static_cast<time_ns>(random() % static_cast<std::uint64_t>(most)); };
  for (int round = 0; round < 200; ++round) {
    std::vector<queued_work> works;
    std::vector<time_range> waits;
    // Few different times, so that many are equal, like those of a graph's work.
    for (int i = 0; i < 40; ++i) {
      const time_ns called = within(10) * 50 * us, begin = called + within(3) * 10 * us;
      works.push_back({called, begin, begin + (1 + within(5)) * 20 * us, static_cast<std::uint32_t>(within(4)),
                       static_cast<std::uint8_t>(within(3))});
    }
    for (int i = 0; i < 8; ++i) waits.push_back({within(400) * us, within(400) * us + 500 * us});
    const time_ns gain = gain_of_running_ahead(works, waits);
    std::shuffle(works.begin(), works.end(), random);
    std::shuffle(waits.begin(), waits.end(), random);
    ASSERT_EQ(gain_of_running_ahead(works, waits), gain) << "round " << round;
  }
}

}  // namespace
}  // namespace sluice::metrics
