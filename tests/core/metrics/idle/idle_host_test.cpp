// What the host did in idle time, from samples of its threads.
#include "core/metrics/idle/idle_host.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/metrics/host_causes/describe.hpp"
#include "tests/core/metrics/idle/idle_program.hpp"

namespace sluice::metrics {
namespace {

using testing::get_idle;
using testing::idle_program;
using trace::host_state;

/// A program whose main thread (1) is sampled.
class sampled_program : public idle_program {
 public:
  /// Declares a stack with one native frame, called from line `line` of the program's model.py.
  std::uint64_t add_stack(std::string_view function, std::string_view module, std::uint64_t line) {
    trace::frame_row own;
    own.id = trace::frame_id{++frames_};
    own.kind = trace::frame_kind::python;
    own.function = recorded.text("forward");
    own.file = recorded.text("/home/user/model.py");
    own.line = line;
    recorded.writer().add(own);
    trace::frame_row inner;
    inner.id = trace::frame_id{++frames_};
    inner.kind = trace::frame_kind::native;
    inner.function = recorded.text(function);
    inner.module = recorded.text(module);
    inner.address = 4096;
    recorded.writer().add(inner);
    recorded.writer().add(trace::stack_row{trace::stack_id{++stacks_}, trace::stack_id::none, own.id});
    recorded.writer().add(trace::stack_row{trace::stack_id{stacks_ + 1}, trace::stack_id{stacks_}, inner.id});
    return ++stacks_;
  }
  void sample(time_ns begin, time_ns end, std::uint64_t stack, host_state state = host_state::running) {
    auto row = recorded.event<trace::host_sample_event>(begin * us);
    row.length = (end - begin) * us;
    row.stack = trace::stack_id{stack};
    row.state = state;
    row.thread = trace::thread_id{1};
    recorded.writer().add(row);
  }

 private:
  std::uint64_t frames_ = 100, stacks_ = 100;
};

std::vector<host_cause_group> get_groups(const idle_gaps_builder& builder) { return builder.devices().at(0).host; }

TEST(idle_host, is_named_by_what_the_enqueuing_thread_did_in_the_gap) {
  sampled_program program;
  const std::uint64_t plan = program.add_stack(
      "cudnnBackendFinalize", "/usr/lib/python3/site-packages/nvidia/cudnn/lib/libcudnn_graph.so.9", 64);
  program.launch(0, 5, 100);
  program.launch(900, 905, 1000);
  program.sample(90, 905, plan);
  const auto groups = get_groups(program.build());
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].cause.reason, host_reason::cudnn_plan);
  EXPECT_EQ(groups[0].cause.library, "cuDNN");
  EXPECT_EQ(groups[0].total, 800 * idle_program::us) << "from the end of the first kernel to the second launch";
  EXPECT_EQ(groups[0].gaps, 1U);
}

TEST(idle_host, has_the_line_of_the_program) {
  sampled_program program;
  const std::uint64_t stack = program.add_stack("nvrtcCompileProgram", "/usr/lib/libnvrtc.so.13", 12);
  program.launch(0, 5, 100);
  program.launch(900, 905, 1000);
  program.sample(90, 905, stack);
  const auto groups = get_groups(program.build());
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].cause.reason, host_reason::nvrtc_compile);
  EXPECT_EQ(groups[0].cause.line, 101U) << "the frame of model.py:12";
}

TEST(idle_host, is_unsampled_where_no_sample_is) {
  sampled_program program;
  const std::uint64_t stack = program.add_stack("nvrtcCompileProgram", "/usr/lib/libnvrtc.so.13", 12);
  program.launch(0, 5, 100);
  program.launch(900, 905, 1000);
  program.sample(0, 50, stack);
  const auto groups = get_groups(program.build());
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].cause.reason, host_reason::unsampled);
  EXPECT_EQ(groups[0].total, 800 * idle_program::us);
}

TEST(idle_host, of_more_lines_than_are_listed_keeps_its_reason) {
  sampled_program program;
  program.launch(0, 5, 100);
  constexpr std::uint64_t lines = 3 * idle_host_builder::limit;
  for (std::uint64_t line = 1; line <= lines; ++line) {
    const auto at = static_cast<time_ns>(line) * 1000;
    program.launch(at - 100, at - 95, at);
    program.sample(at - 1000, at - 95, program.add_stack("nvrtcCompileProgram", "/usr/lib/libnvrtc.so.13", line));
  }
  const idle_gaps_builder builder = program.build();
  const auto groups = get_groups(builder);
  EXPECT_EQ(groups.size(), idle_host_builder::limit + 1);
  time_ns sum = 0;
  for (const host_cause_group& each : groups) {
    EXPECT_EQ(each.cause.reason, host_reason::nvrtc_compile);
    EXPECT_EQ(each.cause.library, groups[0].cause.library);
    sum += each.total;
  }
  EXPECT_EQ(sum / idle_program::us, get_idle(builder, gap_cause::host));
}

TEST(idle_host, is_empty_in_a_recording_without_samples) {
  sampled_program program;
  program.launch(0, 5, 100);
  program.launch(900, 905, 1000);
  EXPECT_TRUE(get_groups(program.build()).empty());
}

/// Builds a program with random launches and samples.
void make_random(sampled_program& program, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint64_t stacks[] = {
      program.add_stack("nvrtcCompileProgram", "/usr/lib/libnvrtc.so.13", 1),
      program.add_stack("cudnnBackendFinalize", "/x/site-packages/nvidia/cudnn/lib/libcudnn_graph.so.9", 2),
      program.add_stack("compute", "/home/user/libown.so", 3)};
  time_ns time = 0;
  for (int i = 0; i < 60; ++i) {
    time += static_cast<time_ns>(random() % 300);
    program.launch(time, time + 5, time + 5 + static_cast<time_ns>(random() % 200));
  }
  for (time_ns at = 0; at < time;) {
    const time_ns length = 1 + static_cast<time_ns>(random() % 150);
    if (random() % 5 != 0) program.sample(at, at + length, stacks[random() % 3]);
    at += length;
  }
}

TEST(idle_host, adds_up_to_the_time_of_host_code_whatever_the_cuts) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    sampled_program program;
    make_random(program, seed);
    const idle_gaps_builder whole = program.build();
    time_ns sum = 0;
    for (const host_cause_group& each : get_groups(whole)) sum += each.total;
    EXPECT_EQ(sum / idle_program::us, get_idle(whole, gap_cause::host)) << "seed " << seed;
    std::mt19937_64 random(seed);
    std::vector<time_ns> cuts;
    for (time_ns at = 0; cuts.size() < 5;) cuts.push_back(at += 1 + static_cast<time_ns>(random() % 2000));
    const auto expected = get_groups(whole);
    const auto cut = get_groups(program.build(cuts));
    ASSERT_EQ(cut.size(), expected.size()) << "seed " << seed;
    for (std::size_t i = 0; i < cut.size(); ++i) {
      EXPECT_EQ(cut[i].cause, expected[i].cause) << "seed " << seed;
      EXPECT_EQ(cut[i].total, expected[i].total) << "seed " << seed;
      EXPECT_EQ(cut[i].gaps, expected[i].gaps) << "seed " << seed;
    }
  }
}

TEST(describe, puts_the_library_in_parentheses) {
  EXPECT_EQ(describe_reason({host_reason::cudnn_plan, "cuDNN", 0}), "builds a plan for a new shape (cuDNN)");
  EXPECT_EQ(describe_reason({host_reason::sleep, "", 0}), "sleeps");
}

}  // namespace
}  // namespace sluice::metrics
