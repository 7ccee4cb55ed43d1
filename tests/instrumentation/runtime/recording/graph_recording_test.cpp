#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// Recordings of graphs, batches of copies and mapped memory.

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

class recorded_graphs : public on_each_device {
 protected:
  void SetUp() override {
    on_each_device::SetUp();
    path = fs::temp_directory_path() / ("sluice_graphs_" + std::to_string(getpid()) + ".sluice");
  }
  void TearDown() override {
    on_each_device::TearDown();
    fs::remove(path);
  }
  /// All rows of type `Row`, sorted by time.
  template <class Row>
  std::vector<Row> rows() {
    if (!snapshot) {
      auto file = trace::file::open(path.string());
      EXPECT_TRUE(file);
      snapshot = (*file)->latest();
    }
    std::vector<Row> out;
    (void)snapshot->for_each<Row>([&](const Row& row) { out.push_back(row); });
    std::sort(out.begin(), out.end(),
              [](const Row& a, const Row& b) { return std::tie(a.time, a.id) < std::tie(b.time, b.id); });
    return out;
  }

  fs::path path;
  std::shared_ptr<const trace::snapshot> snapshot;
};
SLUICE_ON_EACH_DEVICE(recorded_graphs);

TEST_P(recorded_graphs, have_a_definition_launches_and_memory_of_their_own) {
  recording r(path.string(), device());
  {
    const stream s;
    backend::device& d = device().backend();
    const device_buffer kept(mib, s);
    graph_capture capture(s);
    void* scratch = value_or_throw(d.allocate_async(mib, stream_ref(s).handle()));
    set_async(scratch, 1, mib, s);
    copy_async(kept.data(), scratch, mib, s);
    value_or_throw(d.free_async(scratch, stream_ref(s).handle()));
    const graph g = capture.finish();
    graph_exec exec(g);
    for (int i = 0; i < 3; ++i) exec.launch(s);
    s.sync();
  }
  r.finish();
  const auto launches = rows<trace::graph_launch_event>();
  ASSERT_EQ(launches.size(), 3u);
  const auto definitions = rows<trace::graph_definition_event>();
  ASSERT_FALSE(definitions.empty());
  EXPECT_TRUE(std::any_of(definitions.begin(), definitions.end(),
                          [&](const auto& d) { return d.graph == launches[0].graph && d.nodes == 4; }));
  EXPECT_EQ(launches[0].graph, launches[2].graph);
  std::vector<trace::alloc_event> nodes;
  for (const auto& a : rows<trace::alloc_event>()) {
    if (a.flags & trace::graph_memory) nodes.push_back(a);
  }
  ASSERT_EQ(nodes.size(), 1u) << "the memory node";
  EXPECT_EQ(nodes[0].bytes, mib);
  EXPECT_EQ(nodes[0].layer, trace::layer::pool);
  EXPECT_EQ(std::string(snapshot->tables().text(snapshot->tables().pools.find(nodes[0].pool)->name)), "graph memory");
  const auto frees = rows<trace::free_event>();
  EXPECT_EQ(std::count_if(frees.begin(), frees.end(), [&](const auto& f) { return f.block == nodes[0].block; }), 1)
      << "it ends with its graphs";
  if (simulated()) {
    const auto copies = rows<trace::transfer_event>();
    ASSERT_EQ(copies.size(), 3u) << "each node of each launch";
    for (const auto& c : copies) {
      EXPECT_NE(c.graph_node, 0u);
      EXPECT_EQ(c.graph_node, copies[0].graph_node);
      EXPECT_NE(c.call, trace::event_id::none) << "and the launch that requested it";
    }
    bool used = false;
    for (const auto& p : rows<trace::pool_event>()) used = used || (p.pool == nodes[0].pool && p.used == mib);
    EXPECT_TRUE(used);
  }
}

