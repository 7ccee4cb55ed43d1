#include "core/metrics/statistics/tensor_report.hpp"
#include "core/index/growing_index.hpp"

#include <gtest/gtest.h>

#include "core/index/tensor_facts.hpp"
#include "core/metrics/findings/findings.hpp"
#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/core/metrics/reports.hpp"
#include "tests/core/metrics/training_recording.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::metrics {
namespace {

using testing::find;
using testing::indexed;
using testing::mib;
using testing::recording;
using testing::training;
using testing::training_options;
using marking = training_options::marking;

/// A training, recorded and read.
struct read_training {
  explicit read_training(const training_options& options) : reported(recorded, options) {
    reported.tell();
    recorded.close();
    all.emplace(recorded.open());
    facts = all->index.tensors(*all->snapshot);
  }
  [[nodiscard]] index::block_category category_of_block(std::uint64_t id) const {
    const auto blocks = all->index.memory().blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].id == trace::block_id{id}) return facts->categories[i];
    return {};
  }
  /// The share of the blocks' bytes whose inferred category is the true category.
  [[nodiscard]] double right() const {
    double right = 0;
    double all_bytes = 0;
    const auto blocks = all->index.memory().blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto truth = reported.truth().find(raw(blocks[i].id));
      if (truth == reported.truth().end()) continue;
      all_bytes += static_cast<double>(blocks[i].bytes);
      if (facts->categories[i].kind == truth->second) right += static_cast<double>(blocks[i].bytes);
    }
    return right / all_bytes;
  }
  [[nodiscard]] const index::step_list& steps() const { return facts->steps->lists().at(trace::process_id{1}); }
  [[nodiscard]] report summed() const { return make_report(all->index, *all->snapshot); }

  recording recorded;
  training reported;
  std::optional<indexed> all;
  std::shared_ptr<const index::tensor_facts> facts;
};

// --- steps ----------------------------------------------------------------------------------------------------------

