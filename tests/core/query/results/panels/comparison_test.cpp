// The two sides of a comparison, and their differences: the numbers are those of `sluice diff`, from any source.
#include "core/query/types/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "core/export/recording/merge.hpp"
#include "core/generate/generate.hpp"
#include "core/metrics/comparison/diff.hpp"
#include "core/query/engine/engine.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/steps_program.hpp"

namespace sluice::query {
namespace {

using testing::mib;
using testing::ms;
using testing::recording;

/// Closes a recording in several sections, so that queries are answered from its sections.
void close_in_sections(recording& subject) {
  summary::finalize_options ending;
  ending.min_events = 1;
  ending.section_events = 20;
  ASSERT_TRUE(summary::finalize(subject.writer(), ending));
}

struct opened {
  explicit opened(const recording& subject) : opened(subject.path()) {}
  explicit opened(const std::string& path) : asked(trace::file::open(path).value()) {}
  [[nodiscard]] time_range span() const { return index::recorded_range(*asked.snapshot()); }
  std::shared_ptr<const metrics::compared_side> side(time_range range, std::optional<trace::device_id> device = {},
                                                     trace::process_id process = trace::process_id::none) {
    const auto found = asked.ask_now(compared_side_query{range, device, process});
    EXPECT_TRUE(found) << found.error().to_string();
    return found ? *found : nullptr;
  }
  engine asked;
};

void expect_equal(const metrics::compared_side& a, const metrics::compared_side& b) {
  ASSERT_EQ(a.metrics.memory.size(), b.metrics.memory.size());
  for (std::size_t i = 0; i < a.metrics.memory.size(); ++i) {
    const metrics::compared_memory& x = a.metrics.memory[i];
    const metrics::compared_memory& y = b.metrics.memory[i];
    EXPECT_EQ(x.metrics.maximum, y.metrics.maximum);
    EXPECT_EQ(x.metrics.maximum_time, y.metrics.maximum_time);
    EXPECT_EQ(x.metrics.allocations, y.metrics.allocations);
    EXPECT_EQ(x.at_peak.bytes(), y.at_peak.bytes());
    EXPECT_EQ(x.at_peak.shares.size(), y.at_peak.shares.size());
    EXPECT_EQ(x.allocated.bytes(), y.allocated.bytes());
    EXPECT_EQ(x.at_peak.bytes(), x.metrics.maximum) << "the stacks add up to the peak";
  }
  ASSERT_EQ(a.metrics.transfers.size(), b.metrics.transfers.size());
  for (std::size_t i = 0; i < a.metrics.transfers.size(); ++i) {
    EXPECT_EQ(a.metrics.transfers[i].metrics.bytes, b.metrics.transfers[i].metrics.bytes);
    EXPECT_EQ(a.metrics.transfers[i].sites.bytes(), b.metrics.transfers[i].sites.bytes());
  }
  ASSERT_EQ(a.metrics.idle.size(), b.metrics.idle.size());
  for (std::size_t i = 0; i < a.metrics.idle.size(); ++i) {
    EXPECT_EQ(a.metrics.idle[i].idle(), b.metrics.idle[i].idle());
    EXPECT_EQ(a.metrics.idle[i].causes.size(), b.metrics.idle[i].causes.size());
    ASSERT_EQ(a.metrics.idle[i].host.size(), b.metrics.idle[i].host.size());
    for (std::size_t k = 0; k < a.metrics.idle[i].host.size(); ++k) {
      EXPECT_EQ(a.metrics.idle[i].host[k].cause, b.metrics.idle[i].host[k].cause);
      EXPECT_EQ(a.metrics.idle[i].host[k].total, b.metrics.idle[i].host[k].total);
    }
  }
  ASSERT_EQ(a.compositions.size(), b.compositions.size());
  for (std::size_t i = 0; i < a.compositions.size(); ++i) {
    EXPECT_EQ(a.compositions[i].bytes, b.compositions[i].bytes);
    ASSERT_EQ(a.compositions[i].shares.size(), b.compositions[i].shares.size());
    for (std::size_t k = 0; k < a.compositions[i].shares.size(); ++k)
      EXPECT_EQ(a.compositions[i].shares[k].bytes, b.compositions[i].shares[k].bytes);
  }
  EXPECT_EQ(a.step_count, b.step_count);
  EXPECT_EQ(a.median_step, b.median_step);
}

TEST(compared_side, is_the_same_from_sections_and_from_an_index_of_everything) {
  recording small, large;
  for (recording* each : {&small, &large}) testing::write_steps(*each, 60, 32 * mib);
  small.close();
  close_in_sections(large);
  opened index(small), sections(large);
  for (const time_range range : {index.span(), time_range{55 * ms, 555 * ms}, time_range{100 * ms, 131 * ms}})
    expect_equal(*sections.side(range), *index.side(range));
  EXPECT_EQ(index.side(index.span())->step_count, 60U);
  EXPECT_EQ(index.side(index.span())->median_step, 10 * ms);
  EXPECT_EQ(index.side({100 * ms, 131 * ms})->step_count, 4U) << "that begin in the range";
}

TEST(compared_side, has_the_same_causes_of_idle_time_from_any_source) {
  recording small, large;
  const std::string path = small.path() + ".generated";
  ASSERT_TRUE(generate::generate({.events = 6'000, .host_samples = true}, path));
  const auto generated = trace::file::open(path).value()->latest();
  for (recording* each : {&small, &large}) testing::copy_rows(*generated, each->writer());
  std::filesystem::remove(path);
  small.close();
  close_in_sections(large);
  opened index(small), stored(large);
  const time_range span = index.span();
  for (const time_range range : {span, time_range{span.begin + span.length() / 3, span.end - span.length() / 5}})
    expect_equal(*stored.side(range), *index.side(range));
  ASSERT_EQ(stored.side(span)->metrics.idle.size(), 1U);
  EXPECT_GE(stored.side(span)->metrics.idle[0].host.size(), 3U);
  const comparison_query query{{index.side(span), index.asked.snapshot()},
                               {stored.side(span), stored.asked.snapshot()}};
  const auto values = index.asked.ask_now(query).value()->values;
  const auto compiles = std::find_if(values.begin(), values.end(), [](const metrics::compared_value& each) {
    return each.label.starts_with("GPU 0 idle: the host compiles CUDA C++ (NVRTC), at ");
  });
  ASSERT_NE(compiles, values.end());
  EXPECT_GT(compiles->before, 0);
  EXPECT_EQ(compiles->before, compiles->after);
  EXPECT_EQ(compiles->unit, metrics::compared_unit::time);
}

TEST(compared_side, of_one_device_leaves_the_others_out) {
  recording recorded;
  testing::write_steps(recorded, 3, 32 * mib);
  auto row = recorded.event<trace::alloc_event>(900 * ms);
  row.block = trace::block_id{900};
  row.bytes = 7 * mib;
  row.kind = trace::memory_kind::host;
  row.layer = trace::layer::user;
  recorded.writer().add(row);
  recorded.close();
  opened whole(recorded);
  EXPECT_EQ(whole.side(whole.span())->metrics.memory.size(), 2U);
  EXPECT_EQ(whole.side(whole.span(), trace::device_id{1})->metrics.memory.size(), 1U);
  EXPECT_TRUE(whole.side(whole.span(), trace::device_id{5})->metrics.memory.empty());
}

/// Fixture with two processes that share a GPU: each in its own recording, and both in one recording.
class two_ranks : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_steps(own_[0], 40, 32 * mib);
    testing::write_steps(own_[1], 60, 48 * mib, 1 * mib);
    std::vector<std::shared_ptr<const trace::snapshot>> parts;
    for (recording& each : own_) {
      each.close();
      parts.push_back(trace::file::open(each.path()).value()->latest());
    }
    const auto done = exports::merge(parts, both_);
    ASSERT_TRUE(done) << done.error().to_string();
    const auto merged = trace::file::open(both_).value()->latest();
    for (const trace::process_row& each : merged->tables().processes.rows()) processes_.push_back(each.id);
    ASSERT_EQ(processes_.size(), 2U);
    ASSERT_EQ(merged->tables().devices.rows().size(), 1U) << "they share it";
    testing::copy_rows(*merged, in_sections_.writer());
    close_in_sections(in_sections_);
  }
  void TearDown() override { std::filesystem::remove(both_); }
  recording own_[2];
  recording in_sections_;
  const std::string both_ = in_sections_.path() + ".merged";
  std::vector<trace::process_id> processes_;
};

TEST_F(two_ranks, of_one_gpu_are_as_if_each_had_been_recorded_alone) {
  opened both(both_), sections(in_sections_);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    opened alone(own_[rank]);
    for (const time_range range : {both.span(), time_range{55 * ms, 355 * ms}, time_range{100 * ms, 131 * ms}}) {
      const auto expected = alone.side(range);
      ASSERT_EQ(expected->metrics.memory.size(), 1U);
      ASSERT_EQ(expected->metrics.transfers.size(), 1U);
      expect_equal(*both.side(range, {}, processes_[rank]), *expected);
      expect_equal(*sections.side(range, {}, processes_[rank]), *expected);
    }
  }
}

TEST_F(two_ranks, are_less_than_both_together) {
  opened both(both_);
  const std::uint64_t total = both.side(both.span())->metrics.memory.at(0).metrics.maximum;
  const std::uint64_t first = both.side(both.span(), {}, processes_[0])->metrics.memory.at(0).metrics.maximum;
  EXPECT_EQ(first, 132 * mib);
  EXPECT_GT(total, first + 148 * mib);
}

class two_recordings : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_steps(before_, 10, 32 * mib);
    testing::write_steps(after_, 20, 48 * mib);
    before_.close();
    after_.close();
    a_ = std::make_unique<opened>(before_);
    b_ = std::make_unique<opened>(after_);
  }
  std::shared_ptr<const metrics::comparison> compared(bool libraries = true) {
    const comparison_query query{{a_->side(a_->span()), a_->asked.snapshot()},
                                 {b_->side(b_->span()), b_->asked.snapshot()},
                                 {.libraries = libraries}};
    return b_->asked.ask_now(query).value();
  }
  recording before_, after_;
  std::unique_ptr<opened> a_, b_;
};

