#include "core/metrics/check/check.hpp"
#include "core/metrics/make_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/metrics/reports.hpp"
#include "tests/core/metrics/training_recording.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::metrics {
namespace {

using testing::gib;
using ::testing::HasSubstr;
using testing::indexed;
using testing::mib;
using testing::ms;
using testing::recording;
using testing::training;
using testing::training_options;
using trace::direction;
using trace::layer;
using trace::memory_kind;

/// The verdicts on a recording that is complete.
std::vector<condition> judged(recording& recorded, const check_limits& limits) {
  recorded.close();
  const indexed loaded(recorded.open());
  const report subject = make_report(loaded.index, *loaded.snapshot);
  return check({subject, loaded.snapshot->tables()}, limits);
}

condition judged_alone(recording& recorded, const check_limits& limits) {
  const auto whole = judged(recorded, limits);
  EXPECT_EQ(whole.size(), 1U);
  return whole.empty() ? condition{} : whole.front();
}

TEST(check, of_no_limits_says_nothing) {
  recording recorded;
  recorded.standard_tables();
  EXPECT_FALSE(check_limits{}.any());
  EXPECT_TRUE(judged(recorded, {}).empty());
  EXPECT_EQ(overall_verdict({}), verdict::met);
}

TEST(check, peak_is_that_of_the_framework_where_there_is_one) {
  for (const std::uint64_t limit : {299 * mib, 300 * mib}) {
    recording recorded;
    recorded.standard_tables();
    recorded.add_alloc(1 * ms, 1, 2 * gib);
    recorded.add_alloc(2 * ms, 2, 300 * mib, memory_kind::device, layer::framework);
    recorded.add_alloc(2 * ms, 3, 4 * gib, memory_kind::pinned, layer::framework);
    const condition peak = judged_alone(recorded, {.peak = limit});
    EXPECT_EQ(peak.name, "max-peak");
    EXPECT_EQ(peak.status, limit == 300 * mib ? verdict::met : verdict::not_met);
    EXPECT_EQ(peak.measured, static_cast<double>(300 * mib));
    EXPECT_EQ(peak.about, "framework tensors of GPU 0");
  }
}

TEST(check, peak_is_that_of_the_driver_where_there_is_nothing_else) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1 * ms, 1, 2 * gib);
  const condition peak = judged_alone(recorded, {.peak = 3 * gib});
  EXPECT_EQ(peak.status, verdict::met);
  EXPECT_EQ(peak.about, "CUDA allocations of GPU 0");
}

TEST(check, peak_is_the_highest_of_the_devices_and_lists_each) {
  recording recorded;
  recorded.standard_tables();
  trace::device_row second;
  second.id = trace::device_id{2};
  second.uuid_low = 8;
  second.ordinal = 1;
  recorded.writer().add(second);
  recorded.add_alloc(1 * ms, 1, 100 * mib);
  auto row = recorded.event<trace::alloc_event>(2 * ms);
  row.block = trace::block_id{2};
  row.bytes = 200 * mib;
  row.kind = memory_kind::device;
  row.device = second.id;
  recorded.writer().add(row);
  const condition peak = judged_alone(recorded, {.peak = 150 * mib});
  EXPECT_EQ(peak.status, verdict::not_met);
  EXPECT_THAT(peak.about, HasSubstr("GPU 1"));
  ASSERT_EQ(peak.parts.size(), 2U);
  EXPECT_EQ(peak.parts[0].name, "GPU 0");
  EXPECT_EQ(peak.parts[0].value, static_cast<double>(100 * mib));
  EXPECT_EQ(peak.parts[1].value, static_cast<double>(200 * mib));
}

TEST(check, peak_names_the_line_that_holds_most) {
  recording recorded;
  training(recorded, {}).tell();
  const condition peak = judged_alone(recorded, {.peak = 1 * mib});
  EXPECT_EQ(peak.status, verdict::not_met);
  ASSERT_TRUE(peak.line);
  EXPECT_THAT(peak.line->file, HasSubstr("/home/me/"));
  EXPECT_THAT(peak.where, HasSubstr(symbols::get_place(*peak.line)));
}

TEST(check, cannot_judge_what_the_recording_does_not_hold) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_range(0, 5 * ms);
  const auto whole =
      judged(recorded, {.peak = 1, .reserved = 1, .growth = 1, .no_leaks = true, .pageable = 0.1, .idle = 0.1});
  ASSERT_EQ(whole.size(), 6U);
  for (const condition& each : whole) {
    EXPECT_EQ(each.status, verdict::unknown) << each.name;
    EXPECT_FALSE(each.measured) << each.name;
    EXPECT_NE(each.reason, "") << each.name;
  }
  EXPECT_EQ(overall_verdict(whole), verdict::unknown);
}

