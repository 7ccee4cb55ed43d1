#include "core/metrics/statistics/range_statistics.hpp"

#include <gtest/gtest.h>

#include "tests/core/recordings/recording.hpp"

namespace sluice::metrics {
namespace {

using testing::indexed;
using testing::ms;
using testing::recording;
using trace::direction;
using trace::memory_kind;

constexpr std::uint64_t gb = 1'000'000'000;

class metrics_of_a_range : public ::testing::Test {
 protected:
  range_statistics over(time_ns begin, time_ns end) {
    if (!file_) {
      made_.close();
      file_ = made_.open();
      all_.emplace(file_);
    }
    return measure(all_->index, all_->snapshot->tables(), {begin, end});
  }
  recording made_;
  std::shared_ptr<trace::file> file_;
  std::optional<indexed> all_;
};

TEST_F(metrics_of_a_range, give_bandwidth_by_direction_and_by_host_side) {
  made_.standard_tables();
  made_.add_copy(0, 100 * ms, 1 * gb, direction::h2d, memory_kind::host);              // 10 GB/s
  const trace::event_id fast = made_.add_copy(200 * ms, 300 * ms, 5 * gb);             // 50 GB/s
  made_.add_copy(250 * ms, 350 * ms, 1 * gb, direction::h2d, memory_kind::pinned, 2);  // 10 GB/s, at that time
  made_.add_copy(300 * ms, 400 * ms, 2 * gb, direction::d2h, memory_kind::pinned);
  const range_statistics statistics = over(0, 1000 * ms);
  ASSERT_EQ(statistics.transfers.size(), 2U);
  const transfer_statistics& up = statistics.transfers[0];
  EXPECT_EQ(up.direction, direction::h2d);
  EXPECT_EQ(up.count, 3U);
  EXPECT_DOUBLE_EQ(up.bytes, 7.0 * gb);
  EXPECT_EQ(up.busy, 250 * ms);
  EXPECT_EQ(up.total, 300 * ms);
  EXPECT_DOUBLE_EQ(up.mean_bandwidth, 28.0 * gb);
  EXPECT_DOUBLE_EQ(up.maximum_bandwidth, 60.0 * gb) << "two at once add up";
  EXPECT_DOUBLE_EQ(up.fastest_bandwidth, 50.0 * gb);
  EXPECT_EQ(up.fastest, fast);
  EXPECT_DOUBLE_EQ(up.link_peak, 64.0 * gb);
  EXPECT_EQ(up.attainable, 0);
  ASSERT_EQ(up.parts.size(), 2U);
  EXPECT_EQ(up.parts[0].host_side, memory_kind::pinned);
  EXPECT_DOUBLE_EQ(up.parts[0].bytes, 6.0 * gb);
  EXPECT_EQ(up.parts[0].busy, 150 * ms);
  EXPECT_EQ(up.parts[1].host_side, memory_kind::host);
  EXPECT_DOUBLE_EQ(up.parts[1].mean_bandwidth, 10.0 * gb);
}

TEST_F(metrics_of_a_range, take_the_share_of_a_transfer_that_lies_inside) {
  made_.standard_tables();
  made_.add_copy(0, 100 * ms, 1 * gb);
  const range_statistics statistics = over(50 * ms, 75 * ms);
  ASSERT_EQ(statistics.transfers.size(), 1U);
  EXPECT_DOUBLE_EQ(statistics.transfers[0].bytes, 0.25 * gb);
  EXPECT_EQ(statistics.transfers[0].busy, 25 * ms);
  EXPECT_DOUBLE_EQ(statistics.transfers[0].mean_bandwidth, 10.0 * gb);
  EXPECT_DOUBLE_EQ(statistics.transfers[0].fastest_bandwidth, 10.0 * gb) << "over the whole transfer";
}

TEST_F(metrics_of_a_range, stay_at_the_limit_where_lengths_add_up_to_more) {
  made_.standard_tables();
  for (int i = 0; i < 3; ++i) {
    made_.add_copy(INT64_MIN + 1, INT64_MAX - 1, 1000);
    made_.add_kernel(INT64_MIN + 1, INT64_MAX - 1, "endless");
  }
  const range_statistics statistics = over(INT64_MIN, INT64_MAX);
  ASSERT_EQ(statistics.transfers.size(), 1U);
  EXPECT_EQ(statistics.transfers[0].total, INT64_MAX);
  ASSERT_EQ(statistics.devices.size(), 1U);
  EXPECT_EQ(statistics.devices[0].kernel_total, INT64_MAX);
  EXPECT_GE(statistics.devices[0].overlap, 0);
  ASSERT_EQ(statistics.kernels.size(), 1U);
  EXPECT_EQ(statistics.kernels[0].total, INT64_MAX);
}

TEST_F(metrics_of_a_range, are_of_the_time_from_the_first_to_the_last_device_work_or_allocation) {
  made_.standard_tables();
  made_.add_alloc(20, 1, 1000);
  made_.add_kernel(50, 60, "a");
  made_.add_copy(90, 130, 1000);
  made_.add_free(150, 1);
  EXPECT_EQ(over(0, 200).active, (time_range{20, 130})) << "a free at exit is not work";
  EXPECT_EQ(over(30, 100).active, (time_range{50, 100})) << "clipped to the range";
  EXPECT_EQ(over(140, 200).active, (time_range{140, 200})) << "the whole range if there is no work";
  EXPECT_EQ(active_span(all_->index, {0, 200}), (time_range{20, 130}));
  EXPECT_EQ(active_span(all_->index, {0, 100}), (time_range{20, 100}));
}

TEST_F(metrics_of_a_range, say_how_long_the_device_waited_for_copies) {
  made_.standard_tables();
  made_.add_copy(0, 40, 1000);
  made_.add_kernel(20, 60, "a");
  made_.add_kernel(30, 70, "b", 2);
  made_.add_copy(100, 110, 1000, direction::h2h);  // On the host only.
  const range_statistics statistics = over(0, 200);
  ASSERT_EQ(statistics.devices.size(), 1U);
  const device_activity& device = statistics.devices[0];
  EXPECT_EQ(device.kernels, 2U);
  EXPECT_EQ(device.kernel_total, 80);
  EXPECT_EQ(device.kernel_busy, 50);
  EXPECT_EQ(device.copy_busy, 40);
  EXPECT_EQ(device.overlap, 20);
  EXPECT_EQ(device.copy_only, 20);
  EXPECT_EQ(device.busy, 70);
}

TEST_F(metrics_of_a_range, list_kernels_by_their_total_time) {
  made_.standard_tables();
  made_.add_kernel(0, 10, "small");
  made_.add_kernel(20, 30, "small");
  const trace::event_id longest = made_.add_kernel(40, 70, "large");
  made_.add_kernel(80, 85, "large");
  const range_statistics statistics = over(0, 100);
  ASSERT_EQ(statistics.kernels.size(), 2U);
  EXPECT_EQ(all_->snapshot->tables().text(statistics.kernels[0].name), "large");
  EXPECT_EQ(statistics.kernels[0].count, 2U);
  EXPECT_EQ(statistics.kernels[0].total, 35);
  EXPECT_EQ(statistics.kernels[0].longest, 30);
  EXPECT_EQ(statistics.kernels[0].longest_event, longest);
  EXPECT_EQ(statistics.kernels[1].total, 20);
  const range_statistics part = over(25, 45);
  EXPECT_EQ(part.kernels[0].total, 5);
  EXPECT_EQ(part.kernels[1].total, 5);
}

TEST_F(metrics_of_a_range, keep_at_most_twenty_names_and_count_them_all) {
  made_.standard_tables();
  for (int i = 0; i < 50; ++i) made_.add_kernel(i * 100, i * 100 + i + 1, "kernel " + std::to_string(i));
  const range_statistics statistics = over(0, 10'000);
  EXPECT_EQ(statistics.kernels.size(), range_statistics::named_limit);
  EXPECT_EQ(statistics.kernel_names, 50U);
  EXPECT_EQ(statistics.kernels[0].total, 50);
}

TEST_F(metrics_of_a_range, tell_calls_from_waits) {
  made_.standard_tables();
  made_.add_call(0, 100, "cuLaunchKernel");
  made_.add_call(200, 500, "cuStreamSynchronize");
  auto sync = made_.event<trace::sync_event>(210);
  sync.end = 600;
  made_.writer().add(sync);
  auto map = made_.event<trace::file_io_event>(650);
  map.operation = trace::file_operation::map;
  map.end = 650;
  map.bytes = 1 << 30;  // named, not moved
  made_.writer().add(map);
  auto read = made_.event<trace::file_io_event>(700);
  read.operation = trace::file_operation::read;
  read.end = 800;
  read.bytes = 4096;
  made_.writer().add(read);
  const range_statistics statistics = over(0, 1000);
  ASSERT_EQ(statistics.threads.size(), 1U);
  EXPECT_EQ(statistics.threads[0].calls, 2U);
  EXPECT_EQ(statistics.threads[0].call_busy, 400);
  EXPECT_EQ(statistics.threads[0].wait_busy, 400) << "the union of the call and the wait it makes";
  EXPECT_EQ(statistics.threads[0].file_operations, 1U);
  EXPECT_DOUBLE_EQ(statistics.threads[0].file_bytes, 4096);
  EXPECT_EQ(statistics.threads[0].file_busy, 100);
}

TEST_F(metrics_of_a_range, let_what_has_not_ended_last_until_the_range_does) {
  made_.standard_tables();
  made_.add_kernel(10, trace::unknown_time);
  made_.add_copy(20, trace::unknown_time, 500);
  const range_statistics statistics = over(0, 100);
  EXPECT_EQ(statistics.devices[0].kernel_busy, 90);
  EXPECT_EQ(statistics.devices[0].copy_busy, 80);
  EXPECT_DOUBLE_EQ(statistics.transfers[0].bytes, 500);
  EXPECT_EQ(statistics.transfers[0].fastest_bandwidth, 0) << "its bandwidth is not known";
}

TEST_F(metrics_of_a_range, are_none_for_an_empty_range) {
  made_.standard_tables();
  made_.add_kernel(10, 20);
  EXPECT_TRUE(over(15, 15).devices.empty());
  EXPECT_TRUE(over(20, 10).devices.empty());
  EXPECT_TRUE(over(INT64_MIN, INT64_MIN).devices.empty());
  EXPECT_EQ(over(INT64_MIN, INT64_MAX).devices.size(), 1U);
}

TEST_F(metrics_of_a_range, count_failures_and_losses) {
  made_.standard_tables();
  auto failed = made_.event<trace::alloc_failed_event>(50);
  failed.bytes = 1000;
  made_.writer().add(failed);
  auto loss = made_.event<trace::loss_event>(60);
  loss.end = 80;
  loss.events = 7;
  loss.memory_events = 2;
  made_.writer().add(loss);
  EXPECT_EQ(over(0, 100).failed_allocations, 1U);
  EXPECT_EQ(over(0, 50).failed_allocations, 0U);
  EXPECT_EQ(over(70, 75).lost_events, 7U);
  EXPECT_EQ(over(70, 75).lost_memory_events, 2U);
  EXPECT_EQ(over(0, 60).lost_events, 0U);
}

}  // namespace
}  // namespace sluice::metrics
