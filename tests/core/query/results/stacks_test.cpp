#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/query/engine/engine.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

using testing::gib;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::direction;
using trace::layer;
using trace::memory_kind;

class stacks : public ::testing::Test {
 protected:
  void SetUp() override { made_.standard_tables(); }

  engine& asked() {
    if (!engine_) {
      made_.close();
      engine_ = std::make_unique<engine>(made_.open({.sources_from = {"/"}}));
    }
    return *engine_;
  }
  stack_view ask(const stacks_query& query) { return *asked().ask_now(query).value(); }

  trace::stack_id stack(trace::stack_id caller, const trace::frame_row& frame) {
    const std::uint64_t id = ++last_;
    trace::frame_row row = frame;
    row.id = trace::frame_id{id};
    made_.writer().add(row);
    made_.writer().add(trace::stack_row{trace::stack_id{id}, caller, row.id});
    return trace::stack_id{id};
  }
  trace::frame_row python(std::string_view function, std::string_view file, std::uint64_t line) {
    trace::frame_row row;
    row.kind = trace::frame_kind::python;
    row.function = made_.text(function);
    row.file = made_.text(file);
    row.line = line;
    return row;
  }
  void alloc(time_ns time, std::uint64_t block, std::uint64_t bytes, trace::stack_id by,
             layer layer = layer::framework) {
    auto row = made_.event<trace::alloc_event>(time);
    row.block = trace::block_id{block};
    row.bytes = bytes;
    row.kind = memory_kind::device;
    row.layer = layer;
    row.device = trace::device_id{1};
    row.stack = by;
    made_.writer().add(row);
  }
  void copy(time_ns begin, time_ns end, std::uint64_t bytes, trace::stack_id by) {
    auto call = made_.event<trace::api_call_event>(begin);
    call.id = made_.writer().next_event();
    call.stack = by;
    made_.writer().add(call);
    auto row = made_.event<trace::transfer_event>(begin);
    row.end = end;
    row.bytes = bytes;
    row.direction = direction::h2d;
    row.device = trace::device_id{1};
    row.call = call.id;
    made_.writer().add(row);
  }
  /// "main > train > load": the names from the root to a node.
  static std::string path(const stack_view& view, std::size_t node) {
    std::string text;
    for (; node != 0; node = view.tree.nodes[node].parent) {
      const std::string name = symbols::get_name(view.lines.at(view.tree.nodes[node].line));
      text = text.empty() ? name : name + " > " + text;
    }
    return text;
  }

  recording made_;
  std::unique_ptr<engine> engine_;
  std::uint64_t last_ = 0;
};

TEST_F(stacks, are_of_device_memory_if_there_is_some_worth_mentioning) {
  made_.add_alloc(0, 1, 8 * gib, trace::memory_kind::pinned);
  made_.add_alloc(1, 2, 1 * gib);
  const stack_view view = ask({{0, 10 * ms}, stack_measure::peak});
  ASSERT_TRUE(view.choice.has_value());
  EXPECT_EQ(view.choices[*view.choice].label, "GPU 0, CUDA allocations");
}

TEST_F(stacks, are_of_host_memory_where_the_device_has_next_to_none) {
  made_.add_alloc(0, 1, 8 * gib, trace::memory_kind::pinned);
  made_.add_alloc(1, 2, 1 * mib);
  const stack_view view = ask({{0, 10 * ms}, stack_measure::peak});
  ASSERT_TRUE(view.choice.has_value());
  EXPECT_EQ(view.choices[*view.choice].label, "host, CUDA allocations, pinned");
}

