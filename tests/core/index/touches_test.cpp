#include "core/index/memory/touches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/core/recordings/recording.hpp"

namespace sluice::index {
namespace {

using trace::block_id;
using trace::event_id;
using trace::graph_id;

trace::touch_event touch_at(time_ns time, std::uint64_t event, std::uint64_t block, std::uint64_t graph = 0) {
  trace::touch_event row;
  row.time = time;
  row.id = event_id{event};
  row.block = block_id{block};
  row.graph = graph_id{graph};
  return row;
}

trace::graph_launch_event launch_at(time_ns time, std::uint64_t event, std::uint64_t graph) {
  trace::graph_launch_event row;
  row.time = time;
  row.id = event_id{event};
  row.graph = graph_id{graph};
  return row;
}

block_record block(std::uint64_t id, time_ns born, time_ns died = trace::unknown_time) {
  block_record record;
  record.id = block_id{id};
  record.born = born;
  record.died = died;
  record.allocated = true;
  return record;
}

class touches : public ::testing::Test {
 protected:
  touch_index index_;
  trace::tables tables_;
};

TEST_F(touches, keep_the_first_and_the_last_whatever_order_they_come_in) {
  std::vector<trace::touch_event> rows;
  for (std::uint64_t i = 1; i <= 200; ++i) rows.push_back(touch_at(static_cast<time_ns>(i / 2), i, 1 + i % 3));
  std::mt19937 random(7);
  std::shuffle(rows.begin(), rows.end(), random);
  for (const auto& row : rows) index_.add(row, tables_);
  index_.settle();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const block_touches used = index_.of(block(id, 0));
    touch first, last;
    std::uint64_t count = 0;
    for (const auto& row : rows) {
      if (row.block != block_id{id}) continue;
      ++count;
      const touch now{row.time, row.id};
      if (!first.known() || std::tuple(now.time, now.event) < std::tuple(first.time, first.event)) first = now;
      if (!last.known() || std::tuple(now.time, now.event) > std::tuple(last.time, last.event)) last = now;
    }
    EXPECT_EQ(used.first, first);
    EXPECT_EQ(used.last, last);
    EXPECT_EQ(used.kernels, count);
  }
  EXPECT_EQ(index_.touches(), 200U);
}

TEST_F(touches, tell_products_from_kernels_that_read_a_block_as_data) {
  testing::recording recorded;
  std::uint64_t event = 0;
  const auto touched_by = [&](std::uint64_t id, std::string_view name) {
    auto row = touch_at(1, ++event, id);
    row.name = recorded.text(name);
    tables_.strings.put({row.name, std::string(name)});
    index_.add(row, tables_);
  };
  touched_by(1, "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n");
  touched_by(1, "cuMemsetD8Async");
  touched_by(1, "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE");
  touched_by(2, "_ZN5cudnn3cnn4wgrad2d_grouped_direct_kernel");
  touched_by(2, "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE");
  touched_by(3, "cuMemcpyDtoDAsync_v2");
  touched_by(4, "triton_poi_fused_convolution_relu_3");
  touched_by(5, "fmha_cutlassF_f32_aligned_64x64_rf_sm80");
  index_.settle();
  EXPECT_EQ(index_.of(block(1, 0)).products, 1U);
  EXPECT_FALSE(index_.of(block(1, 0)).as_data) << "a fill does not read";
  EXPECT_EQ(index_.of(block(2, 0)).products, 1U);
  for (const std::uint64_t read : {2, 3, 4, 5}) EXPECT_TRUE(index_.of(block(read, 0)).as_data) << read;
}

TEST_F(touches, say_nothing_of_a_block_that_nothing_names) {
  EXPECT_TRUE(index_.empty());
  EXPECT_FALSE(index_.of(block(1, 0)).first.known());
  index_.add(touch_at(1, 1, 0), tables_);
  EXPECT_TRUE(index_.empty()) << "a touch without a block names nothing";
}

TEST_F(touches, expand_the_launches_of_a_graph_while_the_block_lives) {
  index_.add(touch_at(5, 1, 9, 3), tables_);
  index_.add(touch_at(6, 2, 9, 3), tables_);
  for (const time_ns time : {50, 10, 40, 20, 30})
    index_.add(launch_at(time, static_cast<std::uint64_t>(100 + time), 3));
  index_.settle();
  const block_touches whole = index_.of(block(9, 0));
  EXPECT_EQ(whole.replays, 5U);
  EXPECT_EQ(whole.first, (touch{10, event_id{110}}));
  EXPECT_EQ(whole.last, (touch{50, event_id{150}}));
  const block_touches part = index_.of(block(9, 15, 40));
  EXPECT_EQ(part.replays, 2U) << "at 20 and 30: a touch at the time of its free is after it";
  EXPECT_EQ(part.first.time, 20);
  EXPECT_EQ(part.last.time, 30);
  ASSERT_EQ(index_.find_graphs(block_id{9}).size(), 1U);
  EXPECT_EQ(index_.find_graphs(block_id{9})[0].nodes, 2U);
  EXPECT_EQ(index_.find_graphs(block_id{9})[0].last, event_id{2});
}

TEST_F(touches, by_graphs_that_are_known_from_elsewhere_count_once_these_are_launched) {
  const std::vector<block_graph_use> known = {{block_id{9}, {trace::graph_id{3}, 2, event_id{1}, event_id{2}}, true},
                                              {block_id{8}, {trace::graph_id{4}, 1, event_id{3}, event_id{3}}, true},
                                              {block_id{9}, {trace::graph_id{4}, 1, event_id{4}, event_id{4}}, true},
                                              {block_id{9}, {trace::graph_id{7}, 1, event_id{5}, event_id{5}}, false}};
  index_.set_known(std::span(known));
  for (const time_ns time : {50, 10}) index_.add(launch_at(time, static_cast<std::uint64_t>(100 + time), 4));
  index_.add(launch_at(60, 160, 3));
  index_.add(launch_at(70, 170, 5));
  index_.settle();
  EXPECT_EQ(index_.of(block(9, 0)).replays, 3U);
  EXPECT_EQ(index_.of(block(9, 0)).first, (touch{10, event_id{110}}));
  EXPECT_EQ(index_.of(block(8, 20)).replays, 1U);
  EXPECT_EQ(index_.launches_that_copy({0, 100}), 3U);
  EXPECT_EQ(index_.find_graphs(block_id{9}).size(), 3U) << "also of graphs that were not launched here";
}

TEST_F(touches, of_capture_are_none_until_the_graph_is_launched) {
  index_.add(touch_at(5, 1, 9, 3), tables_);
  index_.settle();
  EXPECT_EQ(index_.of(block(9, 0)).count(), 0U);
}

TEST_F(touches, come_from_copies_too_and_are_not_counted_twice) {
  trace::string_row name;
  name.id = trace::string_id{1};
  name.text = "cuMemcpyHtoDAsync_v2";
  tables_.strings.put(name);
  trace::touch_event call = touch_at(7, 1, 4);
  call.name = name.id;
  index_.add(call, tables_);
  trace::transfer_event copy;
  copy.id = event_id{2};
  copy.time = 9;
  copy.enqueued = 7;
  copy.direction = trace::direction::h2d;
  copy.source_kind = trace::memory_kind::host;
  copy.destination_block = block_id{4};
  copy.source_block = block_id{5};
  index_.add(copy);
  index_.settle();
  const block_touches to = index_.of(block(4, 0));
  EXPECT_EQ(to.copies, 1U);
  EXPECT_EQ(to.kernels, 0U);
  EXPECT_EQ(to.first.time, 7) << "when it was enqueued";
  EXPECT_EQ(to.from_host.count, 1U);
  EXPECT_EQ(to.from_host.pageable, 1U);
  EXPECT_EQ(index_.of(block(5, 0)).from_host.count, 0U) << "the source received nothing";
}

TEST_F(touches, survive_times_that_make_no_sense) {
  index_.add(touch_at(INT64_MIN, 1, 1), tables_);
  index_.add(touch_at(INT64_MAX, 2, 1), tables_);
  index_.add(launch_at(INT64_MIN, 3, 0));
  index_.settle();
  EXPECT_LE(index_.of(block(1, 0)).last.time, latest_time);
}

TEST_F(touches, tell_whether_a_process_works_often_in_a_range_as_their_count_does) {
  std::mt19937 random(3);
  for (std::uint64_t i = 1; i <= 300; ++i) {
    auto row = touch_at(static_cast<time_ns>(random() % 500), i, 1 + random() % 5);
    row.process = trace::process_id{1 + random() % 2};
    index_.add(row, tables_);
  }
  index_.settle();
  for (int i = 0; i < 2'000; ++i) {
    const auto begin = static_cast<time_ns>(random() % 520);
    const time_range range{begin, begin + static_cast<time_ns>(random() % 60)};
    const trace::process_id process{random() % 4};
    const std::uint64_t least = 1 + random() % 12;
    ASSERT_EQ(index_.has_works(process, range, least), index_.works_in(process, range) >= least);
  }
}

}  // namespace
}  // namespace sluice::index
