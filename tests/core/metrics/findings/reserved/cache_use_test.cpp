#include "core/metrics/findings/reserved/cache_use.hpp"

#include <gtest/gtest.h>

#include "tests/core/metrics/wasteful_recording.hpp"

namespace sluice::metrics {
namespace {

using testing::mib;
using testing::us;
using testing::wasteful_recording;

/// The cache use of a program that allocates `blocks` framework blocks in a segment of 100 MiB, and frees each before
/// it allocates the next. The first `high` blocks have 80 MiB.
std::vector<cache_use> caches_with(std::uint64_t blocks, std::uint64_t high) {
  wasteful_recording reported;
  reported.alloc(0, 1, 100 * mib);
  reported.alloc(0, 2, 50 * mib);  // This segment contains no framework block.
  for (std::uint64_t i = 0; i < blocks; ++i) {
    auto row = reported.recorded.event<trace::alloc_event>(static_cast<time_ns>(10 + i * 10) * us);
    row.block = trace::block_id{10 + i};
    row.parent = trace::block_id{1};
    row.bytes = (i < high ? 80 : 10) * mib;
    row.layer = trace::layer::framework;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    reported.recorded.writer().add(row);
    reported.recorded.add_free(row.time + 5 * us, 10 + i, trace::layer::framework);
  }
  return reported.waste().caches;
}

TEST(cache_use, of_a_framework_is_judged_by_the_segments_its_blocks_lie_in) {
  const auto caches = caches_with(100, 0);
  ASSERT_EQ(caches.size(), 1U);
  EXPECT_EQ(caches[0].pool, trace::pool_id::none);
  EXPECT_EQ(caches[0].reserved_maximum, 100 * mib);
  EXPECT_EQ(caches[0].parts, 16U);
  EXPECT_EQ(caches[0].low_parts, 16U);
  EXPECT_EQ(caches[0].usual_maximum, 10 * mib);
  EXPECT_EQ(caches[0].usual_reserved, 100 * mib);
}

TEST(cache_use, counts_the_last_parts_in_which_at_most_half_is_needed) {
  EXPECT_EQ(caches_with(160, 80).at(0).low_parts, 8U);
  EXPECT_EQ(caches_with(160, 160).at(0).low_parts, 0U);
}

TEST(cache_use, counts_launches_and_copies_too) {
  wasteful_recording reported;
  reported.alloc(0, 1, 100 * mib);
  auto row = reported.recorded.event<trace::alloc_event>(10 * us);
  row.block = trace::block_id{10};
  row.parent = trace::block_id{1};
  row.bytes = 80 * mib;
  row.layer = trace::layer::framework;
  row.kind = trace::memory_kind::device;
  row.device = trace::device_id{1};
  reported.recorded.writer().add(row);
  reported.work(20, 120, 10);
  reported.recorded.add_free(200 * us, 10, trace::layer::framework);
  reported.work(300, 600, 2);
  const auto caches = reported.waste().caches;
  ASSERT_EQ(caches.size(), 1U);
  EXPECT_EQ(caches[0].parts, 16U);
  EXPECT_EQ(caches[0].low_parts, 11U) << "30 of 42 launches, allocations and frees";
  EXPECT_EQ(caches[0].usual_maximum, 0U);
}

TEST(cache_use, of_a_pool_counts_as_held_from_the_use_that_needed_it_to_the_sample_that_shows_it) {
  wasteful_recording reported;
  const trace::pool_id pool{1};
  trace::pool_row defined;
  defined.id = pool;
  defined.device = trace::device_id{1};
  reported.recorded.writer().add(defined);
  for (std::uint64_t i = 0; i < 40; ++i) {
    auto row = reported.recorded.event<trace::alloc_event>(static_cast<time_ns>(10 + i * 10) * us);
    row.block = trace::block_id{10 + i};
    row.bytes = (i == 4 ? 900 : 16) * mib;
    row.layer = trace::layer::pool;
    row.pool = pool;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    reported.recorded.writer().add(row);
    reported.recorded.add_free(row.time + 5 * us, 10 + i, trace::layer::pool);
  }
  auto sample = reported.recorded.event<trace::pool_event>(1000 * us);
  sample.pool = pool;
  sample.reserved = 928 * mib;
  reported.recorded.writer().add(sample);
  const auto caches = reported.waste().caches;
  ASSERT_EQ(caches.size(), 1U);
  EXPECT_EQ(caches[0].pool, pool);
  EXPECT_EQ(caches[0].reserved_maximum, 928 * mib);
  EXPECT_EQ(caches[0].parts, 16U);
  EXPECT_EQ(caches[0].low_parts, 14U) << "since the fifth of 40 blocks";
  EXPECT_EQ(caches[0].usual_maximum, 16 * mib);
}

TEST(cache_use, of_few_allocations_is_not_judged) { EXPECT_EQ(caches_with(10, 0).at(0).parts, 0U); }

}  // namespace
}  // namespace sluice::metrics
