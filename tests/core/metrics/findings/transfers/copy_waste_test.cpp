#include "core/metrics/findings/transfers/copy_waste.hpp"

#include <gtest/gtest.h>

#include "tests/core/metrics/wasteful_recording.hpp"

namespace sluice::metrics {
namespace {

using testing::mib;
using testing::us;
using testing::wasteful_recording;
using trace::direction;
using trace::memory_kind;

TEST(copy_waste, is_by_direction_and_kind_of_host_memory) {
  wasteful_recording reported;
  reported.recorded.add_copy(0, 10 * us, mib, direction::h2d, memory_kind::pinned);
  reported.recorded.add_copy(20 * us, 50 * us, 2 * mib, direction::h2d, memory_kind::host);
  reported.recorded.add_copy(60 * us, 90 * us, 3 * mib, direction::h2d, memory_kind::host);
  reported.recorded.add_copy(100 * us, 105 * us, mib, direction::d2h, memory_kind::pinned);
  const auto copies = reported.waste().copies;
  ASSERT_EQ(copies.size(), 3U);
  EXPECT_EQ(copies[0].host_side, memory_kind::host) << "the longest comes first";
  EXPECT_EQ(copies[0].count, 2U);
  EXPECT_EQ(copies[0].bytes, 5 * mib);
  EXPECT_EQ(copies[0].busy, 60 * us);
  EXPECT_EQ(copies[0].first, 20 * us);
  EXPECT_EQ(copies[0].last, 60 * us);
  EXPECT_EQ(copies[0].largest_bytes, 3 * mib);
  EXPECT_EQ(copies[1].direction, direction::h2d);
  EXPECT_EQ(copies[2].direction, direction::d2h);
}

TEST(copy_waste, counts_the_time_without_kernels_as_alone) {
  wasteful_recording reported;
  reported.recorded.add_copy(0, 100 * us, mib, direction::h2d, memory_kind::pinned, 2);
  reported.kernel(60, 200);
  const auto copies = reported.waste().copies;
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].alone, 60 * us);
  EXPECT_EQ(copies[0].on_kernels_stream, 0U);
}

TEST(copy_waste, tells_copies_on_the_stream_of_the_kernels) {
  wasteful_recording reported;
  reported.kernel(0, 10);
  reported.recorded.add_copy(20 * us, 30 * us, mib);
  reported.recorded.add_copy(40 * us, 50 * us, mib, direction::h2d, memory_kind::pinned, 2);
  EXPECT_EQ(reported.waste().copies.at(0).on_kernels_stream, 1U);
}

TEST(copy_waste, is_spread_by_the_kernels_that_run_between_the_copies) {
  for (const bool at_first : {true, false}) {
    wasteful_recording reported;
    for (time_ns i = 0; i < 16; ++i) {
      reported.recorded.add_copy((at_first ? i * 10 : i * 200) * us, (at_first ? i * 10 + 5 : i * 200 + 5) * us, mib);
      reported.kernel(i * 200 + 180, i * 200 + 190);
    }
    EXPECT_EQ(reported.waste().copies.at(0).spread, at_first ? 1U : 8U);
  }
}

TEST(copy_waste, tells_how_long_copies_were_queued) {
  wasteful_recording reported;
  reported.upload(10, 1, mib);
  auto late = reported.recorded.event<trace::transfer_event>(50 * us);
  late.end = 60 * us;
  late.enqueued = 20 * us;
  late.bytes = mib;
  late.direction = direction::h2d;
  late.source_kind = memory_kind::pinned;
  late.destination_kind = memory_kind::device;
  late.device = trace::device_id{1};
  reported.recorded.writer().add(late);
  EXPECT_EQ(reported.waste().copies.at(0).queued, 30 * us);
}

TEST(copy_waste, of_small_copies_is_the_time_of_each_run_of_them) {
  wasteful_recording reported;
  for (const time_ns begin : {0, 50, 100, 1000, 1050}) reported.recorded.add_copy(begin * us, (begin + 2) * us, 4096);
  reported.recorded.add_copy(2000 * us, 2010 * us, copy_group::small_copy);
  const auto copies = reported.waste().copies;
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].count, 6U);
  EXPECT_EQ(copies[0].small, 5U);
  EXPECT_EQ(copies[0].small_bytes, 5U * 4096);
  EXPECT_EQ(copies[0].small_spread, (102 + 52) * us) << "a pause of 898 us ends a run";
}

}  // namespace
}  // namespace sluice::metrics
