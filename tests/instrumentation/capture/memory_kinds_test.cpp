// Records unusual allocations and frees through the real capture library and checks that the recording matches the
// program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/index/growing_index.hpp"
#include "core/metrics/statistics/range_statistics.hpp"
#include "tests/instrumentation/capture/recording.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::test {
namespace {

using namespace trace;

class memory_kinds : public testing::TestWithParam<route> {
 protected:
  static recording record_memory(const std::string& method, std::map<std::string, std::string> variables = {}) {
    recording run = record_by(
        GetParam(), {.arguments = {method}, .variables = std::move(variables), .program = "fake_memory_program"});
    EXPECT_EQ(run.status, 0);
    return run;
  }
};
INSTANTIATE_TEST_SUITE_P(by, memory_kinds, testing::Values(route::callbacks, route::entry_points),
                         testing::PrintToStringParamName());

/// The only block with this size, layer and kind; nothing if there is no such block.
std::optional<alloc_event> select_block(const recording& run, std::uint64_t bytes, layer layer, memory_kind kind) {
  std::optional<alloc_event> found;
  for (const alloc_event& a : run.allocs) {
    if (a.bytes != bytes || a.layer != layer || a.kind != kind) continue;
    EXPECT_FALSE(found.has_value()) << "more than one";
    found = a;
  }
  EXPECT_TRUE(found.has_value()) << bytes << " bytes";
  return found;
}

/// The event that freed the block; nothing if the block was never freed.
std::optional<free_event> get_end(const recording& run, const std::optional<alloc_event>& block) {
  std::optional<free_event> found;
  for (const free_event& f : run.frees) {
    if (!block || f.block != block->block) continue;
    EXPECT_FALSE(found.has_value()) << "freed twice";
    found = f;
  }
  return found;
}

TEST_P(memory_kinds, blocks_that_a_context_held_go_with_it) {
  const recording run = record_memory("reset");
  const auto plain = get_end(run, select_block(run, 1 * mib, layer::driver, memory_kind::device));
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->source, provenance::inferred);
  const auto pooled = get_end(run, select_block(run, 2 * mib, layer::pool, memory_kind::device));
  ASSERT_TRUE(pooled.has_value());
  EXPECT_EQ(pooled->source, provenance::inferred);
  const auto before = get_end(run, select_block(run, 3 * mib, layer::driver, memory_kind::device));
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->source, provenance::exact);
  EXPECT_FALSE(get_end(run, select_block(run, 4 * mib, layer::driver, memory_kind::reservation)).has_value())
      << "address ranges belong to the process";
}

TEST_P(memory_kinds, a_graphs_memory_is_its_own_until_the_last_graph_that_holds_it_is_gone) {
  const recording run = record_memory("graph");
  std::vector<alloc_event> nodes;
  for (const alloc_event& a : run.allocs) {
    if ((a.flags & graph_memory) != 0) nodes.push_back(a);
  }
  ASSERT_EQ(nodes.size(), 2U);
  const auto sign = select_block(run, 2 * mib, layer::driver, memory_kind::device);
  ASSERT_TRUE(sign.has_value());
  for (const alloc_event& node : nodes) {
    EXPECT_EQ(node.bytes, 1 * mib);
    EXPECT_EQ(node.layer, layer::pool);
    EXPECT_NE(node.pool, pool_id::none);
    const auto end = get_end(run, node);
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->source, provenance::inferred);
    EXPECT_GT(end->time, sign->time) << "its definition was destroyed earlier, but the executable graph was not";
  }
  EXPECT_TRUE(std::any_of(run.pools.begin(), run.pools.end(), [&](const pool_event& p) {
    return p.pool == nodes[0].pool && p.reserved == 4 * mib && p.used == 3 * mib;
  })) << "the memory of graphs is sampled";
}

TEST_P(memory_kinds, what_the_default_pool_has_reserved_is_not_untracked) {
  const recording run = record_memory("reserve");
  const auto reserved = std::max_element(run.pools.begin(), run.pools.end(),
                                         [](const auto& a, const auto& b) { return a.reserved < b.reserved; });
  ASSERT_NE(reserved, run.pools.end());
  EXPECT_EQ(reserved->reserved, 64 * mib);
  index::growing_index growing_index;
  while (!growing_index.absorb(*run.snapshot, 1)) {
  }
  const auto metrics = metrics::measure(growing_index, run.tables(), index::recorded_range(*run.snapshot));
  ASSERT_EQ(metrics.untracked.size(), 1U);
  EXPECT_GE(metrics.untracked[0].used_maximum, 64 * mib) << "the device reports it as in use";
  EXPECT_LT(metrics.untracked[0].maximum, 1 * mib);
}

