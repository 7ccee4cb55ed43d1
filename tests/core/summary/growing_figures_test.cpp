// The figures of a recording that grows are those that all of its sections give, though most were added once.
#include "core/summary/passes/growing_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/core/summary/followed_program.hpp"
#include "tests/core/summary/same_stored_figures.hpp"

namespace sluice::analysis {
namespace {

using generate::generate_options;

/// What is found within an index must not depend on which sections share one.
constexpr stored_figures_options one_by_one{.sections_a_run = 1, .several_cores = false};

stored_figures figures_of_all(const growing_summary::outcome& of) {
  return build_stored_figures(*of.sections, *of.unsectioned, one_by_one).value();
}

class figures_of_a_growing_program : public ::testing::TestWithParam<generate_options> {};

TEST_P(figures_of_a_growing_program, are_those_of_all_its_sections) {
  followed_program followed(GetParam());
  growing_figures figures(one_by_one);
  std::vector<std::size_t> added;
  while (!followed.of.ended()) {
    const auto found = followed.sum_up_after(0.08);
    const auto made = figures.build(found);
    ASSERT_TRUE(made) << made.error().to_string();
    expect_same_values(*made, figures_of_all(found));
    if (HasFatalFailure()) return;
    added.push_back(figures.added());
  }
  EXPECT_TRUE(std::is_sorted(added.begin() + 3, added.end())) << "what was added stays";
  EXPECT_GT(added.back(), 8u);
}

INSTANTIATE_TEST_SUITE_P(
    programs, figures_of_a_growing_program,
    ::testing::Values(generate_options{.events = 30'000, .seed = 1},
                      generate_options{.events = 30'000, .seed = 2, .timeline = false},
                      generate_options{.events = 30'000, .seed = 3, .processes = 2},
                      generate_options{.events = 30'000, .seed = 4, .pattern = generate::program_pattern::inference}));

/// Programs that were recorded. (Without ddp, in which a call takes seconds: rows come here before what they tell is over.)
class figures_of_a_growing_recording : public ::testing::TestWithParam<const char*> {};

TEST_P(figures_of_a_growing_recording, are_those_of_all_its_sections) {
  const std::string path = std::string(SLUICE_SOURCE_DIR "/tests/data/trainings/") + GetParam() + ".sluice";
  followed_program followed(path.c_str());
  growing_figures figures(one_by_one);
  while (!followed.of.ended()) {
    const auto found = followed.sum_up_after(0.08);
    const auto made = figures.build(found);
    ASSERT_TRUE(made) << made.error().to_string();
    const auto expected = figures_of_all(found);
    SCOPED_TRACE(fmt::format("{} of {} sections added for good", figures.added(), found.sections->sections().size()));
    expect_same_values(*made, expected);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(recordings, figures_of_a_growing_recording,
                         ::testing::Values("accelerate_loop", "accumulation", "burst", "compiled", "cupy_loop",
                                           "evaluation", "fsdp2", "graphed", "jax_loop", "kept_gradients",
                                           "lightning_fit", "lora", "plain_cuda", "server", "torchvision_loop",
                                           "trainer", "trainer_accumulation"),
                         [](const auto& each) { return std::string(each.param); });

TEST(growing_figures, begin_anew_with_the_summary_and_with_another_recording) {
  followed_program one(generate_options{.events = 20'000, .seed = 6});
  followed_program other(generate_options{.events = 20'000, .seed = 7});
  growing_figures figures(one_by_one);
  const auto first = one.sum_up_after(1), second = other.sum_up_after(1);
  ASSERT_TRUE(figures.build(first));
  ASSERT_GT(figures.added(), 2u);
  const auto made = figures.build(second);
  ASSERT_TRUE(made);
  expect_same_values(*made, figures_of_all(second));
}

TEST(growing_figures, count_what_came_late_once_it_is_worth_it) {
  followed_program followed(generate_options{.events = 20'000, .seed = 9});
  growing_figures figures(one_by_one);
  const auto first = followed.sum_up_after(0.5);
  ASSERT_TRUE(figures.build(first));
  ASSERT_GT(figures.added(), 2u);
  const time_range whole = followed.of.whole();
  trace::host_range_event late;
  late.time = whole.begin;
  late.end = whole.begin + whole.length() / 3;
  late.process = trace::process_id{1};
  late.thread = trace::thread_id{1};
  late.name = trace::string_id{1};
  followed.of.made.writer().add(late);
  const auto second = followed.sum_up_after(0.1);
  ASSERT_GT(second.late_chunks, first.late_chunks);
  const auto expected = figures_of_all(second);
  const auto count_of = [](const stored_figures& of) {
    std::uint64_t count = 0;
    for (const named_time& each : of.figures.whole.ranges) count += each.count;
    return count;
  };
  std::optional<stored_figures> made;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline && (!made || count_of(*made) < count_of(expected)))
    made = figures.build(second).value();
  expect_same_values(*made, expected);
}

TEST(growing_figures, begin_anew_after_they_were_stopped) {
  followed_program followed(generate_options{.events = 20'000, .seed = 8});
  growing_figures figures(one_by_one);
  const auto first = followed.sum_up_after(0.5);
  ASSERT_TRUE(figures.build(first));
  const auto second = followed.sum_up_after(0.4);
  int asked = 0;
  const auto stopped = figures.build(second, [&] { return ++asked < 20; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, error_code::cancelled);
  EXPECT_EQ(figures.added(), 0u);
  const auto made = figures.build(second);
  ASSERT_TRUE(made);
  expect_same_values(*made, figures_of_all(second));
}

}  // namespace
}  // namespace sluice::analysis
