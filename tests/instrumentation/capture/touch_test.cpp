// The blocks that launches touch, in recordings of fake_launches (fake/fake_launches.cpp), a program whose kernels'
// arguments are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;
using testing::ElementsAre;
using testing::IsEmpty;

recording record_launches(const std::string& which, const std::string& mode, const std::string& graphs = "whole") {
  return record({.arguments = {which}, .graphs = graphs, .mode = mode, .program = "fake_launches"});
}

const auto ways = testing::Values(route::callbacks, route::entry_points);

/// Fixture for tests that have the same results whether calls are intercepted or reported by CUPTI.
class EachWay : public testing::TestWithParam<route> {
 protected:
  static recording record_launches(const std::string& which) {
    return record_by(GetParam(),
                     {.arguments = {which}, .graphs = "whole", .mode = "memory", .program = "fake_launches"});
  }
};

/// Sizes of the blocks that the launches of `kernel` named, in row order.
std::vector<std::uint64_t> touched_by(const recording& run, const std::string& kernel) {
  std::map<block_id, std::uint64_t> sizes;
  for (const alloc_event& a : run.allocs) sizes[a.block] = a.bytes;
  std::vector<std::uint64_t> touched;
  for (const touch_event& t : run.touches) {
    if (run.tables().text(t.name) == kernel) touched.push_back(sizes[t.block]);
  }
  return touched;
}

std::set<graph_id> find_graphs(const recording& run, const std::string& kernel) {
  std::set<graph_id> found;
  for (const touch_event& t : run.touches) {
    if (run.tables().text(t.name) == kernel) found.insert(t.graph);
  }
  return found;
}

