// Touches and graphs in the writer: addresses become the blocks live at that time; handles become graphs.
#include <algorithm>

#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

class touched_blocks_test : public record_decoder_test {
 protected:
  /// `claimed`: the count that the record states; by default the real one.
  void touch(thread& t, time_ns time, const std::vector<std::uint64_t>& addresses, std::uint64_t graph = 0,
             std::int64_t claimed = -1) {
    if (graph != 0) return set_node(t, time, graph, 0, addresses);
    ring::touch_record r{};
    r.header.time = raw_time(time);
    r.correlation = 7;
    r.count = claimed < 0 ? static_cast<std::uint32_t>(addresses.size()) : static_cast<std::uint32_t>(claimed);
    ASSERT_TRUE(
        t.pair.producer.put(&r.header, ring::record_type::touch, sizeof r, addresses.data(), addresses.size() * 8));
  }
  void set_node(thread& t, time_ns time, std::uint64_t graph, std::uint64_t node,
                const std::vector<std::uint64_t>& addresses, bool more = false) {
    ring::node_touch_record r{};
    r.header.time = raw_time(time);
    r.graph = graph;
    r.node = node;
    r.correlation = 7;
    r.count = static_cast<std::uint32_t>(addresses.size());
    r.more = more ? 1 : 0;
    ASSERT_TRUE(t.pair.producer.put(&r.header, ring::record_type::node_touch, sizeof r, addresses.data(),
                                    addresses.size() * 8));
  }
  void call(thread& t, time_ns time, std::uint64_t graph, std::uint32_t correlation) {
    ring::graph_call_record r{};
    r.graph = graph;
    r.correlation = correlation;
    put(t, time, r);
  }
  void define(thread& t, time_ns time, std::uint64_t graph, std::uint64_t source = 0) {
    ring::graph_definition_record r{};
    r.graph = graph;
    r.source = source;
    put(t, time, r);
  }
  void launch(thread& t, time_ns time, std::uint64_t graph, std::uint32_t correlation = 0) {
    ring::graph_launch_record r{};
    r.graph = graph;
    r.correlation = correlation;
    r.device = ring::no_device;
    put(t, time, r);
  }
};

TEST_F(touched_blocks_test, are_those_that_lay_there_at_the_time) {
  thread& a = add_thread();
  thread& b = add_thread();
  // b is drained after a: its addresses refer to the blocks live at that time.
  alloc(a, 10, 0x1000, 256);
  free(a, 30, 0x1000);
  alloc(a, 40, 0x1000, 512);
  touch(b, 20, {0x1000});
  touch(b, 50, {0x1000});
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto touches = trace.all<touch_event>();
  ASSERT_EQ(touches.size(), 2u);
  EXPECT_EQ(touches[0].block, allocs[0].block);
  EXPECT_EQ(touches[1].block, allocs[1].block);
  EXPECT_EQ(touches[0].time, 20);
  EXPECT_EQ(touches[0].correlation, 7u);
}

TEST_F(touched_blocks_test, are_the_frameworks_rather_than_their_segment) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 4096);
  alloc(t, 11, 0x1000, 512, layer::framework);
  touch(t, 20, {0x1000, 0x1800});
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto touches = trace.all<touch_event>();
  ASSERT_EQ(touches.size(), 2u);
  EXPECT_EQ(touches[0].block, allocs[1].block);
  EXPECT_EQ(touches[1].block, allocs[0].block);
}

TEST_F(touched_blocks_test, are_named_by_any_address_in_them) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 4096);
  alloc(t, 11, 0x1000, 512, layer::framework);
  alloc(t, 12, 0x1400, 512, layer::framework);
  touch(t, 20, {0x11ff, 0x1200, 0x15ff, 0x1fff, 0x2000});
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto touches = trace.all<touch_event>();
  ASSERT_EQ(touches.size(), 3u) << "0x1200 and 0x1fff are in the segment, 0x2000 is past it";
  EXPECT_EQ(touches[0].block, allocs[1].block);
  EXPECT_EQ(touches[1].block, allocs[0].block);
  EXPECT_EQ(touches[2].block, allocs[2].block);
}

