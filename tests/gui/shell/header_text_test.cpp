// The words of the window's header.
#include "app/gui/shell/bars/header_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/format.hpp"

namespace sluice::gui::headers {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
constexpr time_ns ms = 1'000'000;

metrics::finding make_finding(metrics::finding_kind kind, double share, time_ns time) {
  metrics::finding each;
  each.kind = kind;
  each.saves.basis = metrics::saving_basis::measured;
  each.saves.share = share;
  each.saves.time = time;
  if (time == 0) each.saves.peak_bytes = gib;
  return each;
}

/// A run whose GPU has 140 GiB, `used` of which were in use, with a finding about memory and a smaller one about time.
metrics::report make_report(std::uint64_t used) {
  metrics::report report;
  report.findings.push_back(make_finding(metrics::finding_kind::idle_block, 0.2, 0));
  report.findings.push_back(make_finding(metrics::finding_kind::idle_gaps, 0.1, 10 * ms));
  metrics::run_verdict& verdict = report.verdict;
  verdict.headline = "The GPU waits for the host";
  verdict.largest = 0;
  verdict.other = 1;
  verdict.used = used;
  verdict.used_of = 140 * gib;
  verdict.time = 100 * ms;
  verdict.devices.push_back({trace::device_id{1}, 60 * ms, ms, 0});
  verdict.numbers = {{"60 %", "GPU busy"}, {"6.35 ms", "a step"}};
  report.whole.transfers.emplace_back();
  return report;
}

TEST(header, names_the_saving_of_time_first_if_memory_has_room) {
  const header_text header = make_header(make_report(2 * gib));
  ASSERT_FALSE(header.below.empty());
  EXPECT_THAT(header.below.front().text, StartsWith("Largest opportunity in time: "));
  EXPECT_THAT(header.below.front().text, HasSubstr("10.0 ms"));
  EXPECT_EQ(header.below.front().said, header_phrase::tone::saving);
}

TEST(header, names_the_largest_saving_if_memory_is_short) {
  EXPECT_THAT(make_header(make_report(130 * gib)).below.front().text, HasSubstr("1.00 GiB"));
}

TEST(header, says_what_is_not_a_problem) {
  const std::string line = make_header(make_report(2 * gib)).get_line();
  EXPECT_THAT(line, HasSubstr("memory is not a problem: 2.00 GiB of 140 GiB"));
  EXPECT_THAT(line, HasSubstr("copies are not a problem: 1 % of the time"));
}

TEST(header, does_not_call_memory_unproblematic_when_more_than_half_is_in_use) {
  EXPECT_THAT(make_header(make_report(71 * gib)).get_line(), Not(HasSubstr("memory is not")));
}

TEST(header, does_not_call_copies_unproblematic_when_a_finding_is_about_them) {
  metrics::report report = make_report(2 * gib);
  report.findings.push_back(make_finding(metrics::finding_kind::pageable_copies, 0.04, 4 * ms));
  EXPECT_THAT(make_header(report).get_line(), Not(HasSubstr("copies are not")));
}

TEST(header, says_nothing_about_copies_if_there_were_none) {
  metrics::report report = make_report(2 * gib);
  report.whole.transfers.clear();
  EXPECT_THAT(make_header(report).get_line(), Not(HasSubstr("copies")));
}

TEST(header, shows_what_the_driver_handed_out_if_that_is_more_than_the_peak) {
  metrics::report report = make_report(2 * gib);
  report.verdict.peak = gib;
  report.verdict.peak_device = trace::device_id{1};
  metrics::memory_statistics memory;
  memory.device = trace::device_id{1};
  memory.kind = trace::memory_kind::device;
  memory.maximum = 2 * gib;
  report.whole.memory.push_back(memory);
  EXPECT_EQ(make_header(report).figures.back().label, "reserved");
  EXPECT_EQ(make_header(report).figures.back().value, "2.00 GiB");
}

TEST(header, has_at_most_four_figures) {
  metrics::report report = make_report(gib);
  for (int i = 0; i < 5; ++i) report.verdict.numbers.push_back({"1", "more"});
  EXPECT_EQ(make_header(report).figures.size(), header_text::max_figures);
}

TEST(header, names_a_process_that_failed) {
  metrics::report report = make_report(gib);
  report.processes.emplace_back();
  report.processes.back().pid = 7;
  report.processes.back().exit_status = 3;
  EXPECT_THAT(make_header(report).get_line(), HasSubstr("process 7 ended with exit status 3"));
}

metrics::report run_out_of_memory() {
  metrics::report report = make_report(138 * gib);
  metrics::out_of_memory_report& failed = report.out_of_memory.emplace_back();
  failed.short_by = "14.2 GiB";
  failed.metrics.asked = 46 * gib;
  failed.metrics.used = 105 * gib;
  failed.metrics.reserved = 109 * gib;
  failed.metrics.others = gib;
  failed.metrics.device_bytes = 140 * gib;
  failed.metrics.device_free_known = true;
  failed.metrics.device_free = 28 * gib;
  failed.verdict = "No change would help.";
  return report;
}

TEST(header, says_how_much_memory_was_missing) {
  const header_text header = make_header(run_out_of_memory());
  EXPECT_TRUE(header.failed);
  EXPECT_EQ(header.headline, "Out of memory: short by 14.2 GiB");
  EXPECT_THAT(header.get_line(), HasSubstr("asked for 46.0 GiB, 28.0 GiB of 140 GiB were free"));
  EXPECT_THAT(header.get_line(), HasSubstr("No change would help"));
  ASSERT_EQ(header.figures.size(), 4U);
  EXPECT_TRUE(header.figures[0].alarming);
  EXPECT_EQ(header.figures[1].value, "105 GiB");
  EXPECT_EQ(header.figures[2].label, "free in pieces");
  EXPECT_EQ(header.figures[2].value, "4.00 GiB");
}

TEST(header, says_what_would_have_let_the_request_fit) {
  metrics::report report = run_out_of_memory();
  report.out_of_memory.front().changes.emplace_back().text = "Halve the batch.";
  const header_text header = make_header(report);
  EXPECT_EQ(header.below.back().said, header_phrase::tone::good);
  EXPECT_EQ(header.below.back().text, "it would have fit: Halve the batch");
}

TEST(header, leaves_out_figures_that_do_not_fit_beside_the_headline) {
  const std::vector<float> widths{100, 100, 100, 100};
  EXPECT_EQ(count_figures(widths, 400, 1000, 20), 4U);
  EXPECT_EQ(count_figures(widths, 640, 1000, 20), 3U);
  EXPECT_EQ(count_figures(widths, 400, 600, 20), 1U);
}

TEST(header, cuts_a_long_headline_rather_than_leave_out_all_figures) {
  const std::vector<float> widths{100, 100, 100};
  EXPECT_EQ(count_figures(widths, 2000, 900, 20), 2U);
  EXPECT_EQ(count_figures({}, 2000, 900, 20), 0U);
}

}  // namespace
}  // namespace sluice::gui::headers
