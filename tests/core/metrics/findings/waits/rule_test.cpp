#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/metrics/findings/findings.hpp"
#include "tests/core/recordings/recording.hpp"

// Findings about a GPU that waits for host code, made from samples of the host's stacks.
namespace sluice::metrics::sampled_waits {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ms;

constexpr trace::device_id gpu{1};

/// A run of 200 ms. The GPU works from 20 ms on, and waits for host code for 100 ms, 70 ms of them in its longest gaps.
report waiting_run() {
  report output;
  output.span = output.whole.range = output.whole.active = {0, 200 * ms};
  device_activity& device = output.whole.devices.emplace_back();
  device.device = gpu;
  device.kernels = 10;
  device.busy = 80 * ms;
  device.first = 20 * ms;
  device.last = 200 * ms;
  device_idle& idle = output.waste.idle_times.emplace_back();
  idle.device = gpu;
  idle.span = {20 * ms, 200 * ms};
  gap_group& gap = output.waste.gaps.emplace_back();
  gap.device = gpu;
  gap.cause = gap_cause::host;
  gap.count = 40;
  gap.total = 100 * ms;
  gap.recurring = 30 * ms;
  return output;
}

void add_cause(report& to, host_reason reason, time_ns total, time_ns longest) {
  host_cause_group& group = to.waste.idle_times.front().host.emplace_back();
  group.cause.reason = reason;
  group.total = total;
  group.longest = longest;
  group.gaps = 20;
}

std::vector<finding> find_in(const report& subject) { return find_all_findings(subject, trace::tables()); }

TEST(sampled_waits, save_no_more_than_the_gpu_waited_after_start_up) {
  report subject = waiting_run();
  add_cause(subject, host_reason::cudnn_plan, 95 * ms, 40 * ms);
  const auto found = find_in(subject);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].saves.time, 30 * ms) << "70 ms of the wait are one-time work";
  EXPECT_NEAR(found[0].saves.share, 30.0 / 130, 1e-9) << "of 200 ms without the one-time work";
  EXPECT_THAT(found[0].text, HasSubstr("idle for 95.0 ms in 20 gaps"));
}

TEST(sampled_waits, save_less_than_all_of_them_if_the_longest_happens_once) {
  report subject = waiting_run();
  add_cause(subject, host_reason::cudnn_plan, 45 * ms, 40 * ms);
  EXPECT_EQ(find_in(subject).at(0).saves.time, 5 * ms);
}

TEST(sampled_waits, overlap_if_together_they_save_more_than_the_gpu_waited) {
  report subject = waiting_run();
  add_cause(subject, host_reason::cudnn_plan, 60 * ms, 30 * ms);
  add_cause(subject, host_reason::kernel_launch, 40 * ms, 10 * ms);
  const auto found = find_in(subject);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].overlaps, ElementsAre(1U));
  EXPECT_THAT(found[1].overlaps, ElementsAre(0U));
}

}  // namespace
}  // namespace sluice::metrics::sampled_waits
