#include "core/summary/sections/section_list.hpp"

#include <gtest/gtest.h>

#include "tests/core/recordings/recording.hpp"

/// The sections that a file stores.
namespace sluice::summary {
namespace {

using testing::recording;
using sections = std::vector<trace::section_row>;

std::shared_ptr<const section_list> stored(const std::vector<sections>& chunks) {
  recording recorded;
  recorded.add_alloc(5, 1, 10);
  for (const sections& each : chunks) recorded.writer().add_summary<trace::section_row>(each);
  recorded.close();
  return section_list::of(recorded.open()->latest());
}

TEST(section_list, has_the_sections_of_all_chunks) {
  const auto list = stored({{{0, 512, 7}, {512, 1024, 8}}, {{1024, 2048, 9}}});
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->size(), 3U);
  EXPECT_EQ(list->begin(), 0);
  EXPECT_EQ(list->end(), 2048);
  EXPECT_EQ(list->at(1), (time_range{512, 1024}));
  EXPECT_EQ(list->at(2), (time_range{1024, 2048}));
  EXPECT_EQ(list->events(0), 7U);
  EXPECT_EQ(list->events(2), 9U);
}

TEST(section_list, finds_the_section_at_a_time) {
  const sections rows{{-512, 0, 7}, {0, 512, 8}, {512, 1024, 9}};
  for (const auto& list : {stored({rows}), std::make_shared<const section_list>(rows)}) {
    ASSERT_NE(list, nullptr);
    EXPECT_EQ(list->section_at(-1), 0U);
    EXPECT_EQ(list->section_at(0), 1U);
    EXPECT_EQ(list->section_at(511), 1U);
    EXPECT_EQ(list->section_at(512), 2U);
    EXPECT_EQ(list->section_at(INT64_MIN), 0U) << "the first includes all earlier times";
    EXPECT_EQ(list->section_at(INT64_MAX), 2U) << "the last includes all later times";
  }
}

TEST(section_list, says_that_there_are_very_many_events_where_a_file_claims_any_number) {
  const auto list = stored({{{0, 512, UINT64_MAX}, {512, 1024, 8}}});
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->events(0), section_list::max_events);
  EXPECT_EQ(list->events(1), 8U);
}

TEST(section_list, is_not_there_without_sections_or_with_some_out_of_order) {
  EXPECT_EQ(stored({}), nullptr);
  EXPECT_EQ(stored({{{512, 1024, 8}, {0, 512, 7}}}), nullptr);
  EXPECT_EQ(stored({{{512, 1024, 8}}, {{0, 512, 7}}}), nullptr);
}

}  // namespace
}  // namespace sluice::summary
