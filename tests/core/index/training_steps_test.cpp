#include "core/index/tensors/training_steps.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

namespace sluice::index::training_steps {
namespace {

using trace::stack_id;
using trace::thread_id;

/// Adds the allocations of a training one after another, 10 ns apart.
class reported {
 public:
  static constexpr thread_id main{1}, engine{2};

  block_record& add(step_phase phase, std::uint64_t stack, thread_id thread = main, std::uint64_t bytes = 100) {
    block_record& block = *blocks_.emplace_back(std::make_unique<block_record>());
    block.id = trace::block_id{blocks_.size()};
    block.born = now += 10;
    block.bytes = bytes;
    block.thread = thread;
    block.stack = stack_id{stack};
    block.allocated = true;
    phases_.push_back(phase);
    return block;
  }
  void forward(int layers = 3) {
    add(step_phase::other, 1);  // The step's input.
    for (int i = 0; i < layers; ++i) add(step_phase::model, 10 + static_cast<std::uint64_t>(i));
  }
  std::vector<block_record*> backward(int gradients = 3) {
    std::vector<block_record*> kept;
    for (int i = 0; i < gradients; ++i) kept.push_back(&add(step_phase::backward, 20, engine));
    return kept;
  }
  void optimizer() { add(step_phase::optimizer, 30).died = now + 1; }
  void free(const std::vector<block_record*>& blocks) {
    now += 1;
    for (block_record* block : blocks) block->died = now;
  }

  step_list found() const {
    std::vector<phased_block> blocks;
    for (std::size_t i = 0; i < blocks_.size(); ++i) blocks.push_back({blocks_[i].get(), phases_[i]});
    return find_training_steps(blocks, now + 1000);
  }

  time_ns now = 0;

