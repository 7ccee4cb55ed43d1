// Native frames are small numbers here, evaluations of Python 500 and more, frames of Python letters.
#include "instrumentation/capture/stacks/merge_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace sluice::capture {
namespace {

using testing::ElementsAre;

/// `python`: innermost first; a capital letter begins an evaluation.
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

TEST(MergeFrames, ARunOfPythonStandsWhereItsEvaluationDoes) {
  EXPECT_THAT(merged({1, 2, 500, 3, 4}, "abC"), ElementsAre(1, 2, 'a', 'b', 'C', 3, 4));
}

TEST(MergeFrames, EachEvaluationHasItsOwnRun) {
  EXPECT_THAT(merged({1, 500, 2, 501, 3}, "aBcdE"), ElementsAre(1, 'a', 'B', 2, 'c', 'd', 'E', 3));
}

TEST(MergeFrames, OneFrameAnEvaluationBefore311) {
  EXPECT_THAT(merged({1, 500, 2, 500, 2, 500, 3}, "ABC"), ElementsAre(1, 'A', 2, 'B', 2, 'C', 3));
}

TEST(MergeFrames, WithoutOneOfTheTwoTheOtherIsWhole) {
  EXPECT_THAT(merged({}, "abC"), ElementsAre('a', 'b', 'C'));
  EXPECT_THAT(merged({1, 2, 3}, ""), ElementsAre(1, 2, 3));
  EXPECT_THAT(merged({}, ""), ElementsAre());
}

TEST(MergeFrames, PythonGoesOnBeyondNativeFramesThatWereCutShort) {
  EXPECT_THAT(merged({1, 500}, "aBcD"), ElementsAre(1, 'a', 'B', 'c', 'D'));
}

TEST(MergeFrames, AnEvaluationWithoutFramesStays) {
  EXPECT_THAT(merged({1, 500, 2, 501, 3}, "aB"), ElementsAre(1, 'a', 'B', 2, 501, 3));
}

TEST(MergeFrames, WhatDoesNotFitIsLeftOut) {
  EXPECT_THAT(merged({1, 2, 500, 3}, "abC", 4), ElementsAre(1, 2, 'a', 'b'));
  EXPECT_THAT(merged({1, 2, 500, 3}, "abC", 1), ElementsAre(1));
  EXPECT_THAT(merged({}, "abC", 2), ElementsAre('a', 'b'));
}

TEST(MergeFrames, ARunThatNeverEndsTakesAllThatIsLeft) {
  EXPECT_THAT(merged({1, 500, 2, 501}, "abc"), ElementsAre(1, 'a', 'b', 'c', 2, 501));
}

}  // namespace
}  // namespace sluice::capture
