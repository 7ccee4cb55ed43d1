#include "core/metrics/check/baseline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/index/growing_index.hpp"
#include "core/metrics/make_report.hpp"
#include "tests/core/metrics/training_recording.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::metrics {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::indexed;
using testing::mib;
using testing::ms;
using testing::recording;
using testing::training;
using testing::training_options;
using trace::layer;
using trace::memory_kind;

/// A recording with all data that a comparison needs.
struct read_recording {
  explicit read_recording(recording& recorded)
      : all((recorded.close(), recorded.open())),
        subject(make_report(all.index, *all.snapshot)),
        compared(metrics_to_compare(all.index, *all.snapshot, index::recorded_range(*all.snapshot))),
        names(symbols::options_for(*all.snapshot)) {}
  baseline_side side() { return {subject, compared, all.snapshot->tables(), names}; }

  indexed all;
  report subject;
  compared_metrics compared;
  symbols::frame_cache names;
};

std::map<std::string, condition> by_name(std::vector<condition> conditions) {
  std::map<std::string, condition> parseds;
  for (condition& each : conditions) parseds.emplace(each.name, std::move(each));
  return parseds;
}

std::map<std::string, condition> trained(const training_options& before, const training_options& after,
                                         double tolerance) {
  recording first;
  training(first, before).tell();
  recording second;
  training(second, after).tell();
  read_recording old(first);
  read_recording now(second);
  return by_name(check_baseline(old.side(), now.side(), tolerance));
}

TEST(baseline, of_the_same_program_is_met) {
  const auto whole = trained({}, {}, 0);
  EXPECT_FALSE(whole.contains("baseline-reserved")) << "this program has no driver calls";
  for (const char* name : {"baseline-peak", "baseline-copied", "baseline-step-time"}) {
    ASSERT_TRUE(whole.contains(name)) << name;
    EXPECT_EQ(whole.at(name).status, verdict::met) << name << ": " << whole.at(name).reason;
    EXPECT_EQ(whole.at(name).measured, whole.at(name).baseline) << name;
  }
  EXPECT_TRUE(whole.at("baseline-peak").lines.empty()) << "nothing grew";
}

TEST(baseline, allows_as_much_as_the_tolerance) {
  const training_options more{.activation_bytes = 50 * mib};
  const auto strict = trained({}, more, 0);
  EXPECT_EQ(strict.at("baseline-peak").status, verdict::not_met);
  const double ratio = *strict.at("baseline-peak").measured / *strict.at("baseline-peak").baseline;
  EXPECT_GT(ratio, 1);
  EXPECT_EQ(trained({}, more, ratio - 1 + 0.001).at("baseline-peak").status, verdict::met);
  EXPECT_EQ(trained({}, more, (ratio - 1) / 2).at("baseline-peak").status, verdict::not_met);
}

TEST(baseline, names_the_lines_and_modules_that_grew) {
  const condition peak = trained({}, {.activation_bytes = 96 * mib}, 0.03).at("baseline-peak");
  ASSERT_FALSE(peak.lines.empty());
  EXPECT_EQ(peak.lines.front().name, "me/model.py:33, forward");
  EXPECT_GT(peak.lines.front().after, peak.lines.front().before);
  ASSERT_TRUE(peak.line);
  EXPECT_EQ(peak.line->line, 33U);
  EXPECT_FALSE(peak.modules.empty());
  EXPECT_THAT(peak.where, HasSubstr("me/model.py:33"));
}

TEST(baseline, memory_of_another_layer_is_not_compared) {
  recording first;
  training(first, {}).tell();
  recording second;
  second.standard_tables();
  second.add_alloc(1 * ms, 1, 100 * mib);
  read_recording old(first);
  read_recording now(second);
  const auto name = by_name(check_baseline(old.side(), now.side(), 0.03));
  EXPECT_EQ(name.at("baseline-peak").status, verdict::unknown);
  EXPECT_THAT(name.at("baseline-peak").reason, HasSubstr("another layer"));
  EXPECT_EQ(name.at("baseline-step-time").status, verdict::unknown);
  EXPECT_THAT(name.at("baseline-step-time").reason, HasSubstr("recording lacks"));
}

TEST(baseline, without_steps_says_nothing_of_their_time) {
  recording recorded[2];
  std::uint64_t size = 100 * mib;
  for (recording& each : recorded) {
    each.standard_tables();
    each.add_alloc(1 * ms, 1, size);
    size *= 2;
  }
  read_recording old(recorded[0]);
  read_recording now(recorded[1]);
  const auto name = by_name(check_baseline(old.side(), now.side(), 0));
  EXPECT_FALSE(name.contains("baseline-step-time"));
  EXPECT_EQ(name.at("baseline-reserved").status, verdict::not_met);
  EXPECT_EQ(name.at("baseline-reserved").baseline, static_cast<double>(100 * mib));
  EXPECT_EQ(name.at("baseline-reserved").measured, static_cast<double>(200 * mib));
}

TEST(baseline, groups_without_a_stack_are_one) {
  recording recorded[2];
  std::uint64_t size = 100 * mib;
  for (recording& each : recorded) {
    each.standard_tables();
    each.add_alloc(1 * ms, 1, size);
    size *= 2;
  }
  read_recording old(recorded[0]);
  read_recording now(recorded[1]);
  const auto grown = grown_parts(old.compared.memory[0].at_peak, old.side(), now.compared.memory[0].at_peak, now.side(),
                                 symbols::attribution::line, 5);
  ASSERT_EQ(grown.size(), 1U);
  EXPECT_EQ(grown[0].name, "without a stack");
  EXPECT_EQ(grown[0].after - grown[0].before, static_cast<double>(100 * mib));
}

}  // namespace
}  // namespace sluice::metrics