TEST(check, metrics_of_a_recording_with_losses_are_never_met) {
  for (const std::uint64_t limit : {50 * mib, 200 * mib}) {
    recording recorded;
    recorded.standard_tables();
    recorded.add_alloc(1 * ms, 1, 100 * mib);
    auto loss = recorded.event<trace::loss_event>(2 * ms);
    loss.memory_events = 3;
    loss.events = 3;
    recorded.writer().add(loss);
    const condition peak = judged_alone(recorded, {.peak = limit});
    EXPECT_EQ(peak.status, limit == 50 * mib ? verdict::not_met : verdict::unknown);
    if (peak.status == verdict::unknown) {
      EXPECT_THAT(peak.reason, HasSubstr("lost 3"));
    }
  }
}

TEST(check, metrics_of_an_incomplete_recording_are_never_met) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1 * ms, 1, 100 * mib);
  recorded.flush();
  const indexed loaded(recorded.open());
  const report subject = make_report(loaded.index, *loaded.snapshot);
  EXPECT_EQ(check({subject, loaded.snapshot->tables()}, {.peak = 200 * mib})[0].status, verdict::unknown);
  EXPECT_EQ(check({subject, loaded.snapshot->tables()}, {.peak = 50 * mib})[0].status, verdict::not_met);
  EXPECT_EQ(check({subject, loaded.snapshot->tables()}, {.findings = trace::severity::error})[0].status,
            verdict::unknown);
}

TEST(check, reserved_is_what_the_driver_gave_with_its_pools) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1 * ms, 1, 100 * mib);
  recorded.add_alloc(2 * ms, 2, 50 * mib, memory_kind::device, layer::framework);
  trace::pool_row pool;
  pool.id = trace::pool_id{1};
  pool.device = trace::device_id{1};
  recorded.writer().add(pool);
  auto state = recorded.event<trace::pool_event>(3 * ms);
  state.pool = pool.id;
  state.reserved = 64 * mib;
  recorded.writer().add(state);
  const condition reserved = judged_alone(recorded, {.reserved = 164 * mib});
  EXPECT_EQ(reserved.measured, static_cast<double>(164 * mib));
  EXPECT_EQ(reserved.status, verdict::met);
}

TEST(check, growth_is_that_of_the_steps) {
  for (const bool leak : {false, true}) {
    recording recorded;
    training(recorded, {.steps = 12, .leak = leak}).tell();
    const auto whole = judged(recorded, {.growth = 1 * mib, .no_leaks = true});
    ASSERT_EQ(whole.size(), 2U);
    EXPECT_EQ(whole[0].status, leak ? verdict::not_met : verdict::met);
    EXPECT_EQ(whole[0].measured, leak ? static_cast<double>(2 * mib) : 0.0);
    EXPECT_THAT(whole[0].about, HasSubstr("12 steps"));
    EXPECT_EQ(whole[1].status, leak ? verdict::not_met : verdict::met);
    EXPECT_EQ(whole[1].measured, leak ? 1.0 : 0.0);
  }
}

TEST(check, growth_of_few_steps_is_unknown) {
  recording recorded;
  training(recorded, {.steps = 4}).tell();
  const condition growth = judged_alone(recorded, {.growth = 1 * mib});
  EXPECT_EQ(growth.status, verdict::unknown);
  EXPECT_THAT(growth.reason, HasSubstr("6 steps"));
}

TEST(check, a_leak_names_the_line_of_the_event_where_that_is_known) {
  recording recorded;
  training(recorded, {.steps = 12, .leak = true}).tell();
  recorded.close();
  const indexed loaded(recorded.open());
  const report subject = make_report(loaded.index, *loaded.snapshot);
  symbols::frame_line line;
  line.kind = trace::frame_kind::python;
  line.function = "keep";
  line.file = "/home/me/train.py";
  line.line = 7;
  const auto verdicts =
      check({subject, loaded.snapshot->tables(), [&](trace::event_id) { return line; }}, {.no_leaks = true});
  ASSERT_TRUE(verdicts[0].line);
  EXPECT_EQ(verdicts[0].line->file, "/home/me/model.py") << "the finding's own, if it has one";
  EXPECT_THAT(verdicts[0].where, HasSubstr("Memory keeps growing"));
}

