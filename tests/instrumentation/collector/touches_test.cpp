// Touches and graphs at the writer: addresses become the blocks that lay there at that time, and handles the graphs they stood for.
#include <algorithm>

#include "tests/instrumentation/collector/assembler_fixture.hpp"

namespace sluice::collector {
namespace {

class TouchedBlocks : public Assembler {
 protected:
  /// `claimed`: what the record says it holds; by default the truth.
  void touch(thread& t, time_ns time, const std::vector<std::uint64_t>& addresses, std::uint64_t graph = 0,
             std::int64_t claimed = -1) {
    touch_record r{};
    r.header.time = raw_time(time);
    r.graph = graph;
    r.correlation = 7;
    r.count = claimed < 0 ? static_cast<std::uint32_t>(addresses.size()) : static_cast<std::uint32_t>(claimed);
    ASSERT_TRUE(t.pair.producer.put(&r.header, record_type::touch, sizeof r, addresses.data(), addresses.size() * 8));
  }
  void define(thread& t, time_ns time, std::uint64_t graph, std::uint64_t source = 0) {
    graph_definition_record r{};
    r.graph = graph;
    r.source = source;
    put(t, time, r);
  }
  void launch(thread& t, time_ns time, std::uint64_t graph) {
    graph_launch_record r{};
    r.graph = graph;
    r.device = no_device;
    put(t, time, r);
  }
};

TEST_F(TouchedBlocks, AreThoseThatLayThereAtTheTime) {
  thread& a = add_thread();
  thread& b = add_thread();
  // b is drained after a: what it touched is what lay there when it did.
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

TEST_F(TouchedBlocks, AreTheFrameworksRatherThanTheirSegment) {
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

TEST_F(TouchedBlocks, AreNoMoreThanTheRecordHolds) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 256);
  touch(t, 20, {0x1000}, 0, 1'000'000);
  touch(t, 30, {0x1000, 0x1000}, 0, 1);
  touch(t, 40, {0xdead'0000});
  touch(t, 50, {});
  EXPECT_EQ(finish().all<touch_event>().size(), 2u);
}

TEST_F(TouchedBlocks, OfAGraphCarryTheGraphThatItsLaunchesNameToo) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 256);
  define(t, 20, 0xaa);
  touch(t, 21, {0x1000}, 0xaa);
  define(t, 22, 0xee, 0xaa);  // An executable graph is the graph it was made of.
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

TEST_F(TouchedBlocks, ModeOfTheProcessIsInItsRow) {
  thread& t = add_thread();
  mode_record r{};
  r.mode = static_cast<std::uint64_t>(recording_mode::timeline);
  put(t, 10, r);
  EXPECT_EQ(finish().tables().processes.rows()[0].mode, recording_mode::timeline);
}

}  // namespace
}  // namespace sluice::collector