TEST_F(stacks, tell_which_line_holds_the_memory_at_the_peak) {
  const auto main = stack({}, python("<module>", "/home/me/train.py", 90));
  const auto model = stack(main, python("build", "/home/me/train.py", 12));
  const auto step = stack(main, python("step", "/home/me/train.py", 40));
  alloc(1 * ms, 1, 3 * gib, model);
  alloc(2 * ms, 2, 1 * gib, step);
  alloc(3 * ms, 3, 2 * gib, step);
  made_.add_free(4 * ms, 3, layer::framework);
  alloc(5 * ms, 4, 1 * mib, {});
  alloc(0, 9, 8 * gib, stack({}, python("reserve", "/x/site-packages/torch/cuda.py", 1)), layer::driver);

  const stack_view view = ask({{0, 10 * ms}, stack_measure::peak});
  ASSERT_TRUE(view.choice.has_value());
  EXPECT_EQ(view.choices[*view.choice].label, "GPU 0, framework tensors")
      << "not the driver's: it holds the framework's";
  EXPECT_EQ(view.choices.size(), 2U);
  EXPECT_EQ(view.time, 3 * ms);
  EXPECT_TRUE(view.recorded);
  EXPECT_FALSE(view.symbols_pending);
  ASSERT_EQ(view.tree.nodes.size(), 4U);
  EXPECT_EQ(path(view, 2), "<module> > build");
  EXPECT_EQ(path(view, 3), "<module> > step");
  EXPECT_EQ(view.tree.nodes[0].all.bytes, 6 * gib);
  EXPECT_EQ(view.tree.nodes[3].all, (metrics::stack_metrics{3 * gib, 2, 0, 0}));
  EXPECT_EQ(view.without.count, 0U);

  const stack_view later = ask({{0, 10 * ms}, stack_measure::live, 6 * ms});
  EXPECT_EQ(later.without.bytes, 1 * mib);
  EXPECT_EQ(later.tree.nodes[0].all.count, 3U);
  EXPECT_EQ(later.ids[2], view.ids[2]) << "a node keeps its id between queries";

  const stack_view born = ask({{2 * ms, 4 * ms}, stack_measure::allocated});
  EXPECT_EQ(born.tree.nodes[0].all.bytes, 3 * gib);
  stacks_query driver{{0, 10 * ms}, stack_measure::peak};
  driver.layer = layer::driver;
  EXPECT_EQ(path(ask(driver), 1), "reserve");
}

TEST_F(stacks, tell_which_copy_the_device_waits_for) {
  const auto slow = stack({}, python("load", "/home/me/data.py", 7));
  const auto hidden = stack({}, python("prefetch", "/home/me/data.py", 30));
  copy(0, 30 * ms, 100 * mib, slow);
  copy(40 * ms, 90 * ms, 900 * mib, hidden);
  made_.add_kernel(40 * ms, 100 * ms);
  stacks_query query{{0, 100 * ms}, stack_measure::transferred};
  query.weight = metrics::stack_weight::alone;
  const stack_view view = ask(query);
  EXPECT_EQ(path(view, 1), "load");
  EXPECT_EQ(view.tree.nodes[1].all, (metrics::stack_metrics{100 * mib, 1, 30 * ms, 30 * ms}));
  EXPECT_EQ(view.tree.nodes[2].all, (metrics::stack_metrics{900 * mib, 1, 50 * ms, 0}));
}

