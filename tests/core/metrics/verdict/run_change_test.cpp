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

TEST(run_change, says_how_much_faster_and_why) {
  report before = make_run(56'100'000, 39'800'000, 1987 * mib);
  add(before, finding_kind::idle_gaps, 0.6).detail = "the DataLoader";
  add(before, finding_kind::small_copies, 0.04);
  report after = make_run(21'500'000, 5'200'000, 1987 * mib);
  add(after, finding_kind::small_copies, 0.09);
  const run_change found = compare_runs(before, after);
  EXPECT_EQ(found.text,
            "2.6x faster: a step 56.1 ms -> 21.5 ms, idle 39.8 ms -> 5.20 ms; peak the same (1.94 GiB); 1 finding "
            "gone, 0 new.");
  EXPECT_EQ(found.gone, std::vector<std::size_t>{0});
  EXPECT_TRUE(found.by_step);
}

TEST(run_change, says_how_much_slower_and_larger) {
  const run_change found = compare_runs(make_run(10 * ms, 0, 100 * mib), make_run(15 * ms, 0, 150 * mib));
  EXPECT_EQ(found.text,
            "1.5x slower: a step 10.0 ms -> 15.0 ms, idle 0 ns; peak 100 MiB -> 150 MiB (+50 %); 0 findings "
            "gone, 0 new.");
}

TEST(run_change, calls_small_differences_the_same) {
  EXPECT_THAT(compare_runs(make_run(100 * ms, 0, 100 * mib), make_run(101 * ms, 0, 101 * mib)).text,
              StartsWith("As fast: a step 100 ms -> 101 ms, idle 0 ns; peak the same (101 MiB)"));
  EXPECT_THAT(compare_runs(make_run(100 * ms, 0, 1), make_run(95 * ms, 0, 1)).text, StartsWith("5 % faster"));
  EXPECT_THAT(compare_runs(make_run(100 * ms, 0, 1), make_run(105 * ms, 0, 1)).text, StartsWith("5 % slower"));
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
  const run_change found = compare_runs(before, make_run(20 * ms, 5 * ms, mib));
  EXPECT_THAT(found.text, StartsWith("2.0x faster: active time 400 ms -> 200 ms, idle 100 ms -> 50.0 ms"));
}

TEST(run_change, says_what_was_not_recorded) {
  report snapshot;
  EXPECT_EQ(compare_runs(snapshot, snapshot).text, "Times not recorded; peak not recorded; 0 findings gone, 0 new.");
  snapshot.whole.active = {0, 10 * ms};
  snapshot.verdict.peak = mib;
  EXPECT_THAT(compare_runs(snapshot, make_run(ms, 0, mib)).text, HasSubstr("idle time not recorded"));
  snapshot.verdict.peak = 0;
  EXPECT_THAT(compare_runs(snapshot, make_run(ms, 0, mib)).text, HasSubstr("peak recorded on one side only"));
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
  EXPECT_THAT(compare_runs(before, after).text, HasSubstr("0 findings gone, 0 new"));
  after.findings.front().where.line.function = "backward";
  EXPECT_THAT(compare_runs(before, after).text, HasSubstr("1 finding gone, 1 new"));
}

TEST(run_change, counts_no_finding_that_only_crosses_a_limit) {
  report before = make_run(ms, 0, mib), after = make_run(ms, 0, mib);
  add(before, finding_kind::slow_copies, 0.031);
  add(after, finding_kind::slow_copies, 0.029, false);
  EXPECT_THAT(compare_runs(before, after).text, HasSubstr("0 findings gone, 0 new"));
  after.findings.front().saves.share = 0.01;
  EXPECT_THAT(compare_runs(before, after).text, HasSubstr("1 finding gone, 0 new"));
}

}  // namespace
}  // namespace sluice::metrics::run_changes