TEST(steps, are_those_the_program_marks) {
  const read_training training({.marks = marking::marks});
  ASSERT_EQ(training.steps().source, index::step_source::marks);
  ASSERT_EQ(training.steps().steps.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(training.steps().steps[i].span.begin, training.reported.step_begins()[i]);
    EXPECT_EQ(training.steps().steps[i].number, static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(training.steps().steps[2].span.end, training.reported.step_begins()[3])
      << "one lasts until the next begins";
  EXPECT_EQ(training.steps().at(training.reported.step_begins()[3])->number, 3);
  EXPECT_EQ(training.steps().at(training.reported.step_begins()[0] - 1), nullptr);
}

TEST(steps, are_ranges_called_so) {
  for (const marking options : {marking::profiler, marking::nvtx}) {
    const read_training training({.marks = options});
    EXPECT_EQ(training.steps().source,
              options == marking::profiler ? index::step_source::profiler_ranges : index::step_source::named_ranges);
    ASSERT_EQ(training.steps().steps.size(), 6U);
    EXPECT_EQ(training.steps().steps[4].span.begin, training.reported.step_begins()[4]);
    EXPECT_EQ(training.steps().steps[4].number, 4);
    EXPECT_FALSE(training.steps().inferred());
  }
}

TEST(steps, are_inferred_from_allocations_that_repeat) {
  const read_training training({.steps = 12, .marks = marking::none});
  ASSERT_EQ(training.steps().source, index::step_source::pattern);
  EXPECT_TRUE(training.steps().inferred());
  ASSERT_EQ(training.steps().steps.size(), 12U) << "includes the first, which allocates what the others reuse";
  const time_ns length = training.reported.step_begins()[6] - training.reported.step_begins()[5];
  for (std::size_t i = 0; i < 12; ++i) {
    const index::step& each = training.steps().steps[i];
    EXPECT_NEAR(static_cast<double>(each.span.begin), static_cast<double>(training.reported.step_begins()[i]),
                0.1 * static_cast<double>(length));
    if (i == 0) continue;
    EXPECT_NEAR(static_cast<double>(each.span.length()), static_cast<double>(length),
                0.1 * static_cast<double>(length));
  }
}

TEST(steps, are_not_found_where_nothing_repeats) {
  recording recorded;
  recorded.standard_tables();
  std::uint64_t size = 1;
  for (std::uint64_t i = 1; i <= 400; ++i) {
    size = size * 6364136223846793005ULL + 1442695040888963407ULL;
    recorded.add_alloc(static_cast<time_ns>(i * 1000), i, size >> 40, trace::memory_kind::device,
                       trace::layer::framework);
  }
  recorded.close();
  const indexed loaded(recorded.open());
  EXPECT_TRUE(loaded.index.tensors(*loaded.snapshot)->steps->lists().empty());
}

TEST(steps, may_be_one_that_the_profiler_names_if_it_holds_the_work) {
  for (const bool holds_the_work : {true, false}) {
    recording recorded;
    recorded.standard_tables();
    recorded.add_range(1000, 2000, "ProfilerStep#7");
    recorded.add_range(1000, 2000, "step");
    for (time_ns i = 0; i < 10; ++i) recorded.add_kernel((holds_the_work ? 1500 : 10) + i * 90, 3000);
    recorded.close();
    const indexed loaded(recorded.open());
    const index::step_list found = loaded.index.step_marks().of(trace::process_id{1}, 5000);
    ASSERT_EQ(found.steps.size(), holds_the_work ? 1U : 0U);
    if (!holds_the_work) continue;
    EXPECT_EQ(found.source, index::step_source::profiler_ranges);
    EXPECT_EQ(found.steps[0].number, 7);
  }
}

TEST(steps, of_ranges_in_one_another_are_the_outer_ones) {
  recording recorded;
  recorded.standard_tables();
  const auto add = [&](time_ns begin, time_ns end, const char* name) {
    auto row = recorded.event<trace::host_range_event>(begin);
    row.end = end;
    row.name = recorded.text(name);
    recorded.writer().add(row);
  };
  add(100, 200, "iteration 7");
  add(120, 150, "step");
  add(150, 190, "step");
  add(200, 300, "iteration 8");
  add(210, 220, "stepper motor");
  recorded.close();
  const indexed loaded(recorded.open());
  const index::step_list found = loaded.index.step_marks().of(trace::process_id{1}, 1000);
  ASSERT_EQ(found.steps.size(), 2U);
  EXPECT_EQ(found.steps[0].number, 7);
  EXPECT_EQ(found.steps[1].span, (time_range{200, 300}));
  EXPECT_EQ(found.begun_between(100, 200), 1U) << "a step that starts at the allocation does not count";
}

// --- categories -----------------------------------------------------------------------------------------------------

TEST(categories, are_right_with_stacks_touches_and_marks) {
  const read_training training({});
  EXPECT_GT(training.right(), 0.999);
  EXPECT_FALSE(training.facts->tagged);
}

TEST(categories, are_mostly_right_with_less_to_go_by) {
  EXPECT_GT(read_training({.steps = 12, .marks = marking::none}).right(), 0.97) << "without marks";
  EXPECT_GT(read_training({.stacks = false}).right(), 0.85) << "without stacks";
  EXPECT_GT(read_training({.touches = false}).right(), 0.90) << "without touches";
  EXPECT_GT(read_training({.autograd_thread = false}).right(), 0.999) << "the backward pass on the main thread";
  EXPECT_GT(read_training({.named_threads = false}).right(), 0.999) << "without names of threads";
  EXPECT_GT(read_training({.linked_backward = true}).right(), 0.999)
      << "backward stacks that continue the forward lines'";
  EXPECT_GT(read_training({.named_threads = false, .linked_backward = true}).right(), 0.999) << "and without names";
  EXPECT_GT(read_training({.keep_gradients = true}).right(), 0.999) << "gradients that stay";
  EXPECT_GT(read_training({.libraries = true}).right(), 0.999) << "workspaces of the backward thread";
  EXPECT_GT(read_training({.linked_backward = true, .keep_gradients = true, .libraries = true}).right(), 0.999);
}

TEST(categories, add_up_to_the_layer_at_any_time) {
  const read_training training({.leak = true});
  ASSERT_EQ(training.facts->use.size(), 1U);
  const auto& [key, use] = *training.facts->use.begin();
  const auto& total = training.all->index.memory().use().at(key);
  for (time_ns time = 0; time < training.reported.now(); time += 37'000) {
    double sum = 0;
    for (const auto& tree : use) sum += tree.at(time);
    ASSERT_EQ(sum, total.at(time)) << "at " << time;
  }
}

TEST(categories, that_the_program_says_are_exact_and_go_before_all_rules) {
  recording recorded;
  training reported(recorded);
  reported.tell();
  const auto tag = [&](trace::event_id alloc, const char* key, const char* text) {
    auto row = recorded.event<trace::attribute_event>(1);
    row.target = alloc;
    row.key = recorded.text(key);
    row.text = recorded.text(text);
    recorded.writer().add(row);
  };
  const trace::event_id mine =
      recorded.add_alloc(5'000'000, 900, mib, trace::memory_kind::device, trace::layer::driver);
  tag(mine, "category", "optimizer state");
  tag(mine, "name", "exp_avg of layer 3");
  const trace::event_id odd = recorded.add_alloc(5'000'000, 901, mib, trace::memory_kind::device, trace::layer::driver);
  tag(odd, "category", "nonsense");
  recorded.close();
  const indexed loaded(recorded.open());
  const auto facts = loaded.index.tensors(*loaded.snapshot);
  EXPECT_TRUE(facts->tagged);
  const auto blocks = loaded.index.memory().blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].id == trace::block_id{900}) {
      EXPECT_EQ(facts->categories[i].kind, index::category::optimizer_state);
      EXPECT_TRUE(facts->categories[i].exact());
    }
    if (blocks[i].id == trace::block_id{901}) {
      EXPECT_EQ(facts->categories[i].kind, index::category::none);
    }
  }
}