TEST_F(stacks, tell_where_host_threads_spend_time_while_the_gpu_waits) {
  const auto main = stack({}, python("<module>", "/home/me/train.py", 90));
  const auto load = stack(main, python("load", "/home/me/data.py", 7));
  const auto step = stack(main, python("step", "/home/me/train.py", 40));
  const auto sample = [&](time_ns begin, time_ns length, trace::stack_id in, trace::host_state state) {
    auto row = made_.event<trace::host_sample_event>(begin);
    row.length = length;
    row.state = state;
    row.stack = in;
    made_.writer().add(row);
  };
  sample(0, 10 * ms, load, trace::host_state::running);
  sample(10 * ms, 30 * ms, step, trace::host_state::running);
  sample(40 * ms, 5 * ms, load, trace::host_state::blocked);
  sample(45 * ms, 5 * ms, {}, trace::host_state::running);
  made_.add_kernel(12 * ms, 40 * ms);
  stacks_query query{{0, 100 * ms}, stack_measure::host};
  query.weight = metrics::stack_weight::busy;
  const stack_view view = ask(query);
  EXPECT_FALSE(view.choice.has_value());
  EXPECT_EQ(view.without, (metrics::stack_metrics{0, 1, 5 * ms, 5 * ms}));
  EXPECT_EQ(path(view, 2), "<module> > step") << "the most time";
  EXPECT_EQ(view.tree.nodes[2].all, (metrics::stack_metrics{0, 1, 30 * ms, 2 * ms}));
  query.weight = metrics::stack_weight::alone;
  const stack_view waiting = ask(query);
  EXPECT_EQ(path(waiting, 2), "<module> > load") << "the most time in which the GPU was idle";
  EXPECT_EQ(waiting.tree.nodes[2].all, (metrics::stack_metrics{0, 2, 15 * ms, 15 * ms}));
  query.state = trace::host_state::blocked;
  query.thread = trace::thread_id{1};
  EXPECT_EQ(ask(query).tree.nodes[0].all, (metrics::stack_metrics{0, 1, 5 * ms, 5 * ms}));
  query.thread = trace::thread_id{2};
  EXPECT_EQ(ask(query).tree.nodes.size(), 1U);
}

TEST_F(stacks, can_be_read_from_where_memory_was_allocated) {
  const auto one = stack({}, python("one", "/a.py", 1));
  const auto two = stack({}, python("two", "/a.py", 2));
  alloc(1, 1, 10, stack(one, python("empty", "/a.py", 3)));
  alloc(2, 2, 30, stack(two, python("empty", "/a.py", 3)));
  stacks_query query{{0, 10}, stack_measure::peak};
  query.order = metrics::stack_order::from_callee;
  const stack_view view = ask(query);
  ASSERT_EQ(view.tree.nodes.size(), 4U);
  EXPECT_EQ(view.tree.nodes[1].all.bytes, 40U);
  EXPECT_EQ(path(view, 2), "empty > two");
  EXPECT_EQ(path(view, 3), "empty > one");
}

TEST_F(stacks, are_none_where_none_were_recorded) {
  alloc(1, 1, 10, {});
  const stack_view view = ask({{0, 10}, stack_measure::peak});
  EXPECT_FALSE(view.recorded);
  EXPECT_EQ(view.without.bytes, 10U);
  EXPECT_FALSE(view.choices.at(0).has_stacks);
  const stack_view copies = ask({{0, 10}, stack_measure::transferred});
  EXPECT_EQ(copies.tree.nodes.size(), 1U);
  EXPECT_FALSE(copies.choice.has_value());
}

TEST_F(stacks, come_at_once_and_with_the_names_of_native_functions_later) {
  trace::frame_row native;
  native.kind = trace::frame_kind::native;
  native.module = made_.text("/opt/app/libgone.so");
  native.address = 0x4242;
  alloc(1, 1, 10, stack({}, native));
  slot<stacks_query> asking;
  const stacks_query query{{0, 10}, stack_measure::peak};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool saw_part = false;
  query_result<stack_view> now;
  do {
    now = asking.ask(asked(), query);
    if (now && now->symbols_pending) {
      saw_part = true;
      EXPECT_FALSE(now.complete);
      EXPECT_EQ(symbols::to_text(now->lines.at(0)), "libgone.so+0x4242 in /opt/app/libgone.so");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (!now.complete && std::chrono::steady_clock::now() < deadline);
  ASSERT_TRUE(now.complete);
  EXPECT_TRUE(saw_part || !now->symbols_pending);
  EXPECT_EQ(symbols::to_text(now->lines.at(0)),
            "libgone.so+0x4242 in /opt/app/libgone.so (libgone.so is not on this machine)");
}

}  // namespace
}  // namespace sluice::query
