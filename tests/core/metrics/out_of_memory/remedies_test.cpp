// Changes that would have let a failed allocation fit, in programs for which the result is known.
#include <gtest/gtest.h>

#include "tests/core/metrics/reports.hpp"
#include "tests/core/recordings/torch_program.hpp"

namespace sluice::metrics::remedies_chosen {
namespace {

using testing::mib;
using testing::recording;
using testing::torch_program;

std::vector<remedy> get_kinds(const out_of_memory_report& report) {
  std::vector<remedy> kinds;
  for (const oom_change& each : report.changes) kinds.push_back(each.kind);
  return kinds;
}

/// The report on a recording with one failure.
out_of_memory_report failure_in(recording& recorded) {
  const report whole_report = testing::build_report(recorded);
  EXPECT_EQ(whole_report.out_of_memory.size(), 1U);
  return whole_report.out_of_memory.empty() ? out_of_memory_report{} : whole_report.out_of_memory.front();
}

/// Allocates a block in its own segment and uses it once.
std::uint64_t alone(torch_program& program, std::uint64_t bytes, const char* function, std::uint64_t line,
                    const char* category) {
  const auto segment = program.segment(bytes);
  const auto block = program.block(segment, 0, bytes, function, line);
  if (category != nullptr) program.tag(category);
  program.use(block);
  return block;
}

/// Writes a program on a GPU of 340 MiB: 20 MiB of weights, and five calls of a function, each of which keeps
/// activations of 30 MiB and 20 MiB. Then a request for `asked` bytes fails.
void five_calls(recording& recorded, const char* function, std::uint64_t asked) {
  torch_program program(recorded, 340 * mib);
  const auto weights = alone(program, 20 * mib, "build", 10, "weight");
  for (int i = 0; i < 5; ++i) {
    alone(program, 30 * mib, function, 11, "activation");
    alone(program, 20 * mib, function, 12, "activation");
    program.use(weights);
  }
  program.fail(asked, asked);
}

TEST(remedies, checkpointing_keeps_the_input_of_each_call_and_all_of_the_last) {
  recording recorded;
  five_calls(recorded, "Block.forward", 60 * mib);
  const out_of_memory_report report = failure_in(recorded);
  ASSERT_FALSE(report.changes.empty()) << report.verdict;
  const oom_change& first = report.changes.front();
  EXPECT_EQ(first.kind, remedy::checkpoint) << first.text;
  EXPECT_EQ(first.checked_by, remedy_check::layout);
  EXPECT_EQ(first.freed, 4 * 20 * mib) << "the smaller activation of each call but the last";
  EXPECT_NE(first.text.find("Checkpoint Block.forward"), std::string::npos) << first.text;
  EXPECT_FALSE(report.metrics.only_together);
}

TEST(remedies, checkpointing_is_not_named_if_it_frees_too_little) {
  recording recorded;
  five_calls(recorded, "Block.forward", 90 * mib);
  EXPECT_EQ(get_kinds(failure_in(recorded)), std::vector{remedy::smaller_batch}) << "80 MiB are not enough, 125 are";
}

TEST(remedies, half_the_batch_halves_the_activations) {
  recording recorded;
  five_calls(recorded, "compute", 60 * mib);
  const out_of_memory_report report = failure_in(recorded);
  ASSERT_EQ(get_kinds(report), std::vector{remedy::smaller_batch})
      << "no module, so nothing to checkpoint: " << report.verdict;
  const oom_change& change = report.changes.front();
  EXPECT_EQ(change.checked_by, remedy_check::replay);
  EXPECT_EQ(change.freed, 5 * 25 * mib);
  EXPECT_LE(change.reserved, 270 * mib) << "what the allocator held when it failed";
}

TEST(remedies, half_the_batch_is_not_named_if_it_frees_too_little) {
  recording recorded;
  five_calls(recorded, "compute", 200 * mib);
  const out_of_memory_report report = failure_in(recorded);
  EXPECT_TRUE(report.changes.empty());
  EXPECT_NE(report.verdict.find("except 200 MiB more"), std::string::npos) << report.verdict;
}

/// Writes a program with 40 MiB that are never read again and 40 MiB of idle weights. Then a request for `asked` bytes
/// fails.
void two_small_wastes(recording& recorded, std::uint64_t asked) {
  torch_program program(recorded, 340 * mib);
  alone(program, 40 * mib, "keep_history", 20, nullptr);
  alone(program, 40 * mib, "build_teacher", 30, "weight");
  const auto used = alone(program, 200 * mib, "build", 10, "weight");
  program.use(used, 60);
  program.fail(asked, asked);
}

TEST(remedies, are_named_together_if_none_is_enough_alone) {
  recording recorded;
  two_small_wastes(recorded, 70 * mib);
  const out_of_memory_report report = failure_in(recorded);
  EXPECT_TRUE(report.metrics.only_together) << report.verdict;
  EXPECT_EQ(get_kinds(report), (std::vector{remedy::free_unused, remedy::move_idle_state}));
  EXPECT_NE(report.verdict.find("together, but not with one alone"), std::string::npos) << report.verdict;
  EXPECT_EQ(report.changes.front().freed, 40 * mib);
  EXPECT_EQ(report.changes.back().freed, 40 * mib);
}

TEST(remedies, are_named_one_by_one_if_each_is_enough) {
  recording recorded;
  two_small_wastes(recorded, 38 * mib);
  const out_of_memory_report report = failure_in(recorded);
  EXPECT_FALSE(report.metrics.only_together);
  EXPECT_EQ(get_kinds(report), (std::vector{remedy::free_unused, remedy::move_idle_state}));
}

TEST(remedies, are_not_named_if_even_together_they_free_too_little) {
  recording recorded;
  two_small_wastes(recorded, 90 * mib);
  EXPECT_TRUE(failure_in(recorded).changes.empty());
}

}  // namespace
}  // namespace sluice::metrics::remedies_chosen