TEST_F(touched_blocks_test, are_named_once_however_often_a_launch_names_them) {
  thread& t = add_thread();
  for (std::uint64_t i = 0; i < 600; ++i) alloc(t, 10, 0x10000 + i * 0x1000, 0x1000);
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 600; ++i) words.push_back(0x10000 + i * 0x1000);
  for (std::uint64_t i = 0; i < 100; ++i) words.push_back(0x10080 + i * 0x1000);
  // The launch is sent in two records, as for any launch with this many words.
  touch(t, 20, words);
  touch(t, 20, words);
  touch(t, 21, {0x10000});
  const auto touches = finish().all<touch_event>();
  ASSERT_EQ(touches.size(), 601u);
  EXPECT_EQ(touches[600].time, 21);
  std::set<block_id> blocks;
  for (const touch_event& row : touches) blocks.insert(row.block);
  EXPECT_EQ(blocks.size(), 600u);
}

TEST_F(touched_blocks_test, are_not_those_that_were_freed_before) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 256);
  free(t, 20, 0x1000);
  touch(t, 30, {0x1000, 0x1080});
  EXPECT_TRUE(finish().all<touch_event>().empty());
}

TEST_F(touched_blocks_test, are_not_those_that_came_after_although_the_record_is_late) {
  thread& a = add_thread();
  thread& b = add_thread();
  alloc(a, 5, 0x1000, 4096);
  alloc(a, 10, 0x1000, 256, layer::framework);
  free(a, 30, 0x1000, layer::framework);
  alloc(a, 40, 0x1000, 512, layer::framework);
  alloc(a, 41, 0x1800, 512, layer::framework);
  turns(3);
  touch(b, 20, {0x1080, 0x1900});
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto touches = trace.all<touch_event>();
  ASSERT_EQ(touches.size(), 2u);
  EXPECT_EQ(touches[0].block, allocs[1].block) << "the block freed since";
  EXPECT_EQ(touches[1].block, allocs[0].block) << "only the segment existed then";
}

TEST_F(touched_blocks_test, are_not_arrays_whose_address_is_a_handle) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 4096, layer::driver, memory_kind::array);
  touch(t, 20, {0x1000, 0x1800});
  EXPECT_TRUE(finish().all<touch_event>().empty());
}

TEST_F(touched_blocks_test, are_no_more_than_the_record_holds) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 256);
  touch(t, 20, {0x1000}, 0, 1'000'000);
  touch(t, 30, {0x1000, 0x1000}, 0, 1);
  touch(t, 40, {0xdead'0000});
  touch(t, 50, {});
  EXPECT_EQ(finish().all<touch_event>().size(), 2u);
}

TEST_F(touched_blocks_test, of_a_graph_carry_the_graph_that_its_launches_name_too) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 256);
  define(t, 20, 0xaa);
  touch(t, 21, {0x1000}, 0xaa);
  define(t, 22, 0xee, 0xaa);  // An executable graph counts as the graph it was made from.
  launch(t, 23, 0xee);
  define(t, 30, 0xaa);  // Another graph at the same handle.
  touch(t, 31, {0x1000}, 0xaa);
  define(t, 32, 0xff, 0xaa);
  launch(t, 33, 0xff);
  launch(t, 34, 0xee);
  const recorded& trace = finish();
  const auto touches = trace.all<touch_event>();
  auto launches = trace.all<graph_launch_event>();
  ASSERT_EQ(touches.size(), 2u);
  ASSERT_EQ(launches.size(), 3u);
  std::sort(launches.begin(), launches.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  EXPECT_NE(touches[0].graph, graph_id::none);
  EXPECT_NE(touches[0].graph, touches[1].graph);
  EXPECT_EQ(launches[0].graph, touches[0].graph);
  EXPECT_EQ(launches[1].graph, touches[1].graph);
  EXPECT_EQ(launches[2].graph, touches[0].graph);
}