TEST(categories, are_not_given_to_blocks_of_other_frameworks) {
  recording recorded;
  recorded.standard_tables();
  for (std::uint64_t i = 1; i < 40; ++i)
    recorded.add_alloc(static_cast<time_ns>(i), i, mib, trace::memory_kind::device, trace::layer::framework,
                       "CuPy pool");
  recorded.close();
  const indexed loaded(recorded.open());
  EXPECT_TRUE(loaded.index.tensors(*loaded.snapshot)->use.empty());
}

TEST(categories, need_a_network) {
  for (const bool names_an_operator : {true, false}) {
    recording recorded;
    recorded.standard_tables();
    recorded.add_range(0, 100, names_an_operator ? "aten::linear" : "aten::sort");
    for (std::uint64_t i = 1; i < 40; ++i) {
      const auto time = static_cast<time_ns>(i) * 10;
      recorded.add_alloc(time, i, mib, trace::memory_kind::device, trace::layer::framework, "");
      recorded.add_free(time + 5, i, trace::layer::framework);
    }
    recorded.close();
    const indexed loaded(recorded.open());
    EXPECT_EQ(loaded.index.tensors(*loaded.snapshot)->use.empty(), !names_an_operator);
  }
}

/// Blocks of a program with a network, each from a stack; freed at `died`, or never.
class blocks_of_stacks {
 public:
  blocks_of_stacks() : stack(recorded) { recorded.standard_tables(); }
  void add(trace::stack_id by, time_ns born, time_ns died = trace::unknown_time) {
    auto row = recorded.event<trace::alloc_event>(born);
    row.block = trace::block_id{++blocks_};
    row.kind = trace::memory_kind::device;
    row.layer = trace::layer::framework;
    row.device = trace::device_id{1};
    row.bytes = mib;
    row.stack = by;
    recorded.writer().add(row);
    if (died != trace::unknown_time) recorded.add_free(died, blocks_, trace::layer::framework);
  }
  std::vector<index::category> categories() {
    recorded.close();
    const indexed loaded(recorded.open());
    std::vector<index::category> found;
    for (const index::block_category& each : loaded.index.tensors(*loaded.snapshot)->categories)
      found.push_back(each.kind);
    return found;
  }
  recording recorded;
  testing::stack_maker stack;

 private:
  std::uint64_t blocks_ = 0;
};

constexpr const char* module_file = "/usr/lib/python3/site-packages/torch/nn/modules/module.py";
constexpr const char* container_file = "/usr/lib/python3/site-packages/torch/nn/modules/container.py";

TEST(categories, of_what_a_hook_of_a_module_keeps_are_activations) {
  blocks_of_stacks stacks;
  const auto called_by_module = [&](const testing::made_frame& innermost) {
    return stacks.stack({innermost, testing::python("Module._call_impl.<locals>.inner", module_file, 1846),
                         testing::python("Module._call_impl", module_file, 1885),
                         testing::python("Sequential.forward", container_file, 253)});
  };
  const trace::stack_id hook = called_by_module(testing::python("main.<locals>.remember", "/home/me/cam.py", 195));
  const trace::stack_id library =
      called_by_module(testing::python("pre_hook", "/usr/lib/python3/site-packages/accelerate/hooks.py", 170));
  const trace::stack_id forward = called_by_module(testing::python("Mine.forward", "/home/me/cam.py", 20));
  stacks.add(hook, 10);
  stacks.add(library, 20);
  stacks.add(forward, 30);
  stacks.recorded.add_range(0, 1000, "aten::linear");
  const auto found = stacks.categories();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0], index::category::activation);
  EXPECT_EQ(found[1], index::category::activation) << "like any block of a forward pass";
  EXPECT_EQ(found[2], index::category::activation);
}

