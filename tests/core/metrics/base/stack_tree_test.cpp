#include "core/metrics/base/stack_tree.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "core/metrics/report/report.hpp"
#include "tests/core/recordings/recording.hpp"

/// Compares stacks, and trees of them, with the slow and obvious way: for every node, a walk over all blocks or copies.
namespace sluice::metrics {
namespace {

using testing::indexed;
using testing::recording;
using trace::direction;
using trace::layer;
using trace::memory_kind;

constexpr time_ns span = 3000;
const std::atomic<bool> wanted{false};

using path = std::vector<std::uint64_t>;  ///< Lines from the outermost to the innermost.

struct block {
  trace::stack_id stack{};
  std::uint64_t bytes = 0;
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::device;
  time_ns born = 0;
  time_ns died = span * 2;  ///< If never freed, a time after the range of any query.
};
struct copy {
  trace::stack_id stack{};
  std::uint64_t bytes = 0;
  direction way = direction::h2d;
  time_ns begin = 0;
  time_ns end = 0;
};

/// Frames 10 * n and 10 * n + 1 have the same text: line n. Frames above 80 are two lines: an inlined function and its
/// caller.
std::vector<std::uint32_t> get_lines(trace::frame_id frame) {
  const auto line = static_cast<std::uint32_t>(raw(frame) / 10);
  return raw(frame) > 80 ? std::vector<std::uint32_t>{line + 100, line} : std::vector<std::uint32_t>{line};
}
constexpr std::uint32_t no_stack = 1000;
constexpr std::uint32_t cut_line = 1001;
const stack_lines lines{get_lines, nullptr, no_stack, cut_line};

/// A random recording: random stacks, and blocks and copies that have them.
struct random_trace {
  explicit random_trace(std::uint64_t seed) : random(seed), recorded(1 + seed % 40) {
    recorded.standard_tables();
    for (std::uint64_t i = 1; i <= 100; ++i) {
      trace::frame_row row;
      row.id = trace::frame_id{i};
      recorded.writer().add(row);
    }
    for (std::uint64_t i = 1; i <= 60; ++i) {
      const trace::stack_id parent{random() % i};
      const trace::frame_id frame{1 + random() % 100};
      recorded.writer().add(trace::stack_row{trace::stack_id{i}, parent, frame});
      path whole = parent == trace::stack_id::none ? path{} : paths.at(parent);
      std::vector<std::uint32_t> values = get_lines(frame);
      whole.insert(whole.end(), values.rbegin(), values.rend());
      paths[trace::stack_id{i}] = whole;
    }
    paths[trace::stack_id::none] = {no_stack};
    for (std::uint64_t i = 1; i <= 150; ++i) add_block(i);
    for (int i = 0; i < 80; ++i) add_copy();
    for (int i = 0; i < 30; ++i) {
      const time_ns begin = any_time();
      const time_ns end = begin + static_cast<time_ns>(random() % 60);
      recorded.add_kernel(begin, end);
      for (time_ns t = begin; t < end; ++t) kernel_at[t] = true;
    }
    recorded.close();
  }

  time_ns any_time() { return static_cast<time_ns>(random() % span); }

  void add_block(std::uint64_t id) {
    block b{trace::stack_id{random() % 61},
            random() % 1000,
            random() % 3 == 0 ? layer::framework : layer::driver,
            random() % 4 == 0 ? memory_kind::pinned : memory_kind::device,
            any_time(),
            span * 2};
    if (random() % 5 != 0) b.died = b.born + static_cast<time_ns>(random() % 500);
    auto row = recorded.event<trace::alloc_event>(b.born);
    row.block = trace::block_id{id};
    row.bytes = b.bytes;
    row.layer = b.layer;
    row.kind = b.kind;
    row.device = trace::device_id{1};
    row.stack = b.stack;
    recorded.writer().add(row);
    if (b.died < span * 2) recorded.add_free(b.died, id, b.layer);
    blocks.push_back(b);
  }

