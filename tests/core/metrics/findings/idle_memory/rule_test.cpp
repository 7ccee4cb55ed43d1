#include <gtest/gtest.h>

#include <algorithm>

#include "core/metrics/findings/findings.hpp"

/// Findings about idle memory, from metrics that are written here.
namespace sluice::metrics::idle_rules {
namespace {

constexpr time_ns ms = 1'000'000;
constexpr std::uint64_t mib = 1U << 20;
constexpr trace::device_id gpu{1};

/// A run of 100 ms with steps of 10 ms each, in which 40 of 100 MiB at the peak are held after their last use.
report make_run(time_range idle) {
  report output;
  output.whole.active = {0, 100 * ms};
  step_summary& steps = output.steps.emplace_back();
  steps.count = 10;
  steps.median_duration = 10 * ms;
  idle_memory& memory = output.waste.idle.emplace_back();
  memory.device = gpu;
  memory.layer = trace::layer::framework;
  memory.kind = trace::memory_kind::device;
  memory.peak_bytes = 100 * mib;
  memory.works = 1000;
  idle_group& group = memory.groups.emplace_back();
  group.reason = idle_reason::held_late;
  group.device = gpu;
  group.layer = trace::layer::framework;
  group.kind = trace::memory_kind::device;
  group.category = index::category::activation;
  group.blocks_at_peak = 4;
  group.bytes_at_peak = group.saved = 40 * mib;
  group.largest = trace::block_id{1};
  group.largest_bytes = 10 * mib;
  group.works = 100;
  group.idle = idle;
  return output;
}

bool is_called_late(const report& subject) {
  const trace::tables tables;
  const std::vector<finding> found = find_all_findings(subject, tables);
  return std::any_of(found.begin(), found.end(),
                     [](const finding& each) { return each.kind == finding_kind::held_late; });
}

TEST(idle_memory_rule, calls_memory_kept_that_is_freed_long_after_its_last_use) {
  EXPECT_TRUE(is_called_late(make_run({40 * ms, 50 * ms})));
}

TEST(idle_memory_rule, does_not_know_what_the_next_step_would_have_used) {
  EXPECT_FALSE(is_called_late(make_run({85 * ms, 101 * ms}))) << "the recording stopped";
  EXPECT_TRUE(is_called_late(make_run({70 * ms, 101 * ms}))) << "three steps did not use it";
}

TEST(idle_memory_rule, calls_memory_kept_that_a_program_did_not_use_until_it_ended_by_itself) {
  report run = make_run({85 * ms, 101 * ms});
  run.processes.emplace_back().exit_status = 0;
  EXPECT_TRUE(is_called_late(run));
  run.processes.back().exit_status = 130;
  EXPECT_FALSE(is_called_late(run)) << "it was interrupted";
}

TEST(idle_memory_rule, does_not_know_what_the_rest_of_a_step_that_ran_out_of_memory_would_have_used) {
  report run = make_run({85 * ms, 92 * ms});
  run.failures.emplace_back().time = 91 * ms;
  EXPECT_FALSE(is_called_late(run));
  run.failures.back().time = 93 * ms;
  EXPECT_TRUE(is_called_late(run)) << "it was freed before";
}

TEST(idle_memory_rule, judges_programs_without_steps_by_what_they_did) {
  report run = make_run({85 * ms, 101 * ms});
  run.steps.clear();
  EXPECT_TRUE(is_called_late(run));
}

}  // namespace
}  // namespace sluice::metrics::idle_rules
