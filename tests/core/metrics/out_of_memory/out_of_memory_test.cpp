// Reports on an allocation that failed for lack of memory suggest only changes that help.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/metrics/reports.hpp"
#include "tests/core/metrics/training_recording.hpp"
#include "tests/core/recordings/torch_program.hpp"

namespace sluice::metrics {
namespace {

using testing::mib;
using testing::ms;
using testing::recording;
using testing::torch_program;
using testing::write_fragments;
using testing::write_history;

const out_of_memory_report& get_failure(const report& whole_report) {
  EXPECT_EQ(whole_report.out_of_memory.size(), 1U);
  static const out_of_memory_report none;
  return whole_report.out_of_memory.empty() ? none : whole_report.out_of_memory.front();
}

std::vector<remedy> get_kinds(const out_of_memory_report& report) {
  std::vector<remedy> kinds;
  for (const oom_change& each : report.changes) kinds.push_back(each.kind);
  return kinds;
}

std::string fact(const out_of_memory_report& report, std::string_view label) {
  for (const auto& [name, said] : report.facts)
    if (name == label) return said;
  return {};
}

TEST(out_of_memory, is_silent_without_a_failure) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(ms, 1, mib);
  EXPECT_TRUE(build_report(recorded).out_of_memory.empty());
}

TEST(out_of_memory, says_what_there_was_and_who_held_it) {
  recording recorded;
  write_history(recorded);
  const report whole_report = build_report(recorded);
  const out_of_memory_report& memory_report = get_failure(whole_report);
  EXPECT_EQ(memory_report.metrics.asked, 90 * mib);
  EXPECT_EQ(memory_report.metrics.needed, 90 * mib);
  EXPECT_EQ(memory_report.metrics.layer, trace::layer::framework);
  EXPECT_EQ(memory_report.metrics.limit, memory_limit::device) << "the driver refused a segment right before";
  EXPECT_EQ(memory_report.metrics.limit_from, 340 * mib);
  EXPECT_EQ(memory_report.metrics.used, 300 * mib);
  EXPECT_EQ(memory_report.metrics.reserved, 300 * mib);
  EXPECT_EQ(memory_report.metrics.largest_hole, 0U);
  ASSERT_EQ(memory_report.lines.lines.size(), 3U);
  EXPECT_EQ(memory_report.lines.bytes, 300 * mib);
  EXPECT_EQ(memory_report.lines.lines.front().place.line.file, "/home/me/train.py");
  EXPECT_EQ(memory_report.where.line.line, 40U) << "the caller";
  EXPECT_NE(fact(memory_report, "requested").find("train.py:40"), std::string::npos)
      << fact(memory_report, "requested");
  EXPECT_EQ(whole_report.failures.size(), 1U) << "the driver's failure is the same one";
}

TEST(out_of_memory, names_blocks_that_nothing_used_any_more_if_freeing_them_is_enough) {
  recording recorded;
  write_history(recorded);
  const report whole_report = build_report(recorded);
  const out_of_memory_report& memory_report = get_failure(whole_report);
  ASSERT_EQ(memory_report.unused.lines.size(), 1U);
  EXPECT_EQ(memory_report.unused.lines.front().place.line.line, 20U);
  EXPECT_EQ(memory_report.unused.bytes, 100 * mib);
  ASSERT_FALSE(memory_report.changes.empty()) << memory_report.verdict;
  const oom_change& first = memory_report.changes.front();
  EXPECT_EQ(first.kind, remedy::free_unused);
  EXPECT_EQ(first.checked_by, remedy_check::layout);
  EXPECT_EQ(first.freed, 100 * mib);
  EXPECT_NE(first.text.find("train.py:20 (keep_history)"), std::string::npos) << first.text;
  EXPECT_NE(first.advice.find("`del`"), std::string::npos) << "in Python terms: " << first.advice;
  const finding* found = testing::find(whole_report, finding_kind::failed_allocations);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->advice.find("train.py:20"), std::string::npos) << found->advice;
  EXPECT_EQ(found->saves.peak_bytes, 100 * mib);
  EXPECT_EQ(found->saves.basis, saving_basis::swept);
  EXPECT_EQ(found->event, memory_report.metrics.event);
}