  void add_copy() {
    copy c{trace::stack_id{random() % 61}, random() % 10'000, random() % 2 == 0 ? direction::h2d : direction::d2h,
           any_time(), 0};
    c.end = c.begin + static_cast<time_ns>(random() % 60);
    auto call = recorded.event<trace::api_call_event>(c.begin - 5);
    call.end = c.begin;
    call.stack = c.stack;
    call.id = recorded.writer().next_event();
    auto row = recorded.event<trace::transfer_event>(c.begin);
    row.end = c.end;
    row.bytes = c.bytes;
    row.direction = c.way;
    row.device = trace::device_id{1};
    row.call = call.id;
    // Records of the device and of the host arrive in any order.
    const bool first = random() % 2 == 0;
    if (first) recorded.writer().add(row);
    recorded.writer().add(call);
    if (!first) recorded.writer().add(row);
    copies.push_back(c);
  }

  // --- the slow way -------------------------------------------------------------------------------------------------

  [[nodiscard]] stack_metrics compute_metrics(const copy& c, time_range range) const {
    const time_ns begin = std::max(c.begin, range.begin);
    const time_ns end = std::min(c.end, range.end);
    const bool inside = c.begin < range.end && (c.end > range.begin || (c.begin == c.end && c.begin >= range.begin));
    if (!inside) return {};
    stack_metrics made_of{c.bytes, 1, 0, 0};
    if (c.end > c.begin)
      made_of.bytes = c.bytes * static_cast<std::uint64_t>(end - begin) / static_cast<std::uint64_t>(c.end - c.begin);
    for (time_ns t = begin; t < end; ++t) {
      ++made_of.busy;
      if (!kernel_at.contains(t)) ++made_of.alone;
    }
    return made_of;
  }

  std::mt19937_64 random;
  recording recorded;
  std::map<trace::stack_id, path> paths;
  std::vector<block> blocks;
  std::vector<copy> copies;
  std::map<time_ns, bool> kernel_at;
};

/// The path of lines to each node, as a reader of the tree follows it.
path path_to(const stack_tree& tree, std::uint32_t node) {
  path found;
  for (; node != 0; node = tree.nodes[node].parent) found.insert(found.begin(), tree.nodes[node].line);
  return found;
}

bool begins_with(const path& whole, const path& part) {
  return whole.size() >= part.size() && std::equal(part.begin(), part.end(), whole.begin());
}

/// Compares every node with all (path, metrics) pairs.
void expect_exact(const stack_tree& tree, const std::vector<std::pair<path, stack_metrics>>& pairs, stack_weight by) {
  std::set<path> seen;
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const stack_node& node = tree.nodes[i];
    const path here = path_to(tree, i);
    EXPECT_EQ(here.size(), node.depth);
    EXPECT_TRUE(seen.insert(here).second) << "one node per path";
    stack_metrics sum;
    stack_metrics own;
    for (const auto& [whole, metrics] : pairs) {
      if (begins_with(whole, here)) sum.add(metrics);
      if (whole == here) own.add(metrics);
    }
    EXPECT_EQ(node.all, sum);
    EXPECT_EQ(node.own, own);
    std::uint64_t before = UINT64_MAX;
    for (std::uint32_t child = i + 1; child < node.end; child = tree.nodes[child].end) {
      EXPECT_EQ(tree.nodes[child].parent, i);
      EXPECT_LE(get_weight(tree.nodes[child].all, by), before) << "heaviest first";
      before = get_weight(tree.nodes[child].all, by);
    }
  }
  for (const auto& [whole, metrics] : pairs) EXPECT_TRUE(seen.contains(whole));
}

path ordered(path whole, stack_order order) {
  if (order == stack_order::from_callee) std::reverse(whole.begin(), whole.end());
  return whole;
}

TEST(stack_trees, add_up_exactly_to_what_lives_was_allocated_and_was_copied) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    random_trace slow(seed);
    const indexed loaded(slow.recorded.open());
    const trace::tables& tables = loaded.snapshot->tables();
    const index::memory_use& memory = loaded.index.memory();
    for (const stack_order order : {stack_order::from_caller, stack_order::from_callee}) {
      const time_ns a = slow.any_time();
      const time_ns b = slow.any_time();
      const time_range range{std::min(a, b), std::max(a, b) + 1};
      const block_filter filter{seed % 2 == 0 ? layer::driver : layer::framework,
                                {},
                                seed % 3 == 0 ? std::optional(memory_kind::device) : std::nullopt};
      std::vector<std::pair<path, stack_metrics>> live;
      std::vector<std::pair<path, stack_metrics>> born;
      for (const block& each : slow.blocks) {
        if (each.layer != filter.layer || (filter.kind && each.kind != *filter.kind)) continue;
        const path whole = ordered(slow.paths.at(each.stack), order);
        if (each.born <= a && a < each.died) live.push_back({whole, {each.bytes, 1, 0, 0}});
        if (each.born >= range.begin && each.born < range.end) born.push_back({whole, {each.bytes, 1, 0, 0}});
      }
      const auto merged = [&](const stack_use& use, stack_weight by) {
        return merge_stacks(use, tables, lines, order, by, wanted);
      };
      expect_exact(merged(live_stacks(memory, filter, a, wanted), stack_weight::bytes), live, stack_weight::bytes);
      expect_exact(merged(allocating_stacks(memory, filter, range, wanted), stack_weight::count), born,
                   stack_weight::count);
    }
  }
}

