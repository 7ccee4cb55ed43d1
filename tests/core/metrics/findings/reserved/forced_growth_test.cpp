#include "core/metrics/findings/reserved/forced_growth.hpp"
#include "core/metrics/make_report.hpp"

#include <gtest/gtest.h>

#include "tests/core/metrics/reports.hpp"
#include "tests/core/recordings/torch_program.hpp"

namespace sluice::metrics {
namespace {

using testing::gib;
using testing::mib;
using testing::recording;
using testing::torch_program;

/// Allocates two segments of 100 MiB. In the first, 10 MiB stay between holes of 40 and 50 MiB; in the second, 30 MiB
/// between holes of 30 and 40 MiB. Then a request for `asked` bytes gets its own segment.
void ask_among_holes(recording& recorded, std::uint64_t asked) {
  torch_program program(recorded, 10 * gib);
  const auto first = program.segment(100 * mib);
  const auto before = program.block(first, 0, 40 * mib, "pass", 20);
  program.block(first, 40 * mib, 10 * mib, "keep", 10);
  const auto behind = program.block(first, 50 * mib, 50 * mib, "pass", 21);
  const auto second = program.segment(100 * mib);
  const auto other = program.block(second, 0, 30 * mib, "pass", 22);
  program.block(second, 30 * mib, 30 * mib, "history", 12);
  for (const auto each : {before, behind, other}) program.free(each);
  const auto third = program.segment(asked);
  program.use(program.block(third, 0, asked, "forward", 30), 40);
}

waste_metrics find_waste(recording& recorded) {
  recorded.close();
  const testing::indexed loaded(recorded.open());
  return compute_metrics(loaded.index, *loaded.snapshot).waste;
}

TEST(forced_growth, is_a_segment_for_what_would_have_fit_into_all_holes_together) {
  recording recorded;
  ask_among_holes(recorded, 80 * mib);
  const auto forced = find_waste(recorded).forced;
  ASSERT_EQ(forced.size(), 1U);
  EXPECT_EQ(forced[0].count, 1U);
  EXPECT_EQ(forced[0].bytes, 80 * mib);
  EXPECT_EQ(forced[0].reserved_maximum, 280 * mib);
  const forced_growth& most = forced[0].largest;
  EXPECT_EQ(most.asked, 80 * mib);
  EXPECT_EQ(most.free, 160 * mib);
  EXPECT_EQ(most.largest_hole, 50 * mib);
  EXPECT_EQ(most.pins, 1U);
  EXPECT_EQ(most.pinned_bytes, 10 * mib) << "less than the 30 MiB that block the other segment";
}

TEST(forced_growth, is_none_if_a_hole_was_large_enough) {
  recording recorded;
  ask_among_holes(recorded, 45 * mib);
  EXPECT_TRUE(find_waste(recorded).forced.empty()) << "then another stream requests memory";
}

TEST(forced_growth, is_none_if_too_little_was_free) {
  recording recorded;
  ask_among_holes(recorded, 170 * mib);
  EXPECT_TRUE(find_waste(recorded).forced.empty());
}

TEST(forced_growth, may_find_no_segment_large_enough) {
  recording recorded;
  ask_among_holes(recorded, 120 * mib);
  const auto forced = find_waste(recorded).forced;
  ASSERT_EQ(forced.size(), 1U);
  EXPECT_EQ(forced[0].largest.pins, 0U);
}

TEST(forced_growth, is_reported_with_the_lines_that_asked_and_that_lay_between) {
  recording recorded;
  ask_among_holes(recorded, 80 * mib);
  const report whole_report = testing::build_report(recorded);
  const finding* found = testing::find(whole_report, finding_kind::fragmentation);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->text.find("80.0 MiB requested from me/train.py:30 (forward)"), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("160 MiB free, largest hole 50.0 MiB"), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("10.0 MiB from me/train.py:10 (keep)"), std::string::npos) << found->text;
}

}  // namespace
}  // namespace sluice::metrics
