#include "core/metrics/findings/held_twice/held_twice.hpp"

#include <gtest/gtest.h>

#include "tests/core/metrics/reports.hpp"
#include "tests/core/metrics/wasteful_recording.hpp"

namespace sluice::metrics {
namespace {

using testing::mib;
using testing::us;
using testing::wasteful_recording;

struct copying {
  std::uint64_t copy_bytes = 16 * mib;
  time_ns original_freed = 0;  ///< 0 if the original is never freed.
  bool third_block = false;    ///< The kernel that makes the copy also uses a third block.
};

/// A program uses block 1 of 32 MiB; at 100 us a kernel copies block 1 to block 2, and both are used until 1000 us.
void make_copy(wasteful_recording& reported, const copying& options = {}) {
  const trace::stack_id load = reported.stack({testing::python("load", "/home/me/train.py", 3)});
  const trace::stack_id half = reported.stack({testing::python("half", "/home/me/train.py", 9)});
  reported.alloc(0, 1, 32 * mib, load);
  reported.alloc(1, 3, mib, load);
  reported.launch(5, {1});
  reported.alloc(99, 2, options.copy_bytes, half);
  reported.launch(100, {1, 2}, "copy_kernel");
  if (options.third_block) reported.launch(100, {3}, "copy_kernel");
  reported.work(110, options.original_freed > 0 ? options.original_freed : 1000, 1);
  reported.work(110, 1000, 2);
  if (options.original_freed > 0) reported.free(options.original_freed, 1);
}

std::vector<held_twice> twice_with(const copying& options) {
  wasteful_recording reported;
  make_copy(reported, options);
  return reported.waste().twice;
}

TEST(held_twice, are_a_block_and_its_copy_of_half_the_size) {
  const auto found = twice_with({});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].blocks, 1U);
  EXPECT_EQ(found[0].bytes, 32 * mib);
  EXPECT_EQ(found[0].copy_bytes, 16 * mib);
  EXPECT_EQ(found[0].largest, trace::block_id{2});
  EXPECT_EQ(found[0].peak_bytes, 49 * mib);
}

TEST(held_twice, are_a_block_and_its_copy_of_twice_the_size) {
  EXPECT_EQ(twice_with({.copy_bytes = 64 * mib}).size(), 1U) << "master weights of half-precision ones";
}

TEST(held_twice, have_sizes_that_types_have) {
  EXPECT_TRUE(twice_with({.copy_bytes = 32 * mib}).empty());
  EXPECT_TRUE(twice_with({.copy_bytes = 11 * mib}).empty());
  EXPECT_TRUE(twice_with({.copy_bytes = 8 * mib}).empty()) << "without categories, this may be a smaller image";
}

TEST(held_twice, stay_both) { EXPECT_TRUE(twice_with({.original_freed = 300}).empty()); }

TEST(held_twice, are_not_results_of_more_than_one_block) { EXPECT_TRUE(twice_with({.third_block = true}).empty()); }

TEST(held_in_two_types, names_both_lines_and_is_a_note) {
  wasteful_recording reported;
  make_copy(reported);
  const report whole_report = testing::build_report(reported.recorded);
  const finding* found = testing::find(whole_report, finding_kind::held_in_two_types);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, trace::severity::info);
  EXPECT_EQ(found->saves.peak_bytes, 16 * mib);
  EXPECT_NE(found->text.find("me/train.py:3 (load)"), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("half the size (16.0 MiB from me/train.py:9 (half))"), std::string::npos) << found->text;
}

}  // namespace
}  // namespace sluice::metrics