TEST(stack_trees, say_for_how_long_the_device_waited_for_the_copies_of_a_call) {
  for (std::uint64_t seed = 30; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    random_trace slow(seed);
    const indexed loaded(slow.recorded.open());
    const time_ns a = slow.any_time();
    const time_ns b = slow.any_time();
    const time_range range{std::min(a, b), std::max(a, b) + 1};
    const copy_filter filter{{}, seed % 2 == 0 ? std::optional(direction::h2d) : std::nullopt};
    std::vector<std::pair<path, stack_metrics>> wanted_sums;
    for (const copy& each : slow.copies) {
      if (filter.direction && each.way != *filter.direction) continue;
      const stack_metrics metrics = slow.compute_metrics(each, range);
      if (metrics.count > 0) wanted_sums.push_back({slow.paths.at(each.stack), metrics});
    }
    const stack_use use = copying_stacks(loaded.index, filter, range, wanted);
    expect_exact(
        merge_stacks(use, loaded.snapshot->tables(), lines, stack_order::from_caller, stack_weight::alone, wanted),
        wanted_sums, stack_weight::alone);
  }
}

TEST(peak_time, is_the_one_that_the_metrics_of_a_range_name) {
  for (std::uint64_t seed = 50; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    random_trace slow(seed);
    const indexed loaded(slow.recorded.open());
    const time_ns a = slow.any_time();
    const time_ns b = slow.any_time();
    const time_range range{std::min(a, b), std::max(a, b) + 1};
    for (const memory_statistics& statistics : measure(loaded.index, loaded.snapshot->tables(), range).memory) {
      if (statistics.maximum == 0) continue;
      const block_filter filter{statistics.layer, statistics.device, statistics.kind};
      EXPECT_EQ(peak_time(loaded.index.memory(), filter, range, wanted), statistics.maximum_time);
      stack_metrics sum;
      for (const stack_share& share :
           live_stacks(loaded.index.memory(), filter, statistics.maximum_time, wanted).shares)
        sum.add(share.metrics);
      EXPECT_EQ(sum.bytes, statistics.maximum);
    }
  }
}

/// Tables with a chain of stacks, each of which is called by the previous stack.
trace::tables make_chain(std::uint64_t length) {
  trace::tables tables;
  for (std::uint64_t i = 1; i <= length; ++i)
    tables.stacks.put({trace::stack_id{i}, trace::stack_id{i - 1}, trace::frame_id{10 * (i % 8)}});
  return tables;
}

stack_use one_stack(std::uint64_t stack) {
  stack_use use;
  use.shares.push_back({trace::stack_id{stack}, {100, 1, 0, 0}});
  return use;
}

TEST(stack_trees, leave_out_what_is_folded_but_for_the_innermost_line) {
  stack_lines own = lines;
  own.folded = [](std::uint32_t line) { return line % 2 == 1; };
  // The lines from the outermost: 1 2 3 4 5 6 7, then 0 1.
  const stack_tree tree = merge_stacks(one_stack(9), make_chain(9), own, {}, {}, wanted);
  EXPECT_EQ(path_to(tree, static_cast<std::uint32_t>(tree.nodes.size() - 1)), (path{2, 4, 6, 0, 1}));
}

TEST(stack_trees, begin_with_the_group_of_a_stack) {
  stack_lines grouped = lines;
  grouped.group = [](trace::stack_id stack) { return static_cast<std::uint32_t>(50 + raw(stack)); };
  for (const stack_order order : {stack_order::from_caller, stack_order::from_callee}) {
    stack_use use = one_stack(2);
    use.shares.push_back({trace::stack_id{3}, {900, 1, 0, 0}});
    const stack_tree tree = merge_stacks(use, make_chain(3), grouped, order, {}, wanted);
    ASSERT_EQ(tree.nodes.size(), 8U) << "two groups, with two and three lines";
    EXPECT_EQ(tree.nodes[1].line, 53U);
    EXPECT_EQ(tree.nodes[1].all.bytes, 900U);
    EXPECT_EQ(tree.nodes[tree.nodes[1].end].line, 52U);
  }
}