TEST(categories, of_a_moved_model_are_weights_however_long_it_lives) {
  blocks_of_stacks stacks;
  const trace::stack_id moved = stacks.stack({testing::python("Module.to.<locals>.convert", module_file, 1340),
                                              testing::python("Module._apply", module_file, 927),
                                              testing::python("main", "/home/me/train.py", 12)});
  const trace::stack_id id = stacks.stack({testing::python("normal_", "/usr/lib/site-packages/torch/nn/init.py", 15),
                                           testing::python("main", "/home/me/train.py", 10)});
  stacks.add(moved, 10, 20);
  stacks.add(moved, 30);
  stacks.add(id, 40, 50);
  stacks.recorded.add_range(0, 1000, "aten::linear");
  const auto found = stacks.categories();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0], index::category::weight);
  EXPECT_EQ(found[1], index::category::weight);
  EXPECT_EQ(found[2], index::category::workspace) << "a temporary block of its computation";
}

TEST(categories, have_words_that_read_back) {
  for (std::size_t i = 1; i < index::category_count; ++i)
    EXPECT_EQ(index::find_category(index::category_name(static_cast<index::category>(i))),
              static_cast<index::category>(i));
  EXPECT_EQ(index::find_category("no such thing"), index::category::none);
}

TEST(clues, are_the_innermost_that_say_anything) {
  EXPECT_EQ(index::stack_clues::of_frame("/x/torch/optim/sgd.py", "step"), index::clue::optimizer);
  EXPECT_EQ(index::stack_clues::of_frame("/x/torch/nn/modules/conv.py", "forward"), index::clue::forward);
  EXPECT_EQ(index::stack_clues::of_frame("/x/torch/nn/modules/conv.py", "__init__"), index::clue::model);
  EXPECT_EQ(index::stack_clues::of_frame("D:\\x\\torch\\nn\\modules\\conv.py", "__init__"), index::clue::model);
  EXPECT_EQ(index::stack_clues::of_frame("/tmp/torchinductor_me/ab/cabc.py", "forward"), index::clue::none);
  EXPECT_EQ(index::stack_clues::of_frame("/home/me/mine.py", "backward"), index::clue::backward);
  EXPECT_EQ(index::stack_clues::of_frame("/home/me/mine.py", "helper"), index::clue::none);
}

TEST(clues, survive_stacks_that_go_round) {
  trace::tables tables;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    trace::stack_row row;
    row.id = trace::stack_id{i};
    row.parent = trace::stack_id{i % 3 + 1};
    row.frame = trace::frame_id{i};
    tables.stacks.put(row);
  }
  index::stack_clues reader(tables);
  EXPECT_EQ(reader.of(trace::stack_id{1}), index::clue::none);
  EXPECT_EQ(reader.of(trace::stack_id{77}), index::clue::none);
}

// --- metrics --------------------------------------------------------------------------------------------------------

TEST(composition, adds_up_to_the_peak) {
  const report whole_report = read_training({.weight_bytes = 4 * mib, .activation_bytes = 96 * mib}).summed();
  ASSERT_EQ(whole_report.compositions.size(), 1U);
  std::uint64_t sum = 0;
  for (const category_share& share : whole_report.compositions[0].shares) sum += share.bytes;
  EXPECT_EQ(sum, whole_report.compositions[0].bytes);
  EXPECT_EQ(whole_report.compositions[0].get_bytes(index::category::weight), 4 * 4 * mib);
  EXPECT_TRUE(whole_report.compositions[0].inferred());
  EXPECT_EQ(whole_report.compositions[0].kept_gradient_bytes, 0U);
  ASSERT_NE(find(whole_report, finding_kind::activations_dominate), nullptr);
}

TEST(composition, says_of_which_device_it_is_where_there_are_several) {
  report subject;
  peak_composition& peak = subject.compositions.emplace_back();
  peak.device = trace::device_id{2};
  peak.bytes = 256 * mib;
  peak.shares.push_back({index::category::activation, 256 * mib});
  trace::tables tables;
  trace::device_row device;
  device.id = trace::device_id{2};
  device.ordinal = 1;
  tables.devices.put(device);
  EXPECT_TRUE(find_all_findings(subject, tables)
                  .at(0)
                  .text.starts_with("256 MiB of 256 MiB at the peak (100 %) are activations"));
  device.id = trace::device_id{1};
  device.ordinal = 0;
  tables.devices.put(device);
  EXPECT_TRUE(find_all_findings(subject, tables)
                  .at(0)
                  .text.starts_with("256 MiB of 256 MiB at the peak on GPU 1 (100 %) are activations"));
}