TEST_F(two_recordings, differ_by_what_sluice_diff_says) {
  const auto found = compared();
  symbols::frame_cache names_a, names_b;
  const auto side_a = a_->side(a_->span());
  const auto side_b = b_->side(b_->span());
  const auto snapshot_a = a_->asked.snapshot();
  const auto snapshot_b = b_->asked.snapshot();
  const metrics::difference said = metrics::compare({side_a->metrics, snapshot_a->tables()}, names_a,
                                                    {side_b->metrics, snapshot_b->tables()}, names_b);
  ASSERT_EQ(found->memory.size(), 1U);
  ASSERT_EQ(said.memory.size(), 1U);
  EXPECT_EQ(found->memory[0].before.maximum, said.memory[0].before.maximum);
  EXPECT_EQ(found->memory[0].after.maximum, said.memory[0].after.maximum);
  EXPECT_EQ(found->memory[0].label, "GPU 0, framework tensors");
  const auto value = [&](std::string_view label) {
    const auto at = std::find_if(found->values.begin(), found->values.end(),
                                 [&](const metrics::compared_value& each) { return each.label == label; });
    EXPECT_NE(at, found->values.end()) << label;
    return at == found->values.end() ? metrics::compared_value{} : *at;
  };
  EXPECT_EQ(value("peak, GPU 0, framework tensors").after, static_cast<double>(148 * mib));
  EXPECT_EQ(value("copied, GPU 0, host to device").before, said.transfers[0].before.bytes);
  EXPECT_EQ(value("copied, GPU 0, host to device").after, static_cast<double>(80 * mib));
  EXPECT_EQ(value("median step").before, static_cast<double>(10 * ms));
  EXPECT_EQ(value("steps").after, 20.0);
}