/// Blocks by the launch that touches them, in launch order.
std::vector<std::vector<block_id>> touched_by_launches(const recorded& trace) {
  auto launches = trace.all<graph_launch_event>();
  std::sort(launches.begin(), launches.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  const auto touches = trace.all<touch_event>();
  std::vector<std::vector<block_id>> lists;
  for (const graph_launch_event& launched : launches) {
    std::vector<block_id>& blocks = lists.emplace_back();
    for (const touch_event& t : touches) {
      if (t.graph == launched.graph) blocks.push_back(t.block);
    }
  }
  return lists;
}

class changed_graph : public touched_blocks_test {
 protected:
  static constexpr std::uint64_t graph = 0xaa, made = 0xee, first = 0x11, second = 0x22;
  /// Blocks at 0x1000, 0x2000 and 0x3000; the first node names the first block, the second node the second.
  void SetUp() override {
    touched_blocks_test::SetUp();
    t_ = &add_thread();
    for (std::uint64_t address : {0x1000, 0x2000, 0x3000}) alloc(*t_, 10, address, 256);
    define(*t_, 20, graph);
    set_node(*t_, 21, graph, first, {0x1000});
    set_node(*t_, 22, graph, second, {0x2000});
    define(*t_, 23, made, graph);
  }
  std::vector<std::vector<block_id>> finished() {
    const recorded& trace = finish();
    const auto allocs = trace.all<alloc_event>();
    a_ = allocs.at(0).block, b_ = allocs.at(1).block, c_ = allocs.at(2).block;
    rows_ = trace.all<touch_event>().size();
    return touched_by_launches(trace);
  }
  void set_child(thread& t, time_ns time, std::uint64_t value, std::uint64_t node, std::uint64_t child) {
    ring::child_graph_record r{};
    r.graph = value;
    r.node = node;
    r.child = child;
    put(t, time, r);
  }
  void enable(thread& t, time_ns time, std::uint64_t value, std::uint64_t node, bool enabled) {
    ring::node_switch_record r{};
    r.graph = value;
    r.node = node;
    r.enabled = enabled ? 1 : 0;
    put(t, time, r);
  }
  thread* t_ = nullptr;
  block_id a_{}, b_{}, c_{};
  std::size_t rows_ = 0;
  using touched = std::vector<block_id>;
};

TEST_F(changed_graph, touches_other_blocks_from_the_change_on_only) {
  call(*t_, 30, made, 1);
  set_node(*t_, 31, made, first, {0x3000});
  call(*t_, 32, made, 2);
  // The device reports both launches afterwards.
  launch(*t_, 33, made, 1);
  launch(*t_, 34, made, 2);
  const auto whole = finished();
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0], (touched{a_, b_}));
  EXPECT_EQ(whole[1], (touched{c_, b_}));
}

TEST_F(changed_graph, that_is_what_it_was_before_has_its_old_rows) {
  for (std::uint32_t i = 0; i < 10; ++i) {
    set_node(*t_, 30 + 3 * i, made, first, {i % 2 == 0 ? 0x3000u : 0x1000u});
    call(*t_, 31 + 3 * i, made, i + 1);
    launch(*t_, 32 + 3 * i, made, i + 1);
  }
  const auto whole = finished();
  ASSERT_EQ(whole.size(), 10u);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i], (touched{i % 2 == 0 ? c_ : a_, b_})) << i;
  EXPECT_EQ(rows_, 4u) << "two nodes, two versions";
}

TEST_F(changed_graph, that_names_the_same_blocks_is_the_same) {
  call(*t_, 30, made, 1);
  launch(*t_, 31, made, 1);
  set_node(*t_, 32, made, first, {0x1080});
  call(*t_, 33, made, 2);
  launch(*t_, 34, made, 2);
  EXPECT_EQ(finished().size(), 2u);
  EXPECT_EQ(rows_, 2u);
}

TEST_F(changed_graph, of_which_more_are_made_changes_theirs_not_the_first) {
  set_node(*t_, 30, 0, first, {0x3000});  // Changes the graph itself, by its node.
  define(*t_, 31, 0xff, graph);
  call(*t_, 32, made, 1);
  call(*t_, 33, 0xff, 2);
  launch(*t_, 34, made, 1);
  launch(*t_, 35, 0xff, 2);
  const auto whole = finished();
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0], (touched{a_, b_}));
  EXPECT_EQ(whole[1], (touched{c_, b_}));
}

