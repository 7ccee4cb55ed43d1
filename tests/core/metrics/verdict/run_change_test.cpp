#include "core/metrics/verdict/run_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metrics/report/report.hpp"

namespace sluice::metrics::run_changes {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr time_ns ms = 1'000'000;
constexpr std::uint64_t mib = 1U << 20;

/// A run of ten steps on one GPU.
report make_run(time_ns step, time_ns idle, std::uint64_t peak) {
  report output;
  output.whole.active = {0, 10 * step};
  output.verdict.step = step;
  output.verdict.steps = 10;
  output.verdict.time = 10 * step;
  output.verdict.devices.push_back({trace::device_id{1}, 10 * (step - idle), 0, 0});
  output.verdict.peak = peak;
  return output;
}

finding& add(report& to, finding_kind kind, double share, bool major = true) {
  finding& output = to.findings.emplace_back();
  output.kind = kind;
  output.saves = {.time = 1, .basis = saving_basis::measured, .share = share};
  output.major = major;
  return output;
}

/// The time of one cause of idle time in all steps.
void add_cause(report& to, gap_cause cause, time_ns total) {
  device_idle& idle = to.waste.idle_times.emplace_back();
  idle.device = trace::device_id{1};
  idle.causes.push_back({cause, 10, total, total});
}

void name_command(report& to, const char* command) { to.processes.emplace_back().command = command; }

std::string text_of(const report& before, const report& after) { return describe_parts(compare_runs(before, after)); }

TEST(run_change, says_how_much_faster_and_why) {
  report before = make_run(56'100'000, 39'800'000, 1987 * mib);
  add(before, finding_kind::idle_gaps, 0.6).detail = "the DataLoader";
  add(before, finding_kind::small_copies, 0.04);
  add_cause(before, gap_cause::data, 398 * ms);
  report after = make_run(21'500'000, 5'200'000, 1987 * mib);
  add(after, finding_kind::small_copies, 0.09);
  add_cause(after, gap_cause::data, 52 * ms);
  const run_change found = compare_runs(before, after);
  EXPECT_EQ(found.headline, "2.6x faster: the GPU no longer waits for the data loader");
  EXPECT_EQ(describe_parts(found),
            "a step 56.1 ms -> 21.5 ms; idle 39.8 ms -> 5.20 ms; peak the same (1.94 GiB); 1 finding gone, 0 new");
  EXPECT_EQ(found.gone, std::vector<std::size_t>{0});
  EXPECT_EQ(found.kept, (std::vector<std::pair<std::size_t, std::size_t>>{{1, 0}}));
  EXPECT_TRUE(found.by_step);
  ASSERT_EQ(found.numbers.size(), 3U);
  EXPECT_EQ(found.numbers[0].value, "-62 %");
  EXPECT_EQ(found.numbers[0].trend, change_trend::better);
  EXPECT_EQ(found.numbers[1].value, "29 % -> 76 %");
  EXPECT_EQ(found.numbers[2].value, "same");
}

TEST(run_change, says_how_much_slower_and_larger) {
  const report before = make_run(10 * ms, 0, 100 * mib), after = make_run(15 * ms, 0, 150 * mib);
  const run_change found = compare_runs(before, after);
  EXPECT_EQ(found.headline, "1.5x slower: kernels take more time");
  EXPECT_EQ(describe_parts(found),
            "a step 10.0 ms -> 15.0 ms; idle 0 ns; peak 100 MiB -> 150 MiB (+50 %); 0 findings gone, 0 new");
  EXPECT_EQ(found.parts[0].trend, change_trend::worse);
  EXPECT_EQ(found.parts[2].trend, change_trend::worse);
}

TEST(run_change, names_no_cause_that_explains_less_than_half) {
  report before = make_run(40 * ms, 20 * ms, mib), after = make_run(20 * ms, 5 * ms, mib);
  add_cause(before, gap_cause::data, 60 * ms);
  EXPECT_EQ(compare_runs(before, after).headline, "2.0x faster");
  before.waste.idle_times.clear();
  add_cause(before, gap_cause::data, 150 * ms);
  add_cause(after, gap_cause::data, 40 * ms);
  EXPECT_EQ(compare_runs(before, after).headline, "2.0x faster: the GPU waits less for the data loader");
}

TEST(run_change, says_that_a_run_does_not_differ_from_itself) {
  report run = make_run(10 * ms, 5 * ms, mib);
  add(run, finding_kind::small_copies, 0.09);
  EXPECT_EQ(compare_runs(run, run).headline, "No difference");
  EXPECT_EQ(compare_runs(run, run).parts[0].trend, change_trend::same);
}

TEST(run_change, says_that_the_commands_are_different) {
  report before = make_run(10 * ms, 5 * ms, mib), after = before;
  name_command(before, "/opt/sluice demo overlap --device cuda");
  name_command(after, "/opt/sluice demo leak --device cuda");
  EXPECT_EQ(compare_runs(before, after).headline, "Different commands: sluice demo overlap and sluice demo leak");
}

TEST(run_change, does_not_call_findings_new_that_the_other_mode_cannot_have) {
  report before = make_run(10 * ms, 5 * ms, mib), after = before;
  before.processes.emplace_back().mode = trace::recording_mode::memory;
  after.processes.emplace_back().mode = trace::recording_mode::timeline;
  add(after, finding_kind::idle_gaps, 0.6);
  EXPECT_TRUE(compare_runs(before, after).fresh.empty());
  EXPECT_THAT(text_of(before, after), HasSubstr("findings not compared: recorded in different modes"));
}

TEST(run_change, knows_the_program_of_a_command) {
  EXPECT_EQ(get_program("python3 -u /home/a/train.py 4 --workers 0"), "train.py");
  EXPECT_EQ(get_program("/usr/bin/torchrun --nproc 2 train.py"), "train.py");
  EXPECT_EQ(get_program("./a.out"), "a.out");
  EXPECT_EQ(get_program(""), "");
}

TEST(run_change, calls_small_differences_the_same) {
  EXPECT_EQ(compare_runs(make_run(100 * ms, 0, 100 * mib), make_run(101 * ms, 0, 101 * mib)).headline, "As fast");
  EXPECT_EQ(compare_runs(make_run(100 * ms, 0, 100 * mib), make_run(101 * ms, 0, 50 * mib)).headline,
            "As fast, and the peak is 2.0x lower");
  EXPECT_THAT(text_of(make_run(100 * ms, 0, 100 * mib), make_run(101 * ms, 0, 101 * mib)),
              StartsWith("a step 100 ms -> 101 ms; idle 0 ns; peak the same (101 MiB)"));
  EXPECT_THAT(compare_runs(make_run(100 * ms, 0, 1), make_run(95 * ms, 0, 1)).headline, StartsWith("5 % faster"));
  EXPECT_THAT(compare_runs(make_run(100 * ms, 0, 1), make_run(105 * ms, 0, 1)).headline, StartsWith("5 % slower"));
}

TEST(run_change, averages_the_idle_time_of_devices_even_if_the_sum_is_too_large) {
  report run = make_run(ms, 0, mib);
  run.verdict.step = 0;
  run.verdict.time = 9'000'000'000'000'000'000;
  run.verdict.devices = {{trace::device_id{1}, 0, 0, 0}, {trace::device_id{2}, 0, 0, 0}};
  EXPECT_EQ(compare_runs(run, run).idle_before, run.verdict.time);
}

TEST(run_change, compares_the_active_time_without_steps) {
  report before = make_run(40 * ms, 10 * ms, mib);
  before.verdict.step = 0;
  EXPECT_THAT(text_of(before, make_run(20 * ms, 5 * ms, mib)),
              StartsWith("active time 400 ms -> 200 ms; idle 100 ms -> 50.0 ms"));
}

TEST(run_change, says_what_was_not_recorded) {
  report snapshot;
  EXPECT_EQ(text_of(snapshot, snapshot), "times not recorded; peak not recorded; 0 findings gone, 0 new");
  EXPECT_THAT(compare_runs(snapshot, snapshot).headline, StartsWith("Nothing to compare"));
  snapshot.whole.active = {0, 10 * ms};
  snapshot.verdict.peak = mib;
  EXPECT_THAT(text_of(snapshot, make_run(ms, 0, mib)), HasSubstr("idle time not recorded"));
  snapshot.verdict.peak = 0;
  EXPECT_THAT(text_of(snapshot, make_run(ms, 0, mib)), HasSubstr("peak recorded on one side only"));
}

TEST(run_change, compares_only_peaks_if_times_are_unknown) {
  report before, after;
  before.verdict.peak = 100 * mib;
  after.verdict.peak = 88 * mib;
  EXPECT_EQ(compare_runs(before, after).headline, "The peak is 12 % lower");
}

TEST(run_change, matches_findings_whose_lines_moved) {
  report before = make_run(ms, 0, mib);
  finding& old = add(before, finding_kind::held_late, 0.2);
  old.where.known = true;
  old.where.line.kind = trace::frame_kind::python;
  old.where.line.function = "forward";
  old.where.line.file = "/a/train.py";
  old.where.line.line = 12;
  report after = make_run(ms, 0, mib);
  after.findings.push_back(old);
  after.findings.front().where.line.line = 15;
  EXPECT_THAT(text_of(before, after), HasSubstr("0 findings gone, 0 new"));
  after.findings.front().where.line.function = "backward";
  EXPECT_THAT(text_of(before, after), HasSubstr("1 finding gone, 1 new"));
}

TEST(run_change, counts_no_finding_that_only_crosses_a_limit) {
  report before = make_run(ms, 0, mib), after = make_run(ms, 0, mib);
  add(before, finding_kind::slow_copies, 0.031);
  add(after, finding_kind::slow_copies, 0.029, false);
  EXPECT_THAT(text_of(before, after), HasSubstr("0 findings gone, 0 new"));
  after.findings.front().saves.share = 0.01;
  EXPECT_THAT(text_of(before, after), HasSubstr("1 finding gone, 0 new"));
}

}  // namespace
}  // namespace sluice::metrics::run_changes
