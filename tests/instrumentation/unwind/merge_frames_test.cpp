// In these tests, small numbers are native frames, numbers from 500 are Python evaluations, and letters are Python
// frames.
#include "instrumentation/unwind/merge_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace sluice::unwind {
namespace {

using testing::ElementsAre;

/// `python`: innermost first; a capital letter starts an evaluation.
std::vector<std::uint64_t> merged(const std::vector<std::uint64_t>& native, const std::string& python,
                                  std::size_t max = 256) {
  std::vector<std::uint64_t> frames;
  std::array<std::uint64_t, 4> entries{};
  for (std::size_t i = 0; i < python.size(); ++i) {
    frames.push_back(static_cast<std::uint64_t>(python[i]));
    if (python[i] < 'a') entries[i / 64] |= std::uint64_t{1} << i % 64;
  }
  std::vector<std::uint64_t> out(max);
  out.resize(merge_frames(native.data(), native.size(), {frames.data(), frames.size(), entries.data()}, out.data(), max,
                          [](std::uint64_t pc) { return pc >= 500; }));
  return out;
}

TEST(merge_frames, a_run_of_python_stands_where_its_evaluation_does) {
  EXPECT_THAT(merged({1, 2, 500, 3, 4}, "abC"), ElementsAre(1, 2, 'a', 'b', 'C', 3, 4));
}

TEST(merge_frames, each_evaluation_has_its_own_run) {
  EXPECT_THAT(merged({1, 500, 2, 501, 3}, "aBcdE"), ElementsAre(1, 'a', 'B', 2, 'c', 'd', 'E', 3));
}

TEST(merge_frames, one_frame_an_evaluation_before311) {
  EXPECT_THAT(merged({1, 500, 2, 500, 2, 500, 3}, "ABC"), ElementsAre(1, 'A', 2, 'B', 2, 'C', 3));
}

TEST(merge_frames, without_one_of_the_two_the_other_is_whole) {
  EXPECT_THAT(merged({}, "abC"), ElementsAre('a', 'b', 'C'));
  EXPECT_THAT(merged({1, 2, 3}, ""), ElementsAre(1, 2, 3));
  EXPECT_THAT(merged({}, ""), ElementsAre());
}

TEST(merge_frames, python_goes_on_beyond_native_frames_that_were_cut_short) {
  EXPECT_THAT(merged({1, 500}, "aBcD"), ElementsAre(1, 'a', 'B', 'c', 'D'));
}

TEST(merge_frames, an_evaluation_without_frames_stays) {
  EXPECT_THAT(merged({1, 500, 2, 501, 3}, "aB"), ElementsAre(1, 'a', 'B', 2, 501, 3));
}

TEST(merge_frames, what_does_not_fit_is_left_out) {
  EXPECT_THAT(merged({1, 2, 500, 3}, "abC", 4), ElementsAre(1, 2, 'a', 'b'));
  EXPECT_THAT(merged({1, 2, 500, 3}, "abC", 1), ElementsAre(1));
  EXPECT_THAT(merged({}, "abC", 2), ElementsAre('a', 'b'));
}

TEST(merge_frames, a_run_that_never_ends_takes_all_that_is_left) {
  EXPECT_THAT(merged({1, 500, 2, 501}, "abc"), ElementsAre(1, 'a', 'b', 'c', 2, 501));
}

}  // namespace
}  // namespace sluice::unwind