TEST_F(changed_graph, brought_up_to_date_is_as_the_other_and_keeps_its_nodes) {
  define(*t_, 30, 0xbb);
  set_node(*t_, 31, 0xbb, 0x33, {0x3000});
  set_node(*t_, 32, 0xbb, 0x44, {0x3000});
  define(*t_, 33, made, 0xbb);
  call(*t_, 34, made, 1);
  set_node(*t_, 35, made, second, {0x2000});
  call(*t_, 36, made, 2);
  launch(*t_, 37, made, 1);
  launch(*t_, 38, made, 2);
  const auto whole = finished();
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0], (touched{c_, c_}));
  EXPECT_EQ(whole[1], (touched{c_, b_}));
}

TEST_F(changed_graph, may_name_nothing) {
  set_node(*t_, 30, made, first, {});
  call(*t_, 31, made, 1);
  launch(*t_, 32, made, 1);
  const auto whole = finished();
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0], (touched{b_}));
}

TEST_F(changed_graph, takes_many_blocks_of_a_node_in_pieces) {
  set_node(*t_, 30, made, first, {0x3000});
  set_node(*t_, 31, made, first, {0x1000}, true);
  call(*t_, 32, made, 1);
  launch(*t_, 33, made, 1);
  const auto whole = finished();
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0], (touched{c_, a_, b_}));
}

TEST_F(changed_graph, holds_what_its_children_were_when_they_were_added) {
  define(*t_, 30, 0xbb);
  set_node(*t_, 31, 0xbb, 0x33, {0x3000});
  set_child(*t_, 32, 0xbb, 0x44, graph);
  set_node(*t_, 33, 0, first, {0x3000});  // Too late: 0xbb already has a copy of the child.
  define(*t_, 34, 0xcc, 0xbb);
  call(*t_, 35, 0xcc, 1);
  set_child(*t_, 36, 0xcc, 0x44, graph);  // Replaces the copy by the child's present state.
  call(*t_, 37, 0xcc, 2);
  launch(*t_, 38, 0xcc, 1);
  launch(*t_, 39, 0xcc, 2);
  const auto whole = finished();
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0], (touched{c_, a_, b_}));
  EXPECT_EQ(whole[1], (touched{c_, c_, b_}));
}

TEST_F(changed_graph, leaves_out_what_is_switched_off) {
  enable(*t_, 30, made, first, false);
  enable(*t_, 30, made, 0x99, false);  // Not a node of this graph, and not a graph.
  enable(*t_, 30, 0x66, first, false);
  call(*t_, 31, made, 1);
  set_node(*t_, 32, made, first, {0x3000});  // The node stays disabled.
  call(*t_, 33, made, 2);
  enable(*t_, 34, made, first, true);
  call(*t_, 35, made, 3);
  for (std::uint32_t i = 1; i <= 3; ++i) launch(*t_, 40 + i, made, i);
  const auto whole = finished();
  ASSERT_EQ(whole.size(), 3u);
  EXPECT_EQ(whole[0], (touched{b_}));
  EXPECT_EQ(whole[1], (touched{b_}));
  EXPECT_EQ(whole[2], (touched{c_, b_}));
}

// No program can do this, but a ring may claim it: a graph within itself, twice as large with each record.
TEST_F(changed_graph, within_itself_grows_only_so_far) {
  for (std::uint64_t i = 0; i < 200; ++i) set_child(*t_, 30, graph, 0x100 + i, graph);
  set_child(*t_, 31, 0, 0x9999, graph);
  set_child(*t_, 31, graph, 0, 0);
  launch(*t_, 32, made, 1);
  EXPECT_EQ(finished().size(), 1u);
  EXPECT_LT(rows_, std::size_t{1} << 19);
}

TEST_F(changed_graph, by_nodes_that_nobody_knows_is_left_alone) {
  set_node(*t_, 30, 0, 0x99, {0x3000});
  set_node(*t_, 31, 0x77, 0x99, {0x3000});
  call(*t_, 32, made, 1);
  launch(*t_, 33, made, 1);
  launch(*t_, 34, 0x66, 9);
  const auto whole = finished();
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0], (touched{a_, b_}));
  EXPECT_EQ(whole[1], (touched{}));
}

TEST_F(touched_blocks_test, mode_of_the_process_is_in_its_row) {
  thread& t = add_thread();
  ring::mode_record r{};
  r.mode = static_cast<std::uint64_t>(recording_mode::timeline);
  put(t, 10, r);
  EXPECT_EQ(finish().tables().processes.rows()[0].mode, recording_mode::timeline);
}

}  // namespace
}  // namespace sluice::writer