TEST_P(recorded_graphs, touch_the_blocks_that_their_nodes_name) {
  if (!simulated()) GTEST_SKIP() << "on real devices the capture library records this, and has its own tests";
  recording r(path.string(), device());
  {
    const stream s;
    const device_buffer a(mib, s), b(mib, s);
    graph_capture capture(s);
    set_async(a.data(), 1, mib, s);
    launch(kernels::affine_u32, launch_config::for_size(8), s, b.as<std::uint32_t>().data(), std::uint64_t{8}, 1u, 1u,
           1u);
    const graph g = capture.finish();
    graph_exec exec(g);
    exec.launch(s);
    s.sync();
  }
  r.finish();
  std::vector<std::string> names;
  for (const auto& t : rows<trace::touch_event>()) {
    EXPECT_EQ(t.graph, rows<trace::graph_launch_event>()[0].graph);
    names.emplace_back(snapshot->tables().text(t.name));
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("cuMemsetD8Async", "affine_u32"));
}

TEST_P(recorded_graphs, and_batches_show_each_copy_with_its_addresses) {
  recording r(path.string(), device());
  {
    const stream s;
    const pinned_buffer host(mib, s);
    const device_buffer there(mib, s);
    std::vector<copy_piece> pieces;
    for (std::size_t i = 0; i < 10; ++i) {
      pieces.push_back(
          {static_cast<std::byte*>(there.data()) + i * 4096, static_cast<std::byte*>(host.data()) + i * 4096, 4096});
    }
    copy_batch_async(pieces, s);
    s.sync();
  }
  r.finish();
  std::uint64_t bytes = 0;
  for (const auto& c : rows<trace::transfer_event>()) {
    EXPECT_EQ(c.direction, trace::direction::h2d);
    EXPECT_NE(c.call, trace::event_id::none);
    bytes += c.bytes;
  }
  EXPECT_EQ(bytes, 40'960u);
  if (simulated()) {
    const auto copies = rows<trace::transfer_event>();
    ASSERT_EQ(copies.size(), 10u);
    for (std::size_t i = 1; i < copies.size(); ++i) {
      EXPECT_EQ(copies[i].destination_address, copies[0].destination_address + i * 4096);
      EXPECT_EQ(copies[i].destination_block, copies[0].destination_block);
    }
  }
}

TEST_P(recorded_graphs, and_mapped_memory_as_addresses_bytes_and_mappings) {
  if (!device().description().features.virtual_memory) GTEST_SKIP() << "skipped: this device has no virtual memory";
  recording r(path.string(), device());
  backend::device& d = device().backend();
  const std::uint64_t unit = value_or_throw(d.virtual_granularity());
  void* addresses = value_or_throw(d.reserve_addresses(4 * unit, 0));
  const auto physical = value_or_throw(d.create_physical(unit));
  value_or_throw(d.map(addresses, unit, physical));
  value_or_throw(d.release_physical(physical));
  value_or_throw(d.unmap(addresses, unit));
  value_or_throw(d.free_addresses(addresses, 4 * unit));
  r.finish();
  std::map<trace::memory_kind, trace::alloc_event> allocations;
  std::map<trace::block_id, int> frees;
  for (const auto& a : rows<trace::alloc_event>()) allocations[a.kind] = a;
  for (const auto& f : rows<trace::free_event>()) ++frees[f.block];
  ASSERT_EQ(allocations.size(), 3u);
  EXPECT_EQ(allocations[trace::memory_kind::reservation].bytes, 4 * unit);
  EXPECT_EQ(allocations[trace::memory_kind::physical].bytes, unit);
  EXPECT_EQ(allocations[trace::memory_kind::mapping].bytes, unit);
  EXPECT_EQ(allocations[trace::memory_kind::mapping].address, d.trace_address(addresses));
  for (const auto& [kind, row] : allocations) EXPECT_EQ(frees[row.block], 1) << static_cast<int>(kind);
}

}  // namespace
}  // namespace sluice::runtime
