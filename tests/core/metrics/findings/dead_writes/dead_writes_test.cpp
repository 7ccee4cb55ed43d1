#include "core/metrics/findings/dead_writes/dead_writes.hpp"

#include <gtest/gtest.h>

#include "tests/core/metrics/reports.hpp"
#include "tests/core/metrics/wasteful_recording.hpp"

namespace sluice::metrics {
namespace {

using testing::mib;
using testing::us;
using testing::wasteful_recording;

TEST(dead_writes, are_clears_that_an_upload_overwrites) {
  wasteful_recording reported;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    reported.alloc(0, i, i * mib);
    reported.clear(static_cast<time_ns>(i) * 10, i, i * mib);
    reported.upload(static_cast<time_ns>(i) * 10 + 5, i, i * mib);
    reported.launch(static_cast<time_ns>(i) * 10 + 8, {i});
  }
  const auto found = reported.waste().dead_writes;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].first, index::access_kind::clear);
  EXPECT_EQ(found[0].count, 3U);
  EXPECT_EQ(found[0].bytes, 6 * mib);
  EXPECT_EQ(found[0].largest, trace::block_id{3});
  EXPECT_EQ(found[0].longest, (time_range{30 * us, 35 * us + 1}));
}

TEST(dead_writes, may_be_kernels_that_fill) {
  wasteful_recording reported;
  reported.alloc(0, 1, mib);
  reported.launch(10, {1}, "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>");
  reported.upload(20, 1, mib);
  reported.launch(30, {1});
  const auto found = reported.waste().dead_writes;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].first, index::access_kind::clear);
}

TEST(dead_writes, are_uploads_that_another_overwrites) {
  wasteful_recording reported;
  reported.alloc(0, 1, mib);
  reported.upload(10, 1, mib);
  reported.upload(20, 1, mib);
  const auto found = reported.waste().dead_writes;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].first, index::access_kind::upload);
}

/// Clears a block of `bytes`, runs `between`, and then uploads `uploaded` bytes to the block.
template <class Between>
std::size_t groups_with(std::uint64_t bytes, std::uint64_t uploaded, const Between& between) {
  wasteful_recording reported;
  reported.alloc(0, 1, bytes);
  reported.clear(10, 1, bytes);
  between(reported);
  reported.upload(30, 1, uploaded);
  return reported.waste().dead_writes.size();
}

TEST(dead_writes, are_not_those_that_something_may_have_read) {
  const auto nothing = [](wasteful_recording&) {};
  EXPECT_EQ(groups_with(mib, mib, nothing), 1U);
  EXPECT_EQ(groups_with(mib, mib, [](wasteful_recording& reported) { reported.launch(20, {1}); }), 0U)
      << "a kernel in between";
  EXPECT_EQ(groups_with(mib, mib / 2, nothing), 0U) << "half of the block keeps the first content";
  EXPECT_EQ(groups_with(1024, 1024, nothing), 0U) << "too small to be worth a change";
  EXPECT_EQ(groups_with(mib, mib - 512, nothing), 1U) << "the bytes after the data are padding";
}

TEST(dead_writes, save_the_time_of_the_clears_and_not_of_as_many_small_memsets) {
  wasteful_recording reported;
  for (std::uint64_t i = 1; i <= 300; ++i) reported.clear(static_cast<time_ns>(i) * 2, 1000, 4);
  reported.alloc(1000, 1, 64 * mib);
  reported.launch(1010, {1}, "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>");
  reported.upload(1020, 1, 64 * mib);
  reported.launch(1030, {1});
  reported.recorded.close();
  const report whole_report = testing::build_report(reported.recorded);
  const finding* found = testing::find(whole_report, finding_kind::dead_write);
  ASSERT_NE(found, nullptr);
  EXPECT_GT(found->saves.time, 0);
  EXPECT_LT(found->saves.time, 100 * us) << "64 MiB at the rate of 4 bytes a microsecond would be 16 s";
}

}  // namespace
}  // namespace sluice::metrics