 private:
  std::vector<std::unique_ptr<block_record>> blocks_;
  std::vector<step_phase> phases_;
};

std::vector<time_ns> collect_begins(const step_list& list) {
  std::vector<time_ns> times;
  for (const step& each : list.steps) times.push_back(each.span.begin);
  return times;
}

TEST(training_steps, begin_with_the_first_block_after_the_optimizer) {
  reported recorded;
  for (int i = 0; i < 5; ++i) recorded.add(step_phase::other, 90);  // Creation of the model.
  std::vector<time_ns> expected;
  for (int i = 0; i < 4; ++i) {
    expected.push_back(recorded.now + 10);
    recorded.forward();
    const auto gradients = recorded.backward();
    recorded.optimizer();
    recorded.free(gradients);
  }
  EXPECT_EQ(collect_begins(recorded.found()), expected);
  EXPECT_EQ(recorded.found().source, step_source::pattern) << "inferred, and displayed as such";
}

TEST(training_steps, hold_several_passes_if_gradients_are_summed_up) {
  reported recorded;
  std::vector<time_ns> expected;
  for (int i = 0; i < 4; ++i) {
    expected.push_back(recorded.now + 10);
    std::vector<block_record*> gradients;
    for (int k = 0; k < 3; ++k) {
      recorded.forward();
      const auto more = recorded.backward(k == 0 ? 3 : 1);
      if (k == 0) gradients = more;
      if (k > 0) recorded.free(more);
    }
    recorded.optimizer();
    recorded.free(gradients);
  }
  EXPECT_EQ(collect_begins(recorded.found()), expected);
}

TEST(training_steps, end_where_gradients_are_freed_though_the_optimizer_allocates_in_its_first_step_only) {
  reported recorded;
  for (int i = 0; i < 6; ++i) {
    recorded.forward();
    const auto gradients = recorded.backward();
    if (i == 0) recorded.optimizer();
    recorded.free(gradients);
  }
  EXPECT_EQ(recorded.found().steps.size(), 6U);
}

TEST(training_steps, are_the_passes_if_nothing_tells_where_they_end) {
  reported recorded;
  for (int i = 0; i < 5; ++i) {
    recorded.forward();
    const auto gradients = recorded.backward();
    if (i == 0) recorded.optimizer();
    if (i > 0) recorded.free(gradients);  // The new gradients are added to the first gradients at once.
  }
  EXPECT_EQ(recorded.found().steps.size(), 5U);
}

TEST(training_steps, leave_out_an_evaluation_between_them) {
  reported recorded;
  std::vector<time_ns> expected;
  for (int i = 0; i < 6; ++i) {
    if (i == 3)
      for (int k = 0; k < 40; ++k) recorded.add(step_phase::model, 50);
    expected.push_back(recorded.now + 10);
    recorded.forward();
    const auto gradients = recorded.backward();
    recorded.optimizer();
    recorded.free(gradients);
  }
  EXPECT_EQ(collect_begins(recorded.found()), expected);
}

TEST(training_steps, are_not_split_by_another_thread_that_fetches_data_during_a_pass) {
  reported recorded;
  for (int i = 0; i < 5; ++i) {
    recorded.forward();
    auto gradients = recorded.backward(2);
    recorded.add(step_phase::other, 60, thread_id{3});
    const auto more = recorded.backward(2);
    gradients.insert(gradients.end(), more.begin(), more.end());
    recorded.optimizer();
    recorded.free(gradients);
  }
  EXPECT_EQ(recorded.found().steps.size(), 5U);
}

TEST(training_steps, are_none_without_backward_passes) {
  reported recorded;
  for (int i = 0; i < 20; ++i) recorded.forward();
  EXPECT_TRUE(recorded.found().steps.empty());
}

// --- loops ----------------------------------------------------------------------------------------------------------

/// The steps of a program that allocates one block per stack, 10 ns apart. Each stack is a list of lines, outermost
/// first; functions are numbered by depth.
step_list make_loop(const std::vector<std::vector<std::int64_t>>& stacks) {
  std::vector<block_record> blocks(stacks.size());
  std::vector<const block_record*> in_order;
  std::map<const block_record*, std::vector<code_line>> lines;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    blocks[i].born = static_cast<time_ns>(10 * i);
    in_order.push_back(&blocks[i]);
    for (std::size_t depth = 0; depth < stacks[i].size(); ++depth)
      lines[&blocks[i]].push_back({depth + 1, stacks[i][depth]});
  }
  const auto get_lines = [&](const block_record& block) { return std::span<const code_line>(lines[&block]); };
  return find_loop(in_order, get_lines, 1000);
}

TEST(loop_steps, begin_where_execution_returns_to_an_earlier_line) {
  EXPECT_EQ(collect_begins(make_loop({{5}, {10}, {11}, {10}, {11}, {10}, {11}, {20}})),
            (std::vector<time_ns>{10, 30, 50}));
}

TEST(loop_steps, are_those_of_the_outermost_loop) {
  const std::vector<std::vector<std::int64_t>> stacks{{7, 10},    {7, 10, 3}, {7, 10, 4}, {7, 10, 3}, {7, 10, 4},
                                                      {7, 12},    {7, 10, 3}, {7, 10, 4}, {7, 10, 3}, {7, 12},
                                                      {7, 10, 3}, {7, 10, 4}, {7, 12}};
  EXPECT_EQ(collect_begins(make_loop(stacks)), (std::vector<time_ns>{0, 60, 100})) << "in the function at depth 2";
}

TEST(loop_steps, are_those_of_the_outer_one_of_two_loops_in_a_function) {
  EXPECT_EQ(collect_begins(make_loop({{10}, {11}, {10}, {11}, {13}, {10}, {11}, {10}, {11}, {13}, {10}, {11}, {13}})),
            (std::vector<time_ns>{0, 50, 100}));
}

TEST(loop_steps, are_none_in_code_that_runs_once) {
  EXPECT_TRUE(make_loop({{1}, {2}, {2}, {2}, {3}, {4}, {5}}).steps.empty())
      << "a line that allocates often is not a loop";
}

// --- graphs and kernels ---------------------------------------------------------------------------------------------

TEST(graph_steps, begin_with_each_launch_of_the_graph_that_begins_the_sequence) {
  std::vector<graph_launch> launches{{5, trace::graph_id{9}}};  // A launch during warm-up.
  for (time_ns i = 0; i < 4; ++i) {
    launches.push_back({100 + 10 * i, trace::graph_id{1}});
    launches.push_back({103 + 10 * i, trace::graph_id{2}});
  }
  EXPECT_EQ(collect_begins(find_graph_steps(launches, 1000)), (std::vector<time_ns>{100, 110, 120, 130}));
  EXPECT_TRUE(find_graph_steps(std::span(launches).first(3), 1000).steps.empty());
}

TEST(kernel_steps, begin_where_the_sequence_starts_to_repeat_itself) {
  std::vector<kernel_start> kernels;
  std::uint64_t event = 0;
  const auto add = [&](std::uint64_t name) {
    kernels.push_back({static_cast<time_ns>(100 * (event + 1)), trace::event_id{++event}, trace::string_id{name}});
  };
  for (std::uint64_t name : {50, 51, 50}) add(name);
  std::vector<time_ns> expected;
  for (int i = 0; i < 5; ++i) {
    expected.push_back(static_cast<time_ns>(100 * (event + 1)));
    for (std::uint64_t name : {1, 2, 3, 2}) add(name);
  }
  EXPECT_EQ(collect_begins(find_kernel_pattern(kernels, 100'000)), expected);
}

TEST(kernel_steps, begin_after_the_longest_pause_of_the_pattern) {
  std::vector<kernel_start> kernels;
  std::uint64_t event = 0;
  std::vector<time_ns> expected;
  for (time_ns i = 0; i < 6; ++i) {
    expected.push_back(1000 * i + 500);
    for (time_ns k = 0; k < 5; ++k)
      kernels.push_back(
          {1000 * i + 500 + 10 * k, trace::event_id{++event}, trace::string_id{static_cast<std::uint64_t>(1 + k % 3)}});
  }
  EXPECT_EQ(collect_begins(find_kernel_pattern(kernels, 10'000)), expected);
}

TEST(pattern_steps, begin_with_the_first_step_though_a_library_allocates_in_it) {
  std::vector<block_record> blocks;
  const auto add = [&](std::uint64_t bytes) {
    block_record& block = blocks.emplace_back();
    block.born = static_cast<time_ns>(10 * blocks.size());
    block.died = block.born + 5;
    block.bytes = bytes;
  };
  for (int i = 0; i < 6; ++i)
    for (std::uint64_t k = 1; k <= 10; ++k) {
      if (i == 0 && k == 4) add(33'000);
      add(100 * k);
    }
  std::vector<const block_record*> in_order;
  for (const block_record& block : blocks) in_order.push_back(&block);
  EXPECT_EQ(find_pattern(in_order, 10'000).steps.size(), 6U);
}

}  // namespace
}  // namespace sluice::index::training_steps