TEST(composition, tells_gradients_that_are_kept) {
  const report whole_report = read_training({.activation_bytes = 16 * mib, .keep_gradients = true}).summed();
  EXPECT_EQ(whole_report.compositions.at(0).kept_gradient_bytes, 4 * 16 * mib);
  EXPECT_NE(find(whole_report, finding_kind::gradients_kept), nullptr);
}

TEST(step_metrics, count_what_happens_in_each) {
  const read_training training({});
  const report whole_report = training.summed();
  ASSERT_EQ(whole_report.steps.size(), 1U);
  const step_summary& steps = whole_report.steps[0];
  ASSERT_EQ(steps.count, 6U);
  EXPECT_EQ(steps.layer, trace::layer::framework);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(steps.steps[i].h2d_bytes, 4.0 * mib);
    EXPECT_EQ(steps.steps[i].allocations, steps.steps[4].allocations);
    EXPECT_EQ(steps.steps[i].peak, steps.steps[4].peak);
  }
  EXPECT_GT(steps.steps[0].allocations, steps.steps[1].allocations) << "the optimizer's state is made in the first";
  std::uint64_t most = 0;
  for (const step_metrics& each : steps.steps) most = std::max(most, each.peak);
  EXPECT_EQ(steps.steps[steps.highest].peak, most);
  EXPECT_FALSE(steps.keeps_growing);
}

TEST(step_metrics, tell_a_leak_by_what_each_step_leaves) {
  const report whole_report = read_training({.steps = 10, .leak = true}).summed();
  ASSERT_TRUE(whole_report.steps.at(0).keeps_growing);
  EXPECT_NEAR(whole_report.steps[0].growth, 2.0 * mib, 0.3 * mib);
  EXPECT_NE(find(whole_report, finding_kind::memory_grows), nullptr);
  EXPECT_EQ(find(read_training({.steps = 10}).summed(), finding_kind::memory_grows), nullptr);
}

TEST(step_metrics, of_very_many_steps_keep_both_ends_and_the_highest) {
  recording recorded;
  recorded.standard_tables();
  for (int i = 0; i < 1000; ++i) {
    auto mark = recorded.event<trace::marker_event>(i * 1000);
    mark.step = i;
    recorded.writer().add(mark);
    recorded.add_alloc(i * 1000 + 10, static_cast<std::uint64_t>(i + 1), i == 500 ? 9 * mib : mib);
    recorded.add_free(i * 1000 + 20, static_cast<std::uint64_t>(i + 1));
  }
  recorded.close();
  const indexed read(recorded.open());
  const report whole_report = make_report(read.index, *read.snapshot);
  const step_summary& steps = whole_report.steps.at(0);
  EXPECT_EQ(steps.count, 1000U);
  EXPECT_LE(steps.steps.size(), step_summary::limit);
  EXPECT_EQ(steps.steps[steps.highest].number, 500);
  EXPECT_EQ(steps.steps.back().number, 999);
}

TEST(unused_memory, is_what_was_held_after_its_last_use) {
  const report whole_report = read_training({.hold_output = true}).summed();
  ASSERT_EQ(whole_report.unused.size(), 1U);
  EXPECT_GE(whole_report.unused[0].bytes_at_peak, 48 * mib) << "the output of the previous step";
  EXPECT_EQ(whole_report.unused[0].groups.front().category, index::category::activation);
  EXPECT_EQ(symbols::get_place(whole_report.unused[0].groups.front().line), "me/model.py:33");
  ASSERT_NE(find(whole_report, finding_kind::held_late), nullptr);
  EXPECT_NE(find(whole_report, finding_kind::held_late)->block, trace::block_id::none);
  EXPECT_EQ(find(read_training({}).summed(), finding_kind::held_late), nullptr);
}

TEST(unused_memory, is_not_claimed_without_touches) {
  EXPECT_TRUE(read_training({.touches = false, .hold_output = true}).summed().unused.empty());
}

TEST(tensor_facts, are_worked_out_anew_when_more_was_read) {
  recording recorded(16);
  training reported(recorded);
  reported.tell();
  recorded.close();
  const auto file = recorded.open();
  const auto now = file->latest();
  index::growing_index read;
  read.absorb(*now, now->chunks().size() / 2);
  const std::size_t half = read.tensors(*now)->categories.size();
  EXPECT_EQ(read.tensors(*now), read.tensors(*now)) << "the same result";
  while (!read.absorb(*now, 8)) {
  }
  EXPECT_GT(read.tensors(*now)->categories.size(), half);
}

}  // namespace
}  // namespace sluice::metrics