TEST(out_of_memory, claims_nothing_of_blocks_in_use) {
  recording recorded;
  write_history(recorded, false);
  const report whole_report = build_report(recorded);
  const out_of_memory_report& memory_report = get_failure(whole_report);
  EXPECT_TRUE(memory_report.unused.lines.empty());
  EXPECT_TRUE(memory_report.changes.empty());
  EXPECT_NE(memory_report.verdict.find("except 90.0 MiB more memory"), std::string::npos) << memory_report.verdict;
  const finding* found = testing::find(whole_report, finding_kind::failed_allocations);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->saves.basis, saving_basis::none);
  EXPECT_EQ(found->advice, memory_report.verdict);
}

TEST(out_of_memory, tells_fragmentation_and_that_expandable_segments_would_have_helped) {
  recording recorded;
  write_fragments(recorded);
  const report whole_report = build_report(recorded);
  const out_of_memory_report& memory_report = get_failure(whole_report);
  EXPECT_EQ(memory_report.metrics.reserved, 240 * mib);
  EXPECT_EQ(memory_report.metrics.used, 16 * mib);
  EXPECT_EQ(memory_report.metrics.largest_hole, 56 * mib);
  ASSERT_FALSE(memory_report.pins.lines.empty());
  EXPECT_EQ(memory_report.pins.lines.front().place.line.line, 10U);
  EXPECT_EQ(memory_report.pins.lines.front().pinned_bytes, 224 * mib);
  EXPECT_EQ(memory_report.pins.lines.front().bytes, 16 * mib);
  EXPECT_EQ(get_kinds(memory_report), std::vector{remedy::expandable_segments}) << memory_report.verdict;
  EXPECT_EQ(memory_report.changes.front().checked_by, remedy_check::replay);
  EXPECT_LE(memory_report.changes.front().reserved, 240 * mib);
  const finding* found = testing::find(whole_report, finding_kind::failed_allocations);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->advice.find("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"), std::string::npos);
  EXPECT_EQ(found->saves.basis, saving_basis::modelled);
}

TEST(out_of_memory, does_not_promise_expandable_segments_where_the_memory_is_really_full) {
  recording recorded;
  torch_program program(recorded, 340 * mib);
  std::vector<std::uint64_t> kept;
  for (int i = 0; i < 16; ++i) {
    const auto segment = program.segment(20 * mib);
    kept.push_back(program.block(segment, 0, 20 * mib, "keep", 10));
  }
  for (int i = 0; i < 3; ++i)
    for (const auto each : kept) program.use(each);
  program.fail(60 * mib, 60 * mib);
  const report whole_report = build_report(recorded);
  EXPECT_TRUE(get_failure(whole_report).changes.empty());
}

TEST(out_of_memory, infers_pytorchs_own_limit_if_the_driver_was_not_asked) {
  recording recorded;
  torch_program program(recorded, 1024 * mib);
  const auto segment = program.segment(100 * mib);
  program.use(program.block(segment, 0, 100 * mib, "build", 10));
  recorded.add_device_memory(program.tick(), 900 * mib, 1024 * mib);
  program.fail(50 * mib, 50 * mib, false);
  const report whole_report = build_report(recorded);
  const out_of_memory_report& memory_report = get_failure(whole_report);
  EXPECT_EQ(memory_report.metrics.limit, memory_limit::framework);
  EXPECT_EQ(memory_report.metrics.limit_from, 100 * mib);
  EXPECT_EQ(memory_report.metrics.limit_to, 150 * mib - 1);
  EXPECT_TRUE(memory_report.metrics.device_free_known);
  EXPECT_EQ(memory_report.metrics.device_free, 900 * mib);
  EXPECT_NE(fact(memory_report, "limit").find("set_per_process_memory_fraction"), std::string::npos);
}

TEST(out_of_memory, says_so_if_the_request_alone_is_too_large) {
  recording recorded;
  torch_program program(recorded, 340 * mib);
  const auto segment = program.segment(100 * mib);
  program.use(program.block(segment, 0, 100 * mib, "build", 10));
  program.fail(400 * mib, 400 * mib);
  const report whole_report = build_report(recorded);
  EXPECT_TRUE(get_failure(whole_report).changes.empty());
  EXPECT_NE(get_failure(whole_report).verdict.find("exceeds the GPU's memory"), std::string::npos);
}

