#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/query/engine.hpp"
#include "tests/core/analysis/training_recording.hpp"

namespace sluice::query {
namespace {

using ::testing::HasSubstr;
using testing::mib;
using testing::recording;
using ::testing::StartsWith;
using testing::training;
using testing::training_options;

/// The details of one block of a training.
struct asked {
  explicit asked(const training_options& options) : told(made, options) {
    told.tell();
    made.close();
    from = std::make_unique<engine>(made.open(), engine_options{.threads = 1, .wake = {}});
  }
  event_details block(std::uint64_t id) {
    details_question question;
    question.block = trace::block_id{id};
    return *from->ask_now(question).value();
  }
  static const detail* find(const event_details& in, std::string_view label) {
    for (const detail& each : in.details)
      if (each.label == label) return &each;
    return nullptr;
  }
  static std::string value(const event_details& in, std::string_view label) {
    const detail* found = find(in, label);
    return found == nullptr ? "(none)" : found->value;
  }

  recording made;
  training told;
  std::unique_ptr<engine> from;
};

TEST(details_of_a_block, say_what_it_is_for_who_used_it_and_when) {
  asked of({});
  const event_details weight = of.block(of.told.weights()[0]);
  EXPECT_EQ(asked::value(weight, "Category"), "weight (inferred: made by code that builds or moves a model)");
  EXPECT_THAT(asked::value(weight, "First touch"), StartsWith("init_uniform, on the device at "));
  EXPECT_THAT(asked::value(weight, "Last touch"), StartsWith("axpy, on the device at "));
  EXPECT_THAT(asked::value(weight, "Steps"), StartsWith("before the first step to step 5"));
  EXPECT_THAT(asked::value(weight, "Stack"), HasSubstr("_apply"));
  // The link leads to the kernel.
  details_question kernel;
  kernel.event = asked::find(weight, "Last touch")->link;
  const event_details last = *of.from->ask_now(kernel).value();
  EXPECT_EQ(last.title, "axpy");
  EXPECT_EQ(
      std::count_if(last.details.begin(), last.details.end(), [](const detail& d) { return d.label == "Touches"; }), 2)
      << "the kernel names its blocks";
}

TEST(details_of_a_block, say_enqueued_where_no_kernel_was_recorded) {
  asked of({.kernels = false});
  const event_details weight = of.block(of.told.weights()[0]);
  EXPECT_THAT(asked::value(weight, "First touch"), StartsWith("init_uniform, enqueued at "));
}

TEST(details_of_a_block, count_its_uses_by_kind) {
  asked of({.steps = 4});
  const event_details weight = of.block(of.told.weights()[1]);
  // Made once; gemm, two of the backward pass, adam and axpy in each step.
  EXPECT_EQ(asked::value(weight, "Touched"), "17 times: 17 kernels");
}

TEST(details_of_a_block, say_that_nothing_is_known_to_use_it_only_where_touches_were_recorded) {
  asked without({.touches = false});
  EXPECT_EQ(asked::find(without.block(without.told.weights()[0]), "Touched"), nullptr);
}

TEST(details_of_a_block, name_the_kernel_of_a_graph_that_used_it) {
  recording made;
  made.standard_tables();
  made.add_alloc(10, 1, mib, trace::memory_kind::device, trace::layer::framework);
  auto node = made.event<trace::touch_event>(20);
  node.block = trace::block_id{1};
  node.graph = trace::graph_id{5};
  node.name = made.text("gemm_tn");
  made.writer().add(node);
  for (const trace::time_ns time : {100, 200, 300}) {
    auto launch = made.event<trace::graph_launch_event>(time);
    launch.graph = trace::graph_id{5};
    made.writer().add(launch);
  }
  made.close();
  engine from(made.open(), {.threads = 1, .wake = {}});
  details_question question;
  question.block = trace::block_id{1};
  const event_details found = *from.ask_now(question).value();
  EXPECT_EQ(asked::value(found, "First touch"), "gemm_tn of graph 5, launched at 0.100 µs");
  EXPECT_EQ(asked::value(found, "Last touch"), "gemm_tn of graph 5, launched at 0.300 µs");
  EXPECT_EQ(asked::value(found, "Touched"), "3 times: 3 graph replays");
}

}  // namespace
}  // namespace sluice::query
