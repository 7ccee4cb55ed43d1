#include "core/metrics/verdict/changed_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metrics/report/report.hpp"
#include "core/metrics/verdict/setting_changes.hpp"

namespace sluice::metrics::changed_values_rows {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr time_ns ms = 1'000'000;
constexpr std::uint64_t mib = 1U << 20;

/// A run of ten steps on one GPU: half of the time waits for the data loader.
report make_run(time_ns step, std::uint64_t pinned) {
  report output;
  output.verdict.step = step;
  output.verdict.steps = 10;
  output.verdict.time = 10 * step;
  output.verdict.devices.push_back({trace::device_id{1}, 5 * step, 0, 0});
  output.verdict.peak = 100 * mib;
  device_idle& idle = output.waste.idle_times.emplace_back();
  idle.device = trace::device_id{1};
  idle.causes.push_back({gap_cause::data, 10, 5 * step, step});
  memory_statistics& memory = output.whole.memory.emplace_back();
  memory.kind = trace::memory_kind::pinned;
  memory.maximum = pinned;
  return output;
}

changed_values list(const report& before, const report& after) {
  const trace::tables tables;
  return list_changed_values({before, tables}, {after, tables}, compare_runs(before, after));
}

const changed_value* find(const std::vector<changed_value>& rows, std::string_view what) {
  for (const changed_value& each : rows)
    if (each.what == what) return &each;
  return nullptr;
}

TEST(changed_values, gives_times_of_a_step_and_the_largest_change_first) {
  const changed_values found = list(make_run(40 * ms, 8 * mib), make_run(20 * ms, 72 * mib));
  ASSERT_FALSE(found.main.empty());
  EXPECT_EQ(found.main[0].what, "Pinned host memory");
  EXPECT_EQ(format_difference(found.main[0]), "+64.0 MiB");
  EXPECT_EQ(found.main[0].trend(), change_trend::worse);
  const changed_value* idle = find(found.main, "Idle: waiting for the next batch of the DataLoader");
  ASSERT_NE(idle, nullptr);
  EXPECT_EQ(format_value(idle->unit, idle->before), "20.0 ms") << "half of a step";
  EXPECT_EQ(format_difference(*idle), "-10.0 ms");
  EXPECT_DOUBLE_EQ(idle->share, -0.25) << "of the longer step";
  const changed_value& last = found.main.back();
  EXPECT_EQ(last.what, "Peak");
  EXPECT_EQ(format_difference(last), "0");
}

TEST(changed_values, leaves_out_one_time_work) {
  report before = make_run(40 * ms, 0), after = make_run(40 * ms, 0);
  before.waste.idle_times[0].causes.push_back({gap_cause::loading, 3, 900 * ms, 300 * ms});
  gap_group& once = before.waste.gaps.emplace_back();
  once.device = trace::device_id{1};
  once.cause = gap_cause::loading;
  once.total = 900 * ms;
  EXPECT_EQ(find(list(before, after).main, "Idle: module loading or compilation"), nullptr);
}

TEST(changed_values, does_not_know_the_time_of_kernels_that_a_report_leaves_out) {
  report before = make_run(10 * ms, 0), after = make_run(10 * ms, 0);
  before.whole.kernels.push_back({trace::string_id{}, 20, 30 * ms, 2 * ms, {}});
  before.whole.kernel_names = after.whole.kernel_names = 1;
  const changed_values found = list(before, after);
  ASSERT_EQ(found.kernels.size(), 1U);
  EXPECT_EQ(format_value(found.kernels[0].unit, found.kernels[0].before), "3.00 ms") << "a step";
  EXPECT_EQ(found.kernels[0].trend(), change_trend::open);
  after.whole.kernel_names = 0;
  EXPECT_EQ(format_difference(list(before, after).kernels[0]), "-3.00 ms");
}

TEST(changed_values, compares_steps_with_the_same_number) {
  report before = make_run(10 * ms, 0), after = make_run(20 * ms, 0);
  const auto add = [](report& to, std::int64_t first) {
    step_summary& steps = to.steps.emplace_back();
    steps.count = 2;
    steps.median_duration = to.verdict.step;
    for (std::int64_t i = first; i < first + 2; ++i) {
      step_metrics& each = steps.steps.emplace_back();
      each.number = i;
      each.span = {i * to.verdict.step, (i + 1) * to.verdict.step};
    }
  };
  add(before, 0);
  add(after, 1);
  const changed_values found = list(before, after);
  ASSERT_EQ(found.steps.size(), 1U);
  EXPECT_EQ(found.steps[0].what, "Step 1");
  EXPECT_EQ(format_difference(found.steps[0]), "+10.0 ms");
}

std::vector<std::string> describe_settings(const char* before, const char* after) {
  report first, second;
  first.processes.emplace_back().command = before;
  second.processes.emplace_back().command = after;
  const trace::tables tables;
  std::vector<std::string> lines;
  for (const setting_change& each : list_setting_changes({first, tables}, {second, tables}))
    lines.push_back(describe(each));
  return lines;
}

TEST(setting_changes, shows_only_the_options_that_differ) {
  EXPECT_EQ(describe_settings("python3 train.py --workers 0 --amp", "python3 train.py --workers 4 --amp").front(),
            "command line: --workers 0 -> --workers 4");
  EXPECT_EQ(describe_settings("python3 train.py", "python3 train.py --compile").front(),
            "command line: (without) -> --compile");
  EXPECT_EQ(describe_settings("python3 a.py -n 1", "/usr/bin/python3 a.py -n 2").front(), "command line: -n 1 -> -n 2");
  EXPECT_EQ(describe_settings("./a --n 1", "./b --n 1").front(), "command line: ./a --n 1 -> ./b --n 1");
}

TEST(setting_changes, says_what_is_the_same_and_what_was_not_recorded) {
  EXPECT_THAT(describe_settings("./a", "./a"), Contains("command line: the same (./a)"));
  EXPECT_THAT(describe_settings("", "./a"), Contains("command line: not recorded -> ./a"));
  EXPECT_THAT(describe_settings("", ""), Contains("command line: not recorded"));
  EXPECT_THAT(describe_settings("", ""),
              Contains("PYTORCH_CUDA_ALLOC_CONF, driver and framework versions: not recorded"));
}

}  // namespace
}  // namespace sluice::metrics::changed_values_rows
