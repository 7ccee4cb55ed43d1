#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/metrics/findings/shared/thresholds.hpp"

namespace sluice::metrics::findings_rank {
namespace {

using trace::severity;

finding found(finding_kind kind, saving saves, severity how_bad = severity::info) {
  finding output;
  output.kind = kind;
  output.severity = how_bad;
  output.saves = saves;
  return output;
}
finding of_memory(double share) {
  return found(finding_kind::fragmentation, {.reserved_bytes = 1, .basis = saving_basis::measured, .share = share});
}
finding of_time(double share) {
  return found(finding_kind::copies_not_overlapped, {.time = 1, .basis = saving_basis::measured, .share = share});
}

std::vector<severity> severities(std::vector<finding> findings) {
  rank(findings);
  std::vector<severity> items;
  for (const finding& each : findings) items.push_back(each.severity);
  return items;
}

TEST(findings, warn_from_three_percent_of_the_memory_and_two_of_the_time_on) {
  EXPECT_EQ(severities({of_memory(0.031)}).front(), severity::warning);
  EXPECT_EQ(severities({of_memory(0.029)}).front(), severity::info);
  EXPECT_EQ(severities({of_time(0.021)}).front(), severity::warning);
  EXPECT_EQ(severities({of_time(0.019)}).front(), severity::info);
}

TEST(findings, without_a_known_saving_are_notes) {
  EXPECT_EQ(severities({found(finding_kind::idle_gaps, {})}).front(), severity::info);
}

TEST(findings, that_save_most_come_first_after_errors_and_leaks) {
  std::vector<finding> items{of_memory(0.1),
                             of_time(0.5),
                             found(finding_kind::memory_grows, {}, severity::warning),
                             of_memory(0.01),
                             found(finding_kind::failed_allocations, {}, severity::error),
                             of_memory(0.2)};
  rank(items);
  std::vector<finding_kind> kinds;
  for (const finding& each : items) kinds.push_back(each.kind);
  using enum finding_kind;
  EXPECT_THAT(kinds, ::testing::ElementsAre(failed_allocations, memory_grows, copies_not_overlapped, fragmentation,
                                            fragmentation, fragmentation));
  EXPECT_EQ(items[3].saves.share, 0.2);
}

TEST(findings, are_at_most_five_warnings_besides_leaks) {
  std::vector<finding> items{found(finding_kind::memory_grows, {}, severity::warning)};
  for (int i = 0; i < 8; ++i) items.push_back(of_memory(0.1 + 0.01 * i));
  const auto found = severities(items);
  EXPECT_EQ(std::count(found.begin(), found.end(), severity::warning), 6);
  EXPECT_EQ(found.back(), severity::info);
}

/// The copies to a device from one call stack.
saved_part copies(std::uint64_t stack) {
  return {saved_part::type::copies, trace::device_id{1}, 0, trace::stack_id{stack}};
}

std::vector<std::vector<std::size_t>> overlaps(std::vector<finding> findings) {
  find_overlaps(findings);
  std::vector<std::vector<std::size_t>> found;
  for (const finding& each : findings) found.push_back(each.overlaps);
  return found;
}

TEST(findings, overlap_where_their_savings_are_taken_from_the_same_copies) {
  finding slow = of_time(0.3), waits = of_time(0.2), others = of_time(0.1);
  slow.parts = {copies(7), copies(3)};
  waits.parts = {copies(9), copies(3)};
  others.parts = {copies(8)};
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(overlaps({slow, waits, others}), ElementsAre(ElementsAre(1U), ElementsAre(0U), IsEmpty()));
}

TEST(findings, overlap_only_if_both_save_time_or_both_save_memory) {
  finding time = of_time(0.3), memory = of_memory(0.2), unknown = found(finding_kind::idle_gaps, {});
  time.parts = memory.parts = unknown.parts = {copies(3)};
  EXPECT_THAT(overlaps({time, memory, unknown}), ::testing::Each(::testing::IsEmpty()));
}

finding only_noted(double share) {
  finding output = of_memory(share);
  output.only_note = true;
  return output;
}

TEST(findings, never_stand_below_one_that_saves_less) {
  std::vector<finding> items{of_time(0.08), only_noted(0.29), of_memory(0.12), of_time(0.001), only_noted(0.05)};
  rank(items);
  EXPECT_TRUE(std::is_sorted(items.begin(), items.end(),
                             [](const finding& a, const finding& b) { return a.saves.share > b.saves.share; }));
  std::vector<bool> major;
  for (const finding& each : items) major.push_back(each.major);
  EXPECT_THAT(major, ::testing::ElementsAre(true, true, true, true, false)) << "the share decides";
  EXPECT_EQ(items[0].severity, severity::info) << "its advice has a cost, so it is no warning";
  EXPECT_EQ(items[1].severity, severity::warning);
}

TEST(findings, are_major_up_to_the_last_warning_and_all_others_follow) {
  std::vector<finding> items;
  for (int i = 0; i < 9; ++i) {
    const double share = 0.5 - 0.01 * i;
    items.push_back(i % 3 == 0 ? only_noted(share) : i % 3 == 1 ? of_time(share) : of_memory(share));
  }
  std::shuffle(items.begin(), items.end(), std::mt19937_64(1));
  rank(items);
  std::size_t warnings = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].major, i < 8) << "the ninth would be the sixth warning";
    EXPECT_NEAR(items[i].saves.share, 0.5 - 0.01 * static_cast<double>(i), 1e-9);
    if (items[i].severity == severity::warning) ++warnings;
  }
  EXPECT_EQ(warnings, max_warnings);
}

TEST(findings, whose_cost_is_unknown_are_major_if_they_warn) {
  std::vector<finding> items{of_time(0.5), found(finding_kind::lost_events, {}, severity::warning),
                             found(finding_kind::untracked_memory, {})};
  rank(items);
  EXPECT_EQ(items[0].kind, finding_kind::lost_events);
  EXPECT_TRUE(items[0].major && items[1].major);
  EXPECT_FALSE(items[2].major);
}

finding of_device(std::uint64_t device, double share, std::string function = "train") {
  finding output = of_time(share);
  output.text = "Text.";
  output.where.known = true;
  output.where.line.function = std::move(function);
  output.devices = {trace::device_id{device}};
  return output;
}

TEST(findings, that_say_the_same_of_several_devices_are_one) {
  std::vector<finding> items{of_device(1, 0.1), of_memory(0.5), of_device(2, 0.3), of_device(1, 0.2, "evaluate"),
                             of_device(3, 0.2)};
  join_devices(items, {});
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].saves.share, 0.3) << "where most can be saved";
  EXPECT_EQ(items[0].text, "Text. The same on device 1, device 3.");
  EXPECT_EQ(items[0].devices, (std::vector{trace::device_id{2}, trace::device_id{1}, trace::device_id{3}}));
  EXPECT_EQ(items[2].text, "Text.") << "another line of the program";
}

TEST(findings, of_many_devices_give_their_number) {
  std::vector<finding> items;
  for (std::uint64_t device = 1; device <= 256; ++device) items.push_back(of_device(device, 0.1));
  join_devices(items, {});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].text, "Text. The same on 255 other GPUs.");
}

TEST(findings, of_one_device_stay_apart) {
  std::vector<finding> items{of_device(1, 0.1), of_device(1, 0.1), of_device(2, 0.1), of_device(2, 0.1)};
  join_devices(items, {});
  EXPECT_EQ(items.size(), 2U);
}

}  // namespace
}  // namespace sluice::metrics::findings_rank
