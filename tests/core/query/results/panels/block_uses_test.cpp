// The uses of a block: what touched it, when, on which stream, and from which line.
#include "core/query/types/block_uses.hpp"

#include <gtest/gtest.h>

#include "core/query/engine/engine.hpp"
#include "tests/core/metrics/training_recording.hpp"

namespace sluice::query {
namespace {

using testing::mib;
using testing::recording;
using testing::training;
using testing::training_options;

block_use_list ask_uses(engine& source, std::uint64_t block, std::size_t most = 1000) {
  block_uses_query query;
  query.block = trace::block_id{block};
  query.range = source.ask_now(details_query{{}, query.block}).value()->span;
  query.most = most;
  return *source.ask_now(query).value();
}

/// The uses of the second weight of a training of four steps.
block_use_list uses_in_training(training_options options, std::size_t most = 1000) {
  recording recorded;
  options.steps = 4;
  training reported(recorded, options);
  reported.tell();
  recorded.close();
  engine source(recorded.open(), engine_options{.threads = 1, .wake = {}});
  return ask_uses(source, reported.weights()[1], most);
}

TEST(uses_of_a_block, are_all_listed_in_order_with_the_kernels_that_ran) {
  const block_use_list found = uses_in_training({});
  ASSERT_EQ(found.uses.size(), 17U) << "as many as the details of the block count";
  EXPECT_TRUE(found.kernels_known);
  EXPECT_FALSE(found.more);
  EXPECT_EQ(found.uses.front().name, "init_uniform");
  EXPECT_EQ(found.uses.back().name, "axpy");
  for (std::size_t i = 0; i < found.uses.size(); ++i) {
    EXPECT_EQ(found.uses[i].kind, use_kind::kernel);
    EXPECT_NE(found.uses[i].device.begin, trace::unknown_time);
    EXPECT_FALSE(found.uses[i].stream.empty());
    if (i > 0) {
      EXPECT_GE(found.uses[i].enqueued, found.uses[i - 1].enqueued);
    }
  }
}

TEST(uses_of_a_block, have_no_time_on_the_device_where_no_kernel_was_recorded) {
  const block_use_list found = uses_in_training({.kernels = false});
  ASSERT_EQ(found.uses.size(), 17U);
  EXPECT_EQ(found.uses.front().device.begin, trace::unknown_time);
}

TEST(uses_of_a_block, say_that_there_are_more) {
  const block_use_list found = uses_in_training({}, 5);
  EXPECT_EQ(found.uses.size(), 5U);
  EXPECT_TRUE(found.more);
  EXPECT_EQ(found.uses.front().name, "init_uniform") << "the first ones are kept";
}

TEST(uses_of_a_block, are_not_known_where_touches_were_not_recorded) {
  EXPECT_FALSE(uses_in_training({.touches = false}).kernels_known);
}

TEST(uses_of_a_block, include_copies_memsets_and_graphs) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(10, 1, mib, trace::memory_kind::device, trace::layer::framework);
  auto node = recorded.event<trace::touch_event>(20);
  node.block = trace::block_id{1};
  node.graph = trace::graph_id{5};
  node.name = recorded.text("gemm_tn");
  recorded.writer().add(node);
  auto launch = recorded.event<trace::graph_launch_event>(100);
  launch.graph = trace::graph_id{5};
  recorded.writer().add(launch);
  auto other = recorded.event<trace::graph_launch_event>(110);
  other.graph = trace::graph_id{6};
  recorded.writer().add(other);
  auto copy = recorded.event<trace::transfer_event>(60);
  copy.end = 80;
  copy.enqueued = 50;
  copy.direction = trace::direction::h2d;
  copy.bytes = mib;
  copy.destination_block = trace::block_id{1};
  recorded.writer().add(copy);
  auto fill = recorded.event<trace::memset_event>(40);
  fill.end = 45;
  fill.enqueued = 30;
  fill.bytes = 512;
  fill.block = trace::block_id{1};
  recorded.writer().add(fill);
  recorded.close();
  engine source(recorded.open(), {.threads = 1, .wake = {}});
  const block_use_list found = ask_uses(source, 1);
  ASSERT_EQ(found.uses.size(), 3U);
  EXPECT_EQ(found.uses[0].kind, use_kind::fill);
  EXPECT_NE(found.uses[0].event, trace::event_id::none);
  EXPECT_EQ(found.uses[1].kind, use_kind::copy);
  EXPECT_EQ(found.uses[1].bytes, mib);
  EXPECT_EQ(found.uses[1].direction, trace::direction::h2d);
  EXPECT_EQ(found.uses[1].device, (time_range{60, 80}));
  EXPECT_EQ(found.uses[2].kind, use_kind::graph);
  EXPECT_EQ(found.uses[2].name, "gemm_tn");
}

}  // namespace
}  // namespace sluice::query
