#include "core/query/types/host_stacks.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/core/query/results/in_both_ways.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::query {
namespace {

using testing::native;
using testing::python;
using testing::recording;
using trace::host_state;

constexpr time_ns stack_us = 1000;
constexpr time_range stack_time{0, 10'000 * stack_us};

trace::stack_id none{};

void add_sample(recording& to, time_range span, host_state state, trace::stack_id stack, std::int64_t system_call = -1,
                std::uint64_t thread = 1) {
  auto row = to.event<trace::host_sample_event>(span.begin);
  row.thread = trace::thread_id{thread};
  row.length = span.length();
  row.state = state;
  row.stack = stack;
  row.system_call = system_call;
  to.writer().add(row);
}

/// Every 100 stack_us: a kernel of 40 stack_us, and a plan that cuDNN builds from 30 stack_us to 90 stack_us. Thread 2 waits all the time.
void write_stacks(recording& to) {
  to.standard_tables();
  testing::stack_maker stacks(to);
  const auto step = python("step", "/home/me/train.py", 12);
  const auto plan = stacks({native("cudnnBackendFinalize", "/usr/lib/libcudnn.so.9"), step});
  const auto launches = stacks({step});
  for (time_ns at = 0; at < stack_time.end; at += 100 * stack_us) {
    to.add_kernel(at, at + 40 * stack_us);
    add_sample(to, {at + 30 * stack_us, at + 90 * stack_us}, host_state::running, plan);
    add_sample(to, {at + 90 * stack_us, at + 100 * stack_us}, host_state::in_kernel, launches, 16);
    add_sample(to, {at, at + 100 * stack_us}, host_state::blocked, none, 202, 2);
    to.add_call(at + 95 * stack_us, at + 98 * stack_us, "cuLaunchKernel");
  }
}

/// "step > cudnnBackendFinalize > (running)" and the time of each leaf.
std::map<std::string, time_ns> list_leaves(const host_stacks& found) {
  std::map<std::string, time_ns> leaves;
  const auto& nodes = found.view.tree.nodes;
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].end != i + 1) continue;
    std::string text;
    for (std::uint32_t at = i; at != 0; at = nodes[at].parent) {
      const std::string name = symbols::get_name(found.view.lines.at(nodes[at].line));
      text = text.empty() ? name : name + " > " + text;
    }
    leaves[text] = nodes[i].own.busy;
  }
  return leaves;
}

using leaves = std::map<std::string, time_ns>;

host_stacks ask(const host_stacks_query& query) {
  recording recorded;
  write_stacks(recorded);
  recorded.close();
  return make_result(recorded.path(), query);
}

TEST(stacks_of_the_host, show_what_ran_while_the_gpu_waited) {
  const host_stacks found = ask({.filter = {.range = stack_time}});
  EXPECT_TRUE(found.sampled);
  EXPECT_TRUE(found.launches_known);
  EXPECT_EQ(found.device, trace::device_id{1});
  EXPECT_EQ(found.idle, 100 * 60 * stack_us);
  EXPECT_EQ(list_leaves(found), (leaves{{"step > cudnnBackendFinalize > (running)", 100 * 50 * stack_us},
                                        {"step > (in the kernel: ioctl)", 100 * 10 * stack_us}}));
  EXPECT_EQ(found.view.tree.nodes[0].all.busy, found.idle) << "the thread that launches was sampled all the time";
}

TEST(stacks_of_the_host, count_all_of_the_range_if_asked_to) {
  const host_stacks found = ask({.filter = {.range = {0, 100 * stack_us}, .only_idle = false}});
  EXPECT_EQ(list_leaves(found), (leaves{{"step > cudnnBackendFinalize > (running)", 60 * stack_us},
                                        {"step > (in the kernel: ioctl)", 10 * stack_us}}));
}

TEST(stacks_of_the_host, include_threads_that_launch_nothing_if_asked_to) {
  const host_stacks found = ask({.filter = {.range = {0, 100 * stack_us}, .only_launching = false}});
  EXPECT_EQ(list_leaves(found).at("(no stack recorded) > (waiting: futex)"), 60 * stack_us);
}

TEST(stacks_of_the_host, say_which_lines_are_states) {
  const host_stacks found = ask({.filter = {.range = stack_time, .only_launching = false}});
  std::map<std::string, host_state> states;
  for (const state_line& each : found.states) states[found.view.lines.at(each.line).function] = each.state;
  EXPECT_EQ(states, (std::map<std::string, host_state>{{"(running)", host_state::running},
                                                       {"(in the kernel: ioctl)", host_state::in_kernel},
                                                       {"(waiting: futex)", host_state::blocked}}));
}

TEST(stacks_of_the_host, start_with_the_state_if_inverted) {
  const host_stacks found = ask({.filter = {.range = stack_time}, .order = metrics::stack_order::from_callee});
  ASSERT_GT(found.view.tree.nodes.size(), 1U);
  EXPECT_EQ(found.view.lines.at(found.view.tree.nodes[1].line).function, "(running)");
}

TEST(stacks_of_the_host, are_those_of_a_gap_that_contains_no_work) {
  const host_stacks found = ask({.filter = {.range = {45 * stack_us, 60 * stack_us}}});
  EXPECT_EQ(found.idle, 15 * stack_us);
  EXPECT_FALSE(found.launches_known);
  EXPECT_EQ(list_leaves(found).at("step > cudnnBackendFinalize > (running)"), 15 * stack_us);
}

TEST(stacks_of_the_host, from_sections_are_those_from_an_index_of_everything) {
  for (const bool only_idle : {true, false}) {
    const host_stacks_query query{.filter = {.range = {50 * stack_us, 9'950 * stack_us}, .only_idle = only_idle}};
    const auto [whole, sections] = ask_both_ways(write_stacks, query);
    EXPECT_EQ(list_leaves(sections), list_leaves(whole));
    EXPECT_EQ(sections.idle, whole.idle);
    EXPECT_EQ(sections.view.ids, whole.view.ids);
  }
}

TEST(stacks_of_the_host, are_missing_from_a_recording_without_samples) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(0, 10 * stack_us);
  recorded.close();
  const host_stacks found = make_result(recorded.path(), host_stacks_query{.filter = {.range = stack_time}});
  EXPECT_FALSE(found.sampled);
  EXPECT_EQ(found.view.tree.nodes.size(), 1U);
}

}  // namespace
}  // namespace sluice::query