TEST(check, pageable_is_a_share_of_the_bytes_between_host_and_device) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_copy(1 * ms, 2 * ms, 100, direction::h2d, memory_kind::host);
  recorded.add_copy(3 * ms, 4 * ms, 300, direction::d2h, memory_kind::pinned);
  recorded.add_copy(5 * ms, 6 * ms, 5000, direction::d2d);
  recorded.close();
  const indexed loaded(recorded.open());
  const report target = make_report(loaded.index, *loaded.snapshot);
  const check_subject subject{target, loaded.snapshot->tables()};
  EXPECT_EQ(check(subject, {.pageable = 0.25})[0].status, verdict::met);
  const condition over = check(subject, {.pageable = 0.24})[0];
  EXPECT_EQ(over.status, verdict::not_met);
  EXPECT_DOUBLE_EQ(over.measured.value_or(0), 0.25);
}

TEST(check, copies_of_unknown_sides_leave_the_share_open) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_copy(1 * ms, 2 * ms, 100, direction::h2d, memory_kind::pinned);
  recorded.add_copy(3 * ms, 4 * ms, 100, direction::h2d, memory_kind::unknown);
  recorded.close();
  const indexed loaded(recorded.open());
  const report target = make_report(loaded.index, *loaded.snapshot);
  const check_subject subject{target, loaded.snapshot->tables()};
  EXPECT_EQ(check(subject, {.pageable = 0.1})[0].status, verdict::unknown);
  EXPECT_EQ(check(subject, {.pageable = 0.5})[0].status, verdict::met);
}

TEST(check, copies_of_unknown_sizes_leave_the_share_open) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_copy(1 * ms, 2 * ms, 0, direction::h2d, memory_kind::unknown);
  recorded.add_copy(3 * ms, 4 * ms, 100, direction::d2h, memory_kind::pinned);
  recorded.close();
  const indexed loaded(recorded.open());
  const report subject = make_report(loaded.index, *loaded.snapshot);
  const condition open = check({subject, loaded.snapshot->tables()}, {.pageable = 0.1})[0];
  EXPECT_EQ(open.status, verdict::unknown);
  EXPECT_EQ(open.reason, "the size of a copy was not recorded");
}

TEST(check, idle_is_a_share_of_the_active_time) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(0 * ms, 10 * ms);
  recorded.add_kernel(30 * ms, 40 * ms);
  recorded.close();
  const indexed loaded(recorded.open());
  const report target = make_report(loaded.index, *loaded.snapshot);
  const check_subject subject{target, loaded.snapshot->tables()};
  const condition idle = check(subject, {.idle = 0.4})[0];
  EXPECT_EQ(idle.status, verdict::not_met);
  EXPECT_DOUBLE_EQ(idle.measured.value_or(0), 0.5);
  EXPECT_EQ(check(subject, {.idle = 0.5})[0].status, verdict::met);
}

TEST(check, findings_are_judged_by_severity) {
  recording recorded;
  training(recorded, {.steps = 12, .leak = true}).tell();
  recorded.close();
  const indexed loaded(recorded.open());
  const report subject = make_report(loaded.index, *loaded.snapshot);
  const auto at_least = [&](trace::severity severity) {
    return static_cast<double>(std::count_if(subject.findings.begin(), subject.findings.end(),
                                             [&](const finding& each) { return each.severity >= severity; }));
  };
  ASSERT_GT(at_least(trace::severity::warning), 0);
  for (const auto source : {trace::severity::info, trace::severity::warning, trace::severity::error}) {
    const condition findings = check({subject, loaded.snapshot->tables()}, {.findings = source})[0];
    EXPECT_EQ(findings.measured, at_least(source));
    EXPECT_EQ(findings.status, at_least(source) > 0 ? verdict::not_met : verdict::met);
  }
}

TEST(check, one_that_is_not_met_outweighs_one_that_is_unknown) {
  condition met, unknown, not_met;
  met.status = verdict::met;
  unknown.status = verdict::unknown;
  not_met.status = verdict::not_met;
  EXPECT_EQ(overall_verdict(std::vector{met, met}), verdict::met);
  EXPECT_EQ(overall_verdict(std::vector{met, unknown}), verdict::unknown);
  EXPECT_EQ(overall_verdict(std::vector{unknown, not_met, met}), verdict::not_met);
}

TEST(check, quantities_read_as_in_the_report) {
  EXPECT_EQ(format_quantity(1.5 * static_cast<double>(gib), quantity::bytes), "1.50 GiB");
  EXPECT_EQ(format_quantity(-static_cast<double>(mib), quantity::bytes_per_step), "-1.00 MiB per step");
  EXPECT_EQ(format_quantity(0.05, quantity::share), "5 %");
  EXPECT_EQ(format_quantity(2'000'000, quantity::time), "2.00 ms");
  EXPECT_EQ(format_quantity(1234, quantity::count), "1,234");
}

}  // namespace
}  // namespace sluice::metrics
