// Graphs whose parameters change: a launch touches the blocks that its nodes named at the time of the launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "core/index/growing_index.hpp"
#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;

struct mode_and_graphs {
  const char* mode;
  const char* graphs;
  route way = route::callbacks;
};
class graph_changes : public testing::TestWithParam<mode_and_graphs> {
 protected:
  explicit graph_changes(const char* program = "graph") : run_(recorded(program, GetParam())) {}

  /// The recording of a program in a mode, made once.
  static const recording& recorded(const std::string& program, const mode_and_graphs& and_graphs) {
    static std::map<std::tuple<std::string, std::string, std::string, route>, recording> table;
    const auto [place, fresh] = table.try_emplace({program, and_graphs.mode, and_graphs.graphs, and_graphs.way});
    if (fresh)
      place->second = record_by(and_graphs.way, {.arguments = {program},
                                                 .graphs = and_graphs.graphs,
                                                 .mode = and_graphs.mode,
                                                 .program = "fake_edge_program"});
    return place->second;
  }
  const recording& run_;

  /// The sizes of the blocks that each launch touches, and how many consecutive launches touch them.
  std::vector<std::pair<std::vector<std::uint64_t>, int>> touched() {
    std::map<block_id, std::uint64_t> sizes;
    for (const alloc_event& a : run_.allocs) sizes[a.block] = a.bytes;
    std::vector<graph_launch_event> launches = run_.graph_launches;
    std::sort(launches.begin(), launches.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    std::vector<std::pair<std::vector<std::uint64_t>, int>> pairs;
    for (const graph_launch_event& launch : launches) {
      std::vector<std::uint64_t> blocks;
      for (const touch_event& t : run_.touches) {
        if (t.graph == launch.graph) blocks.push_back(sizes[t.block]);
      }
      if (pairs.empty() || pairs.back().first != blocks) pairs.emplace_back(blocks, 0);
      ++pairs.back().second;
    }
    return pairs;
  }
};

TEST_P(graph_changes, show_in_the_launches_that_follow) {
  ASSERT_EQ(run_.status, 0);
  using sizes = std::vector<std::uint64_t>;
  constexpr std::uint64_t a = 1001, b = 2002, c = 3003;
  EXPECT_THAT(touched(),
              testing::ElementsAre(std::pair{sizes{a, a}, 1}, std::pair{sizes{b, a}, 2}, std::pair{sizes{b, c}, 3},
                                   std::pair{sizes{c, c}, 4}, std::pair{sizes{a, a}, 5}, std::pair{sizes{b, a}, 6},
                                   std::pair{sizes{b, b}, 7}));
}

TEST_P(graph_changes, name_what_their_nodes_do) {
  std::map<std::string, int> names;
  for (const touch_event& t : run_.touches) ++names[std::string(run_.tables().text(t.name))];
  EXPECT_THAT(names, testing::UnorderedElementsAre(testing::Key("changed"), testing::Key("cuMemcpyHtoDAsync"),
                                                   testing::Key("cuMemset")));
}

TEST_P(graph_changes, count_as_replays_of_the_blocks_they_name) {
  index::growing_index index;
  while (!index.absorb(*run_.snapshot, 64)) {
  }
  std::map<std::uint64_t, std::uint64_t> replays;
  for (const index::block_record& block : index.memory().blocks())
    replays[block.bytes] = index.touches().of(block).replays;
  EXPECT_EQ(replays[1001], 1U + 2 + 5 + 6);
  EXPECT_EQ(replays[2002], 2U + 3 + 6 + 7);
  EXPECT_EQ(replays[3003], 3U + 4);
}

TEST_P(graph_changes, leave_no_calls_of_launches_in_memory_mode) {
  if (std::string(GetParam().mode) != "memory") GTEST_SKIP() << "skipped: timelines record them";
  for (const api_call_event& call : run_.calls) EXPECT_NE(run_.tables().text(call.name), "cuLaunchKernel");
}

class graphs_in_graphs : public graph_changes {
 protected:
  graphs_in_graphs() : graph_changes("children") {}
};

TEST_P(graphs_in_graphs, touch_what_they_are_made_of_and_not_what_is_switched_off) {
  ASSERT_EQ(run_.status, 0);
  using sizes = std::vector<std::uint64_t>;
  constexpr std::uint64_t a = 1001, b = 2002, c = 3003;
  EXPECT_THAT(touched(),
              testing::ElementsAre(std::pair{sizes{b, a}, 1}, std::pair{sizes{b, c}, 2}, std::pair{sizes{c}, 3},
                                   std::pair{sizes{b, c}, 4}, std::pair{sizes{a, c}, 5}));
}

const auto all_ways =
    testing::Values(mode_and_graphs{"memory", "whole"}, mode_and_graphs{"timeline", "whole"},
                    mode_and_graphs{"timeline", "node"}, mode_and_graphs{"memory", "whole", route::entry_points});
std::string name_of_way(const testing::TestParamInfo<mode_and_graphs>& p) {
  return std::string(p.param.mode) + "_" + p.param.graphs + (p.param.way == route::entry_points ? "_entry_points" : "");
}
INSTANTIATE_TEST_SUITE_P(modes, graph_changes, all_ways, name_of_way);
INSTANTIATE_TEST_SUITE_P(modes, graphs_in_graphs, all_ways, name_of_way);

}  // namespace
}  // namespace sluice::test