TEST_F(two_recordings, name_the_line_and_module_that_grew) {
  const auto found = compared();
  const metrics::memory_difference& memory = found->memory.at(0);
  ASSERT_EQ(memory.lines.size(), 2U);
  EXPECT_EQ(memory.lines[0].name, "Block.forward");
  EXPECT_EQ(memory.lines[0].place, "a/model.py:40");
  EXPECT_EQ(memory.lines[0].before.bytes, 32 * mib);
  EXPECT_EQ(memory.lines[0].after.bytes, 48 * mib);
  EXPECT_EQ(memory.lines[1].before, memory.lines[1].after);
  ASSERT_EQ(memory.modules.size(), 2U) << "the weights' stack has no forward";
  EXPECT_EQ(memory.modules[0].name, "Block.forward");
  EXPECT_TRUE(memory.by_module) << "all growth is in a module";
  ASSERT_EQ(memory.lines[0].stacks_after.size(), 1U);
  std::uint64_t by_category = 0;
  for (const metrics::grown_group& each : memory.categories) by_category += each.after.bytes;
  EXPECT_EQ(by_category, memory.after.maximum);
}

TEST_F(two_recordings, have_a_tree_that_holds_the_larger_side_of_each_stack) {
  const auto found = compared();
  const metrics::difference_tree& tree = found->memory.at(0).flames;
  ASSERT_EQ(tree.tree.nodes.size(), 3U);
  EXPECT_EQ(tree.before[0], 132 * mib);
  EXPECT_EQ(tree.after[0], 148 * mib);
  EXPECT_EQ(tree.tree.nodes[0].all.bytes, 148 * mib);
  EXPECT_EQ(tree.tree.nodes[0].end, 3U);
  EXPECT_EQ(tree.lines[tree.tree.nodes[1].line].function, "Net.__init__") << "the heaviest child first";
  EXPECT_EQ(tree.before[2], 32 * mib);
  EXPECT_EQ(tree.after[2], 48 * mib);
}