TEST_P(memory_kinds, physical_memory_lives_as_long_as_it_is_mapped) {
  const recording run = record_memory("physical");
  const auto sign = select_block(run, 1 * mib, layer::driver, memory_kind::device);
  const auto end = get_end(run, select_block(run, 2 * mib, layer::driver, memory_kind::physical));
  ASSERT_TRUE(end.has_value());
  EXPECT_GT(end->time, sign->time) << "its handle was released earlier";
  std::size_t mappings = 0;
  for (const alloc_event& a : run.allocs) {
    if (a.kind != memory_kind::mapping) continue;
    ++mappings;
    const auto unmapped = get_end(run, a);
    ASSERT_TRUE(unmapped.has_value()) << "one call unmaps both";
    EXPECT_EQ(unmapped->time, end->time);
  }
  EXPECT_EQ(mappings, 2U);
  EXPECT_TRUE(std::any_of(run.calls.begin(), run.calls.end(), [&](const api_call_event& c) {
    return run.tables().text(c.name) == "cuMemSetAccess" && c.bytes == 4 * mib;
  }));
}

TEST_P(memory_kinds, pools_and_the_plain_driver_may_free_for_each_other) {
  const recording run = record_memory("crossed");
  for (const auto& block : {select_block(run, 1 * mib, layer::pool, memory_kind::device),
                            select_block(run, 2 * mib, layer::driver, memory_kind::device)}) {
    const auto end = get_end(run, block);
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->source, provenance::exact);
    EXPECT_EQ(end->layer, block->layer);
  }
}

TEST_P(memory_kinds, another_processes_memory_is_open_until_it_is_closed_as_often) {
  const recording run = record_memory("ipc");
  std::vector<alloc_event> imported;
  for (const alloc_event& a : run.allocs) {
    if ((a.flags & ipc_import) != 0) imported.push_back(a);
  }
  ASSERT_EQ(imported.size(), 1U);
  const auto sign = select_block(run, 1 * mib, layer::driver, memory_kind::device);
  const auto end = get_end(run, imported[0]);
  ASSERT_TRUE(end.has_value());
  EXPECT_GT(end->time, sign->time);
}

// A flood overflows a ring of 16 KiB: many allocations and frees are lost, after which the process sends its live set.
TEST_P(memory_kinds, live_set_is_known_again_after_a_loss) {
  const recording run = record_memory("flood", {{"SLUICE_RING_BYTES", "16384"}});
  ASSERT_GT(run.summary.lost_memory_events, 1000U) << "too few losses to test anything";
  ASSERT_FALSE(run.checkpoints.empty());
  const checkpoint_event& last = run.checkpoints.back();
  EXPECT_TRUE(last.exact);
  std::map<std::uint64_t, std::size_t> live;  // Number of live blocks, by size.
  for (const live_block_event& b : run.live_blocks) {
    if (b.checkpoint == last.id) ++live[b.bytes];
  }
  EXPECT_EQ(live, (std::map<std::uint64_t, std::size_t>{{4096, 25}, {1 * mib, 1}}));
  // The blocks without an end in the recording are exactly those still allocated, despite the losses.
  std::set<block_id> ended;
  for (const free_event& f : run.frees) ended.insert(f.block);
  std::size_t left = 0;
  for (const alloc_event& a : run.allocs) left += ended.contains(a.block) ? 0 : 1;
  EXPECT_EQ(left, 26U);
}

TEST_P(memory_kinds, calls_that_get_nothing_are_events) {
  const recording run = record_memory("failing");
  std::vector<std::string> names;
  for (const alloc_failed_event& f : run.failed) names.emplace_back(run.tables().text(f.name));
  EXPECT_THAT(names, testing::ElementsAre("cuMemAlloc", "cuMemAllocAsync", "cuMemAllocManaged", "cuMemHostAlloc",
                                          "cuIpcOpenMemHandle"));
  EXPECT_TRUE(run.allocs.empty());
}

}  // namespace
}  // namespace sluice::test
