// The metrics of a growing recording equal those of all its sections, although most sections are added only once.
#include "core/summary/passes/growing_metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/core/summary/followed_program.hpp"
#include "tests/core/summary/same_stored_metrics.hpp"

namespace sluice::summary {
namespace {

using generate::generate_options;

/// Results within an index must not depend on which sections share it.
constexpr stored_metrics_options one_by_one{.sections_a_run = 1, .several_cores = false};

stored_metrics metrics_of_all(const growing_summary::outcome& subject) {
  return build_stored_metrics(*subject.sections, *subject.unsectioned, one_by_one).value();
}

class metrics_of_a_growing_program : public ::testing::TestWithParam<generate_options> {};

TEST_P(metrics_of_a_growing_program, are_those_of_all_its_sections) {
  followed_program followed(GetParam());
  growing_metrics metrics(one_by_one);
  std::vector<std::size_t> added;
  while (!followed.subject.ended()) {
    const auto found = followed.sum_up_after(0.08);
    const auto build = metrics.build(found);
    ASSERT_TRUE(build) << build.error().to_string();
    expect_same_values(*build, metrics_of_all(found));
    if (HasFatalFailure()) return;
    added.push_back(metrics.added());
  }
  EXPECT_TRUE(std::is_sorted(added.begin() + 3, added.end())) << "added metrics stay";
  EXPECT_GT(added.back(), 8u);
}

INSTANTIATE_TEST_SUITE_P(
    programs, metrics_of_a_growing_program,
    ::testing::Values(generate_options{.events = 30'000, .seed = 1},
                      generate_options{.events = 30'000, .seed = 2, .timeline = false},
                      generate_options{.events = 30'000, .seed = 3, .processes = 2},
                      generate_options{.events = 30'000, .seed = 4, .pattern = generate::program_pattern::inference}));

/// Fixture for recorded programs. ddp is excluded because one of its calls takes seconds: in this test, rows arrive
/// before the event that they describe ends.
class metrics_of_a_growing_recording : public ::testing::TestWithParam<const char*> {};

TEST_P(metrics_of_a_growing_recording, are_those_of_all_its_sections) {
  const std::string path = std::string(SLUICE_SOURCE_DIR "/tests/data/trainings/") + GetParam() + ".sluice";
  followed_program followed(path.c_str());
  growing_metrics metrics(one_by_one);
  while (!followed.subject.ended()) {
    const auto found = followed.sum_up_after(0.08);
    const auto build = metrics.build(found);
    ASSERT_TRUE(build) << build.error().to_string();
    const auto expected = metrics_of_all(found);
    SCOPED_TRACE(fmt::format("{} of {} sections added for good", metrics.added(), found.sections->sections().size()));
    expect_same_values(*build, expected);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(recordings, metrics_of_a_growing_recording,
                         ::testing::Values("accelerate_loop", "accumulation", "burst", "compiled", "cupy_loop",
                                           "evaluation", "fsdp2", "graphed", "jax_loop", "kept_gradients",
                                           "lightning_fit", "lora", "plain_cuda", "server", "torchvision_loop",
                                           "trainer", "trainer_accumulation"),
                         [](const auto& each) { return std::string(each.param); });

TEST(growing_metrics, begin_anew_with_the_summary_and_with_another_recording) {
  followed_program one(generate_options{.events = 20'000, .seed = 6});
  followed_program other(generate_options{.events = 20'000, .seed = 7});
  growing_metrics metrics(one_by_one);
  const auto first = one.sum_up_after(1), second = other.sum_up_after(1);
  ASSERT_TRUE(metrics.build(first));
  ASSERT_GT(metrics.added(), 2u);
  const auto build = metrics.build(second);
  ASSERT_TRUE(build);
  expect_same_values(*build, metrics_of_all(second));
}

TEST(growing_metrics, count_what_came_late_once_it_is_worth_it) {
  followed_program followed(generate_options{.events = 20'000, .seed = 9});
  growing_metrics metrics(one_by_one);
  const auto first = followed.sum_up_after(0.5);
  ASSERT_TRUE(metrics.build(first));
  ASSERT_GT(metrics.added(), 2u);
  const time_range whole = followed.subject.whole();
  trace::host_range_event late;
  late.time = whole.begin;
  late.end = whole.begin + whole.length() / 3;
  late.process = trace::process_id{1};
  late.thread = trace::thread_id{1};
  late.name = trace::string_id{1};
  followed.subject.recorded.writer().add(late);
  const auto second = followed.sum_up_after(0.1);
  ASSERT_GT(second.late_chunks, first.late_chunks);
  const auto expected = metrics_of_all(second);
  const auto count_uses = [](const stored_metrics& subject) {
    std::uint64_t count = 0;
    for (const metrics::named_time& each : subject.metrics.whole.ranges) count += each.count;
    return count;
  };
  std::optional<stored_metrics> output;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline && (!output || count_uses(*output) < count_uses(expected)))
    output = metrics.build(second).value();
  expect_same_values(*output, expected);
}

TEST(growing_metrics, begin_anew_after_they_were_stopped) {
  followed_program followed(generate_options{.events = 20'000, .seed = 8});
  growing_metrics metrics(one_by_one);
  const auto first = followed.sum_up_after(0.5);
  ASSERT_TRUE(metrics.build(first));
  const auto second = followed.sum_up_after(0.4);
  int asked = 0;
  const auto stopped = metrics.build(second, [&] { return ++asked < 20; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, error_code::cancelled);
  EXPECT_EQ(metrics.added(), 0u);
  const auto build = metrics.build(second);
  ASSERT_TRUE(build);
  expect_same_values(*build, metrics_of_all(second));
}

}  // namespace
}  // namespace sluice::summary