class touches_test : public EachWay {
 protected:
  void SetUp() override {
    std::unique_ptr<recording>& run = runs_[GetParam()];
    if (run == nullptr) run = std::make_unique<recording>(record_launches("touches"));
    run_ = run.get();
  }
  static void TearDownTestSuite() { runs_.clear(); }
  static inline std::map<route, std::unique_ptr<recording>> runs_;
  recording* run_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(by, touches_test, ways, testing::PrintToStringParamName());

constexpr std::uint64_t a = 1001, b = 3 << 20, c = 5003;

TEST_P(touches_test, the_program_ends_as_it_does_alone) { EXPECT_EQ(run_->status, 0); }
TEST_P(touches_test, are_the_blocks_that_parameters_name_or_point_into) {
  EXPECT_THAT(touched_by(*run_, "two"), ElementsAre(a, b));
}
TEST_P(touches_test, are_found_inside_structures) { EXPECT_THAT(touched_by(*run_, "structure"), ElementsAre(a, c)); }
TEST_P(touches_test, name_a_block_once) { EXPECT_THAT(touched_by(*run_, "same"), ElementsAre(a)); }
TEST_P(touches_test, are_not_numbers) { EXPECT_THAT(touched_by(*run_, "none"), IsEmpty()); }
TEST_P(touches_test, are_not_what_lies_past_a_block) { EXPECT_THAT(touched_by(*run_, "past"), IsEmpty()); }
TEST_P(touches_test, are_not_what_was_freed) { EXPECT_THAT(touched_by(*run_, "freed"), IsEmpty()); }
TEST_P(touches_test, are_not_where_no_pointer_can_be) { EXPECT_THAT(touched_by(*run_, "crooked"), IsEmpty()); }
TEST_P(touches_test, are_found_for_kernels_of_libraries) {
  EXPECT_THAT(touched_by(*run_, "library_kernel"), ElementsAre(c));
}
TEST_P(touches_test, are_found_in_a_buffer_of_parameters) {
  EXPECT_THAT(touched_by(*run_, "buffered"), ElementsAre(b, c));
  EXPECT_THAT(touched_by(*run_, "overstated"), ElementsAre(b, c));
  EXPECT_THAT(touched_by(*run_, "understated"), ElementsAre(b));
}

TEST_P(touches_test, know_their_stream_thread_and_call) {
  ASSERT_FALSE(run_->touches.empty());
  std::set<std::uint64_t> calls;
  for (const touch_event& t : run_->touches) {
    EXPECT_NE(t.block, block_id::none);
    EXPECT_NE(t.stream, stream_id::none);
    EXPECT_NE(t.thread, thread_id::none);
    EXPECT_EQ(t.graph, graph_id::none);
    calls.insert(t.correlation);
  }
  EXPECT_GT(calls.size(), 5U);
}

TEST_P(touches_test, in_memory_mode_there_is_nothing_else_of_a_launch_that_worked) {
  EXPECT_THAT(run_->kernels, IsEmpty());
  ASSERT_EQ(run_->calls.size(), 1U) << "the failed launch";
  EXPECT_EQ(run_->calls[0].status, 1);
  ASSERT_EQ(run_->tables().processes.rows().size(), 1U);
  EXPECT_EQ(run_->tables().processes.rows()[0].mode, recording_mode::memory);
  EXPECT_TRUE(run_->says("--mode timeline"));
}

using touches_of_many = EachWay;
INSTANTIATE_TEST_SUITE_P(by, touches_of_many, ways, testing::PrintToStringParamName());
using touches_under_capture = EachWay;
INSTANTIATE_TEST_SUITE_P(by, touches_under_capture, ways, testing::PrintToStringParamName());
using touches_after_an_unload = EachWay;
INSTANTIATE_TEST_SUITE_P(by, touches_after_an_unload, ways, testing::PrintToStringParamName());
using touches_of_hostile_launches = EachWay;
INSTANTIATE_TEST_SUITE_P(by, touches_of_hostile_launches, ways, testing::PrintToStringParamName());
using touches_of_many_threads = EachWay;
INSTANTIATE_TEST_SUITE_P(by, touches_of_many_threads, ways, testing::PrintToStringParamName());

TEST(touches_and_kernels, are_joined_by_their_call_in_timeline_mode) {
  const recording run = record_launches("touches", "timeline");
  EXPECT_EQ(run.tables().processes.rows()[0].mode, recording_mode::timeline);
  std::map<std::uint64_t, string_id> kernels;
  for (const kernel_event& k : run.kernels) kernels[k.correlation] = k.name;
  EXPECT_EQ(kernels.size(), 11U) << "twelve launches, one of which failed";
  for (const touch_event& t : run.touches) {
    if (run.tables().text(t.name) == "failing") continue;
    ASSERT_TRUE(kernels.contains(t.correlation));
    EXPECT_EQ(kernels[t.correlation], t.name);
  }
  EXPECT_FALSE(run.says("--mode timeline"));
}

TEST_P(touches_of_many, are_all_there_and_each_once) {
  const recording run = record_launches("optimizer");
  EXPECT_EQ(run.status, 0);
  std::vector<std::uint64_t> touched = touched_by(run, "optimizer");
  EXPECT_EQ(touched.size(), 300U);
  EXPECT_EQ(std::set<std::uint64_t>(touched.begin(), touched.end()).size(), 300U);
}

TEST_P(touches_under_capture, belong_to_the_graph_and_its_launches_repeat_them) {
  const recording run = record_launches("capture");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(touched_by(run, "captured"), ElementsAre(1001));
  EXPECT_THAT(touched_by(run, "cuMemcpyHtoDAsync"), ElementsAre(2002));
  EXPECT_THAT(touched_by(run, "second"), ElementsAre(2002));
  EXPECT_THAT(touched_by(run, "node"), ElementsAre(2002));
  EXPECT_THAT(find_graphs(run, "beside"), ElementsAre(graph_id::none));
  EXPECT_THAT(find_graphs(run, "after"), ElementsAre(graph_id::none));
  const std::set<graph_id> first = find_graphs(run, "captured");
  ASSERT_EQ(first.size(), 1U);
  EXPECT_NE(*first.begin(), graph_id::none);
  EXPECT_EQ(find_graphs(run, "cuMemcpyHtoDAsync"), first);
  EXPECT_NE(find_graphs(run, "second"), first) << "another graph, even with the same handle";
  std::map<graph_id, int> launches;
  for (const graph_launch_event& g : run.graph_launches) ++launches[g.graph];
  EXPECT_EQ(launches[*first.begin()], 3);
  EXPECT_EQ(launches[*find_graphs(run, "second").begin()], 1);
  EXPECT_EQ(launches[*find_graphs(run, "node").begin()], 1);
  EXPECT_TRUE(std::any_of(run.graph_definitions.begin(), run.graph_definitions.end(),
                          [&](const graph_definition_event& g) { return g.graph == *first.begin() && g.nodes == 2; }))
      << "the captured kernel and the captured copy";
}

// If nodes are traced one by one, the device reports no launch; the launch comes from the call.
TEST(touches_node_by_node, are_repeated_by_launches_that_only_the_call_tells_of) {
  const recording run = record_launches("capture", "timeline", "node");
  std::map<graph_id, int> launches;
  for (const graph_launch_event& g : run.graph_launches) {
    EXPECT_EQ(g.end, unknown_time);
    ++launches[g.graph];
  }
  EXPECT_EQ(launches[*find_graphs(run, "captured").begin()], 3);
}

TEST_P(touches_after_an_unload, are_read_by_the_new_functions_parameters) {
  const recording run = record_launches("unload");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(touched_by(run, "before"), ElementsAre(1001));
  EXPECT_THAT(touched_by(run, "behind"), ElementsAre(2002));
}

TEST_P(touches_of_hostile_launches, do_no_harm) {
  const recording run = record_launches("hostile");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(touched_by(run, "a_hole"), ElementsAre(1001));
  EXPECT_THAT(touched_by(run, "nothing_given"), IsEmpty());
  EXPECT_THAT(touched_by(run, "unended"), IsEmpty());
  EXPECT_THAT(touched_by(run, "huge"), IsEmpty());
}

TEST_P(touches_of_many_threads, are_each_threads_own) {
  const recording run = record_launches("threads");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.summary.lost_events, 0U);
  for (std::uint64_t t = 0; t < 8; ++t) {
    const std::vector<std::uint64_t> touched = touched_by(run, "thread" + std::to_string(t));
    EXPECT_EQ(touched.size(), 200U);
    EXPECT_EQ(std::count(touched.begin(), touched.end(), 1000 + t), 200);
  }
}

TEST(mode, leaves_out_what_it_does_not_need) {
  const recording memory = record({.arguments = {"torch"}, .mode = "memory"});
  EXPECT_THAT(memory.kernels, IsEmpty());
  EXPECT_THAT(memory.syncs, IsEmpty());
  EXPECT_FALSE(memory.transfers.empty());
  EXPECT_FALSE(memory.allocs.empty());
  const recording timeline = record({.arguments = {"torch"}, .mode = "timeline"});
  EXPECT_FALSE(timeline.kernels.empty());
  EXPECT_EQ(timeline.transfers.size(), memory.transfers.size());
  EXPECT_EQ(timeline.allocs.size(), memory.allocs.size());
}

}  // namespace
}  // namespace sluice::test