TEST(difference_tree, folds_libraries_and_keeps_stacks_that_only_one_side_has) {
  const auto line = [](const char* function, bool own) {
    symbols::frame_line frame_line;
    frame_line.kind = trace::frame_kind::python;
    frame_line.function = function;
    frame_line.file = own ? "/home/a/own.py" : "/usr/lib/python3/site-packages/torch/library.py";
    frame_line.own = own;
    return frame_line;
  };
  std::vector<metrics::stack_change> changes(2);
  changes[0].stack = {line("empty", false), line("call", false), line("main", true)};
  changes[0].before = {100, 1, 0, 0};
  changes[1].stack = {line("other", true), line("main", true)};
  changes[1].after = {30, 2, 0, 0};
  const metrics::difference_tree folded = metrics::merge_changes(changes, false);
  ASSERT_EQ(folded.tree.nodes.size(), 4U) << "root, main, empty, other: not call";
  EXPECT_EQ(folded.tree.nodes[1].all.bytes, 130U);
  EXPECT_EQ(folded.before[1], 100U);
  EXPECT_EQ(folded.after[1], 30U);
  EXPECT_EQ(metrics::merge_changes(changes, true).tree.nodes.size(), 5U);
}

TEST(difference_tree, of_nothing_is_a_root) {
  const metrics::difference_tree tree = metrics::merge_changes({}, false);
  ASSERT_EQ(tree.tree.nodes.size(), 1U);
  EXPECT_EQ(tree.tree.nodes[0].end, 1U);
}

}  // namespace
}  // namespace sluice::query
