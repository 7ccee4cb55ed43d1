#include "core/metrics/findings/growth/growth.hpp"

#include <gtest/gtest.h>

#include "tests/core/metrics/wasteful_recording.hpp"

namespace sluice::metrics {
namespace {

using testing::mib;
using testing::us;
using testing::wasteful_recording;

/// A program that works for 2 ms. From `begin` us on, one line allocates `count` blocks, one every `apart` us. If
/// `lives` is not 0, the program frees each block after that many us.
struct growing_program {
  std::uint64_t count = 16;
  time_ns begin = 100;
  time_ns apart = 115;
  time_ns lives = 0;

  [[nodiscard]] std::vector<growing_group> growing() const {
    wasteful_recording reported;
    const trace::stack_id stack = reported.stack({testing::python("keep", "/home/me/train.py", 9)});
    reported.kernel(0, 10);
    for (std::uint64_t i = 0; i < count; ++i) {
      const time_ns time = begin + static_cast<time_ns>(i) * apart;
      reported.alloc(time, i + 1, mib, stack);
      if (lives != 0) reported.free(time + lives, i + 1);
    }
    reported.kernel(1990, 2000);
    return reported.waste().growing;
  }
};

TEST(growth, is_a_stack_whose_blocks_keep_coming_and_stay) {
  const auto found = growing_program{}.growing();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].blocks, 16U);
  EXPECT_EQ(found[0].bytes, 16 * mib);
  EXPECT_EQ(found[0].first, 100 * us);
  EXPECT_EQ(found[0].last, (100 + 15 * 115) * us);
  EXPECT_EQ(found[0].newest, trace::block_id{16});
  EXPECT_NE(found[0].stack, trace::stack_id::none);
}

TEST(growth, needs_eight_blocks) {
  EXPECT_EQ((growing_program{.count = 8, .apart = 240}.growing().size()), 1U);
  EXPECT_TRUE((growing_program{.count = 7, .apart = 270}.growing().empty()));
}

TEST(growth, is_not_what_is_set_up_at_once) { EXPECT_TRUE((growing_program{.apart = 10}.growing().empty())); }

TEST(growth, counts_by_the_kernels_launched) {
  for (const bool loads_first : {true, false}) {
    wasteful_recording reported;
    const trace::stack_id stack = reported.stack({testing::python("load", "/home/me/train.py", 9)});
    reported.alloc(1, 100, mib);
    for (std::uint64_t i = 0; i < 16; ++i) {
      const auto time = static_cast<time_ns>(100 + i * 115);
      reported.alloc(time, i + 1, mib, stack);
      if (!loads_first) reported.launch(time + 1, {100});
    }
    reported.work(1990, 2000, 100);
    EXPECT_EQ(reported.waste().growing.size(), loads_first ? 0U : 1U);
  }
}

TEST(growth, needs_half_of_the_active_time) {
  EXPECT_EQ((growing_program{.begin = 900, .apart = 65}.growing().size()), 1U);
  EXPECT_TRUE((growing_program{.begin = 1100, .apart = 55}.growing().empty()));
}

TEST(growth, is_not_what_is_freed_while_the_program_works) {
  EXPECT_TRUE((growing_program{.lives = 100}.growing().empty()));
}

TEST(growth, may_have_been_freed_at_the_very_end) {
  wasteful_recording reported;
  reported.kernel(0, 10);
  for (std::uint64_t i = 0; i < 16; ++i) reported.alloc(static_cast<time_ns>(100 + i * 115), i + 1, mib);
  reported.kernel(1980, 1990);
  for (std::uint64_t i = 0; i < 16; ++i) reported.free(1991, i + 1);
  EXPECT_EQ(reported.waste().growing.size(), 1U);
}

TEST(growth, is_not_what_is_freed_at_the_end_where_the_program_still_holds_what_it_did_before) {
  for (const bool frees_the_model : {true, false}) {
    wasteful_recording reported;
    reported.alloc(1, 100, 64 * mib, reported.stack({testing::python("model", "/home/me/train.py", 3)}));
    reported.kernel(2, 10);
    for (std::uint64_t i = 0; i < 16; ++i) reported.alloc(static_cast<time_ns>(100 + i * 115), i + 1, mib);
    reported.kernel(1980, 1990);
    for (std::uint64_t i = 0; i < 16; ++i) reported.free(1991, i + 1);
    if (frees_the_model) reported.free(1992, 100);
    EXPECT_EQ(reported.waste().growing.size(), frees_the_model ? 1U : 0U);
  }
}

}  // namespace
}  // namespace sluice::metrics