TEST(out_of_memory, of_the_driver_counts_what_is_free_on_the_device) {
  recording recorded;
  torch_program program(recorded, 1024 * mib);
  const auto dead = program.segment(40 * mib);
  program.use(dead);
  const auto used = program.segment(800 * mib);
  program.use(used, 40);
  recorded.add_device_memory(program.tick(), 100 * mib, 1024 * mib);
  auto row = recorded.event<trace::alloc_failed_event>(program.tick());
  row.kind = trace::memory_kind::device;
  row.device = trace::device_id{1};
  row.bytes = 130 * mib;
  row.error = 2;
  row.name = recorded.text("cuMemAlloc_v2");
  recorded.writer().add(row);
  const report whole_report = build_report(recorded);
  const out_of_memory_report& memory_report = get_failure(whole_report);
  EXPECT_EQ(memory_report.metrics.device_free, 100 * mib);
  EXPECT_EQ(memory_report.metrics.missing, 30 * mib);
  EXPECT_EQ(get_kinds(memory_report), std::vector{remedy::free_unused}) << "40 MiB are enough";
  EXPECT_NE(memory_report.changes.front().advice.find("cudaFree"), std::string::npos)
      << memory_report.changes.front().advice;
}

/// The first sample was taken while the driver gave 100 MiB, and does not have all of them.
TEST(out_of_memory, prefers_a_sample_after_the_failure_if_the_driver_gave_nothing_in_between) {
  recording recorded;
  torch_program program(recorded, 1024 * mib);
  program.use(program.segment(500 * mib), 40);
  recorded.add_device_memory(program.tick(), 300 * mib, 1024 * mib);
  program.use(program.segment(100 * mib));
  program.fail(400 * mib, 400 * mib);
  recorded.add_device_memory(program.tick(), 280 * mib, 1024 * mib);
  const report whole_report = build_report(recorded);
  EXPECT_EQ(get_failure(whole_report).metrics.device_free, 280 * mib);
  EXPECT_EQ(get_failure(whole_report).metrics.missing, 120 * mib);
}

TEST(out_of_memory, ignores_a_sample_after_the_failure_that_shows_the_memory_of_an_ended_process_as_free) {
  recording recorded;
  torch_program program(recorded, 1024 * mib);
  program.use(program.segment(600 * mib), 40);
  recorded.add_device_memory(program.tick(), 300 * mib, 1024 * mib);
  program.use(program.segment(100 * mib));
  program.fail(400 * mib, 400 * mib);
  recorded.add_device_memory(program.tick(), 1000 * mib, 1024 * mib);
  const report whole_report = build_report(recorded);
  EXPECT_EQ(get_failure(whole_report).metrics.device_free, 200 * mib);
}

/// The driver refuses 400 MiB to a caller beside PyTorch, while 100 MiB are free.
void refuse_another_caller(recording& recorded, torch_program& program) {
  recorded.add_device_memory(program.tick(), 100 * mib, 1024 * mib);
  auto row = recorded.event<trace::alloc_failed_event>(program.tick());
  row.kind = trace::memory_kind::device;
  row.device = trace::device_id{1};
  row.bytes = 400 * mib;
  row.error = 2;
  row.name = recorded.text("cuMemAlloc_v2");
  recorded.writer().add(row);
}

TEST(out_of_memory, of_another_caller_counts_what_pytorch_could_give_back) {
  recording recorded;
  torch_program program(recorded, 1024 * mib);
  const auto empty = program.segment(200 * mib);
  const auto in_use = program.segment(600 * mib);
  const auto gone = program.block(empty, 0, 200 * mib, "load", 10);
  program.block(in_use, 0, 500 * mib, "build", 20);
  program.free(gone);
  refuse_another_caller(recorded, program);
  const report whole_report = build_report(recorded);
  const out_of_memory_report& memory_report = get_failure(whole_report);
  EXPECT_EQ(memory_report.metrics.missing, 300 * mib);
  EXPECT_EQ(memory_report.metrics.releasable, 200 * mib) << "the other segment has a block";
  EXPECT_EQ(get_shortage(memory_report.metrics), 100 * mib);
  EXPECT_EQ(memory_report.shortage,
            "Short by 100 MiB: 400 MiB asked; 100 MiB free on the GPU, and 200 MiB that PyTorch could give back");
  EXPECT_EQ(whole_report.verdict.headline, "Out of memory: short by 100 MiB");
}