TEST(stack_trees, keep_every_level_of_a_recursion) {
  const stack_tree tree = merge_stacks(one_stack(500), make_chain(500), lines, {}, {}, wanted);
  EXPECT_EQ(tree.nodes.size(), 501U);
  EXPECT_EQ(tree.nodes.back().depth, 500U);
  EXPECT_FALSE(tree.cut);
}

TEST(stack_trees, are_cut_where_no_recorder_walks) {
  for (const stack_order order : {stack_order::from_caller, stack_order::from_callee}) {
    const stack_tree tree = merge_stacks(one_stack(100'000), make_chain(100'000), lines, order, {}, wanted);
    EXPECT_TRUE(tree.cut);
    EXPECT_LE(tree.nodes.size(), stack_tree::max_depth + 2);
    EXPECT_EQ(tree.nodes.front().all.bytes, 100U);
    const std::uint32_t end = order == stack_order::from_caller ? 1 : static_cast<std::uint32_t>(tree.nodes.size() - 1);
    EXPECT_EQ(tree.nodes[end].line, cut_line) << "the outer end is missing";
  }
}

TEST(stack_trees, end_at_a_ring_of_parents) {
  trace::tables tables;
  for (std::uint64_t i = 1; i <= 3; ++i)
    tables.stacks.put({trace::stack_id{i}, trace::stack_id{i % 3 + 1}, trace::frame_id{10 * i}});
  const stack_tree tree = merge_stacks(one_stack(1), tables, lines, {}, {}, wanted);
  ASSERT_EQ(tree.nodes.size(), 5U);
  EXPECT_TRUE(tree.cut);
  EXPECT_EQ(path_to(tree, 4), (path{cut_line, 3, 2, 1}));
}

TEST(stack_trees, count_stacks_that_the_file_never_tells_of_as_none) {
  const stack_tree tree = merge_stacks(one_stack(77), {}, lines, {}, {}, wanted);
  ASSERT_EQ(tree.nodes.size(), 2U);
  EXPECT_EQ(tree.nodes[1].line, no_stack);
  EXPECT_EQ(tree.nodes[1].own.bytes, 100U);
}

TEST(stack_trees, stay_whole_when_there_are_more_stacks_than_nodes) {
  trace::tables tables;
  stack_use use;
  std::uint64_t id = 0;
  const auto many = static_cast<std::uint64_t>(stack_tree::max_nodes) / 4;
  const stack_lines each_its_own{
      [](trace::frame_id frame) { return std::vector{static_cast<std::uint32_t>(raw(frame))}; }, nullptr, 0, 0};
  for (std::uint64_t i = 0; i < many; ++i) {
    trace::stack_id stack{};
    for (int depth = 0; depth < 6; ++depth) {
      ++id;
      tables.stacks.put({trace::stack_id{id}, stack, trace::frame_id{id}});
      stack = trace::stack_id{id};
    }
    use.shares.push_back({stack, {i + 1, 1, 0, 0}});
  }
  const stack_tree tree = merge_stacks(use, tables, each_its_own, {}, stack_weight::bytes, wanted);
  EXPECT_TRUE(tree.cut);
  EXPECT_EQ(tree.nodes.size(), stack_tree::max_nodes);
  EXPECT_EQ(tree.nodes[0].all.count, many);
  EXPECT_EQ(tree.nodes[0].all.bytes, many * (many + 1) / 2);
  EXPECT_EQ(tree.nodes[1].all.bytes, many) << "the heaviest is whole";
  EXPECT_EQ(tree.nodes[6].own.bytes, many);
}

TEST(stack_metrics, stop_at_the_highest_number) {
  stack_metrics sum{UINT64_MAX - 1, 1, INT64_MAX, 0};
  sum.add({5, 1, 5, 5});
  EXPECT_EQ(sum, (stack_metrics{UINT64_MAX, 2, INT64_MAX, 5}));
}

}  // namespace
}  // namespace sluice::metrics