TEST(out_of_memory, says_that_the_free_memory_is_unknown) {
  recording recorded;
  torch_program program(recorded, 1024 * mib);
  program.use(program.block(program.segment(100 * mib), 0, 60 * mib, "build", 10));
  program.fail(400 * mib, 400 * mib);
  const report whole_report = build_report(recorded);
  EXPECT_EQ(get_failure(whole_report).shortage,
            "Short by up to 400 MiB: 400 MiB asked; the free memory on the GPU is unknown, and 40.0 MiB in holes that "
            "PyTorch could not use");
}

/// Writes a training of six steps, whose last forward pass requests more memory than the GPU has left.
void write_training(recording& recorded, const testing::training_options& options, std::uint64_t asked) {
  testing::training program(recorded, options);
  program.tell();
  auto row = recorded.event<trace::alloc_failed_event>(program.step_begins().back() + 255'000);
  row.layer = trace::layer::framework;
  row.kind = trace::memory_kind::device;
  row.device = trace::device_id{1};
  row.bytes = asked;
  row.error = 2;
  row.name = recorded.text("PyTorch");
  recorded.writer().add(row);
}

TEST(out_of_memory, of_a_training_names_optimizer_state_that_the_forward_pass_does_not_use) {
  recording recorded;
  write_training(recorded, {}, 100 * mib);
  const report whole_report = build_report(recorded);
  const out_of_memory_report& memory_report = get_failure(whole_report);
  EXPECT_TRUE(memory_report.unused.lines.empty()) << "all of it is used again";
  ASSERT_EQ(get_kinds(memory_report), std::vector{remedy::move_idle_state}) << memory_report.verdict;
  EXPECT_EQ(memory_report.changes.front().freed, 128 * mib) << "two blocks of 16 MiB for each of four layers";
  EXPECT_NE(memory_report.changes.front().text.find("of optimizer state on the host"), std::string::npos)
      << memory_report.changes.front().text;
  ASSERT_FALSE(memory_report.categories.lines.empty());
  std::uint64_t weights = 0;
  for (const oom_line& each : memory_report.categories.lines)
    if (each.category == index::category::weight) weights = each.bytes;
  EXPECT_EQ(weights, 64 * mib);
}

TEST(out_of_memory, of_a_training_finds_what_leaks_and_how_much_it_grew) {
  recording recorded;
  write_training(recorded, {.leak = true}, 8 * mib);
  const report whole_report = build_report(recorded);
  const out_of_memory_report& memory_report = get_failure(whole_report);
  EXPECT_EQ(memory_report.unused.blocks, 5U)
      << "one of each step before: nothing uses them, before the failure or after it";
  EXPECT_EQ(memory_report.unused.bytes, 10 * mib);
  ASSERT_FALSE(memory_report.changes.empty()) << memory_report.verdict;
  EXPECT_EQ(memory_report.changes.front().kind, remedy::free_unused);
  ASSERT_EQ(memory_report.grown.lines.size(), 1U);
  EXPECT_EQ(memory_report.grown.bytes, 2 * mib) << "one leaked block more than at this moment of the step before";
}

TEST(out_of_memory, of_an_allocation_that_was_retried_with_success_is_no_failure) {
  recording recorded;
  torch_program program(recorded, 340 * mib);
  const auto segment = program.segment(100 * mib);
  program.use(program.block(segment, 0, 100 * mib, "build", 10));
  auto row = recorded.event<trace::alloc_failed_event>(program.tick());
  row.kind = trace::memory_kind::device;
  row.device = trace::device_id{1};
  row.bytes = 100 * mib;
  row.error = 2;
  recorded.writer().add(row);
  program.segment(100 * mib);
  const report whole_report = build_report(recorded);
  EXPECT_EQ(whole_report.retries.count, 1U);
  EXPECT_TRUE(whole_report.out_of_memory.empty());
}

}  // namespace
}  // namespace sluice::metrics
