#include "instrumentation/runtime/graph.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

// Graphs: work is captured once and launched often.

namespace sluice::runtime {
namespace {

using kind = graph_node_kind;
constexpr std::size_t count = 1024;
constexpr std::size_t bytes = count * 4;

class graphs : public on_each_device {
 protected:
  void add_one(const stream_ref& on, std::uint32_t* data) {
    launch(kernels::affine_u32, launch_config::for_size(count), on, data, std::uint64_t{count}, 1u, 1u, 1u);
  }
  /// The value of the words in a device block, which must all be equal.
  std::uint32_t get_value(const void* block, const stream_ref& s) {
    std::vector<std::uint32_t> out(count);
    copy(out.data(), block, bytes, s);
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [&](auto v) { return v == out.front(); }));
    return out.front();
  }
  void fill(void* block, std::uint32_t value, const stream_ref& s) {
    const std::vector<std::uint32_t> in(count, value);
    copy(block, in.data(), bytes, s);
  }
};
SLUICE_ON_EACH_DEVICE(graphs);

TEST_P(graphs, run_when_they_are_launched_and_not_when_they_are_captured) {
  const stream s;
  const device_buffer a(bytes, s);
  fill(a.data(), 5, s);
  graph_capture capture(s);
  add_one(s, a.as<std::uint32_t>().data());
  add_one(s, a.as<std::uint32_t>().data());
  const graph g = capture.finish();
  EXPECT_EQ(get_value(a.data(), s), 5u) << "captured, not run";
  graph_exec exec(g);
  for (int i = 0; i < 3; ++i) exec.launch(s);
  EXPECT_EQ(get_value(a.data(), s), 11u);
  EXPECT_EQ(g.shape().nodes, (std::vector<kind>{kind::kernel, kind::kernel}));
  EXPECT_EQ(g.shape().edges, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}}));
}

TEST_P(graphs, hold_copies_sets_kernels_and_host_functions_in_order) {
  const stream s;
  const pinned_buffer host(bytes, s);
  const device_buffer a(bytes, s);
  std::vector<std::uint32_t> seen;
  graph_capture capture(s);
  set_async(a.data(), 1, bytes, s);
  add_one(s, a.as<std::uint32_t>().data());
  copy_async(host.data(), a.data(), bytes, s);
  launch_host_func(s, [&seen, words = host.as<std::uint32_t>()] { seen.push_back(words[7]); });
  const graph g = capture.finish();
  EXPECT_EQ(g.shape().nodes, (std::vector<kind>{kind::set, kind::kernel, kind::copy, kind::host}));
  graph_exec exec(g);
  exec.launch(s);
  exec.launch(s);
  s.sync();
  EXPECT_THAT(seen, testing::ElementsAre(0x01010102u, 0x01010102u)) << "called at each launch";
}

TEST_P(graphs, keep_the_functions_they_call) {
  const stream s;
  auto counter = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = counter;
  {
    graph_capture capture(s);
    launch_host_func(s, [counter = std::move(counter)] { ++*counter; });
    std::optional<graph> g(capture.finish());
    graph_exec exec(*g);
    g.reset();
    exec.launch(s);
    exec.launch(s);
    s.sync();
    ASSERT_FALSE(watched.expired());
    EXPECT_EQ(*watched.lock(), 2);
  }
  EXPECT_TRUE(watched.expired());
}

TEST_P(graphs, follow_streams_that_fork_and_join) {
  const stream first, second;
  const device_buffer a(bytes, first), b(bytes, first), sum(bytes, first);
  event forked, joined;
  graph_capture capture(first);
  set_async(sum.data(), 0, bytes, first);
  first.record(forked);
  second.wait(forked);
  EXPECT_NE(find_capture(second), nullptr) << "it takes part now";
  set_async(a.data(), 1, bytes, first);
  set_async(b.data(), 2, bytes, second);
  second.record(joined);
  first.wait(joined);
  launch(kernels::add_u32, launch_config::for_size(count), first, sum.as<std::uint32_t>().data(),
         static_cast<const std::uint32_t*>(a.data()), static_cast<const std::uint32_t*>(b.data()),
         std::uint64_t{count});
  const graph g = capture.finish();
  EXPECT_EQ(find_capture(second), nullptr);
  EXPECT_EQ(g.shape().nodes, (std::vector<kind>{kind::set, kind::set, kind::set, kind::kernel}));
  EXPECT_EQ(g.shape().edges, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  graph_exec exec(g);
  exec.launch(first);
  EXPECT_EQ(get_value(sum.data(), first), 0x03030303u);
}

TEST_P(graphs, hold_memory_of_their_own) {
  const stream s;
  const device_buffer result(bytes, s);
  backend::device& d = device().backend();
  graph_capture capture(s);
  void* scratch = value_or_throw(d.allocate_async(bytes, stream_ref(s).handle()));
  set_async(scratch, 3, bytes, s);
  copy_async(result.data(), scratch, bytes, s);
  value_or_throw(d.free_async(scratch, stream_ref(s).handle()));
  const graph g = capture.finish();
  EXPECT_EQ(g.shape().nodes, (std::vector<kind>{kind::allocation, kind::set, kind::copy, kind::free}));
  graph_exec exec(g);
  for (int i = 0; i < 3; ++i) exec.launch(s);
  EXPECT_EQ(get_value(result.data(), s), 0x03030303u);
}

TEST_P(graphs, take_other_parameters_of_the_same_shape) {
  const stream s;
  const device_buffer a(bytes, s), b(bytes, s);
  const auto captured = [&](std::uint8_t value, void* where, int kernels_after) {
    graph_capture capture(s);
    set_async(where, value, bytes, s);
    for (int i = 0; i < kernels_after; ++i) add_one(s, static_cast<std::uint32_t*>(where));
    return capture.finish();
  };
  const graph first = captured(1, a.data(), 1), second = captured(2, b.data(), 1), other = captured(2, b.data(), 2);
  graph_exec exec(first);
  exec.launch(s);
  EXPECT_EQ(get_value(a.data(), s), 0x01010102u);
  exec.update(second);
  fill(a.data(), 0, s);
  exec.launch(s);
  EXPECT_EQ(get_value(b.data(), s), 0x02020203u);
  EXPECT_EQ(get_value(a.data(), s), 0u);
  try {
    exec.update(other);
    FAIL() << "it has another node";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), status::invalid_value) << e.what();
    EXPECT_NE(std::string(e.what()).find("nodes or edges differ"), std::string::npos) << e.what();
  }
  exec.launch(s);
  EXPECT_EQ(get_value(b.data(), s), 0x02020203u) << "unchanged";
}

TEST_P(graphs, become_nodes_of_others) {
  const stream s;
  const device_buffer a(bytes, s);
  graph_capture inner(s);
  add_one(s, a.as<std::uint32_t>().data());
  std::optional<graph> child(inner.finish());
  graph_capture outer(s);
  set_async(a.data(), 0, bytes, s);
  outer.add_child(*child);
  outer.add_child(*child);
  const graph g = outer.finish();
  child.reset();  // the parent has a copy
  EXPECT_EQ(g.shape().nodes, (std::vector<kind>{kind::set, kind::child_graph, kind::child_graph}));
  EXPECT_EQ(g.shape().edges, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {1, 2}}));
  graph_exec exec(g);
  exec.upload(s);
  exec.launch(s);
  EXPECT_EQ(get_value(a.data(), s), 2u);
}

TEST_P(graphs, are_not_launched_into_captures_and_end_beside_them) {
  const stream s;
  auto counter = std::make_shared<int>(0);
  graph_capture inner(s);
  launch_host_func(s, [counter] { ++*counter; });
  std::optional<graph_exec> exec(inner.finish());
  exec->launch(s);
  s.sync();
  graph_capture outer(s);
  EXPECT_THROW(exec->launch(s), error);
  exec.reset();  // Must not wait for the captured stream: that would break the capture.
  launch_host_func(s, [counter] { *counter += 10; });
  graph_exec tens(outer.finish());
  tens.launch(s);
  s.sync();
  EXPECT_EQ(*counter, 11);
}

TEST_P(graphs, can_be_drawn) {
  const stream s;
  const device_buffer a(bytes, s);
  graph_capture capture(s);
  add_one(s, a.as<std::uint32_t>().data());
  const graph g = capture.finish();
  const auto file = std::filesystem::temp_directory_path() / ("sluice_graph_" + std::to_string(getpid()) + ".dot");
  for (const bool verbose : {false, true}) {
    g.write_dot(file, verbose);
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    EXPECT_NE(text.str().find("digraph"), std::string::npos);
    EXPECT_NE(text.str().find("affine_u32"), std::string::npos) << text.str();
  }
  std::filesystem::remove(file);
  EXPECT_THROW(g.write_dot("/nonexistent/folder/g.dot"), error);
}

TEST_P(graphs, keep_what_their_capture_was_given) {
  const stream s;
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = owner;
  EXPECT_EQ(find_capture(s), nullptr);
  {
    graph_capture capture(s);
    ASSERT_NE(find_capture(s), nullptr);
    EXPECT_EQ(find_capture(s)->id(), capture.id());
    EXPECT_EQ(find_capture(default_stream()), nullptr);
    find_capture(s)->keep(std::move(owner));
    std::optional<graph> g(capture.finish());
    std::optional<graph_exec> exec(*g);
    g.reset();
    EXPECT_FALSE(watched.expired()) << "the executable graph uses it";
    exec.reset();
    EXPECT_TRUE(watched.expired());
  }
  owner = std::make_shared<int>(2);
  const std::weak_ptr<int> again = owner;
  {
    graph_capture capture(s);
    find_capture(s)->keep(std::move(owner));
  }
  EXPECT_TRUE(again.expired()) << "freed: nothing was instantiated from it";
  EXPECT_EQ(find_capture(s), nullptr);
}

/// Fixture for captures that a call breaks: the call must fail as not permitted, the capture must fail, and the stream
/// must work again.
class broken_captures : public graphs {
 protected:
  template <class Wrong>
  void expect_refused(const Wrong& wrong, bool breaks = true, capture_mode mode = capture_mode::global) {
    const stream s(stream_mode::blocking);
    graph_capture capture(s, mode);
    try {
      wrong(s);
      ADD_FAILURE() << "it was allowed";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), status::not_permitted) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << "one line";
    }
    if (breaks) {
      try {
        (void)capture.finish();
        ADD_FAILURE() << "a broken capture gave a graph";
      } catch (const error& e) {
        EXPECT_EQ(e.code(), status::not_permitted) << e.what();
      }
    } else {
      EXPECT_NO_THROW((void)capture.finish());
    }
    const device_buffer after(bytes, s);
    set_async(after.data(), 1, bytes, s);
    EXPECT_NO_THROW(s.sync());
  }
};
SLUICE_ON_EACH_DEVICE(broken_captures);

TEST_P(broken_captures, by_waiting_for_the_stream) {
  expect_refused([](const stream& s) { s.sync(); });
}

TEST_P(broken_captures, by_asking_whether_the_stream_is_done) {
  expect_refused([](const stream& s) { (void)s.is_idle(); });
}

TEST_P(broken_captures, by_waiting_for_an_event_of_theirs) {
  event e;
  expect_refused([&](const stream& s) {
    s.record(e);
    e.sync();
  });
}

TEST_P(broken_captures, by_waiting_for_the_device) {
  expect_refused([&](const stream&) { device().sync(); });
}

TEST_P(broken_captures, by_allocations_that_may_wait) {
  expect_refused([&](const stream&) { (void)value_or_throw(device().backend().allocate(bytes)); });
}

TEST_P(broken_captures, by_work_that_is_not_captured) {
  const stream other;
  event e;
  other.record(e);
  expect_refused([&](const stream& s) { s.wait(e); });
}

TEST_P(broken_captures, by_streams_that_do_not_come_back) {
  const stream s, lost;
  const device_buffer a(bytes, s);
  event e;
  graph_capture capture(s);
  set_async(a.data(), 1, bytes, s);
  s.record(e);
  lost.wait(e);
  set_async(a.data(), 2, bytes, lost);
  try {
    (void)capture.finish();
    FAIL() << "not joined";
  } catch (const error& failed) {
    EXPECT_EQ(failed.code(), status::not_permitted) << failed.what();
    EXPECT_EQ(failed.native(), 904) << failed.what();
  }
  set_async(a.data(), 3, bytes, lost);
  EXPECT_NO_THROW(lost.sync());
}

TEST_P(broken_captures, are_none_where_the_capture_is_relaxed) {
  const stream s;
  graph_capture capture(s, capture_mode::relaxed);
  void* block = value_or_throw(device().backend().allocate(bytes));
  set_async(block, 4, bytes, s);
  const graph g = capture.finish();
  graph_exec exec(g);
  exec.launch(s);
  EXPECT_EQ(get_value(block, s), 0x04040404u);
  value_or_throw(device().backend().free(block));
}

TEST_P(broken_captures, are_not_those_of_another_thread_that_allocates) {
  const stream s;
  graph_capture capture(s, capture_mode::this_thread);
  std::thread([&] { EXPECT_NO_THROW((void)device_buffer(bytes, stream_ref(device()))); }).join();
  EXPECT_NO_THROW((void)capture.finish());
}

TEST_P(broken_captures, cannot_begin_twice_or_on_the_default_stream) {
  EXPECT_THROW(graph_capture{default_stream()}, error);
  const stream s;
  graph_capture capture(s);
  EXPECT_THROW(graph_capture{s}, error);
  const graph g = capture.finish();
  EXPECT_THROW((void)capture.finish(), error) << "once only";
}

// The same random work must produce the same bytes, both when enqueued and when captured and launched.
TEST_P(graphs, do_what_the_same_calls_do_without_them) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    const stream s, t;
    const device_buffer direct(4 * bytes, s), replayed(4 * bytes, s);
    set_async(direct.data(), 0, 4 * bytes, s);
    set_async(replayed.data(), 0, 4 * bytes, s);
    s.sync();
    struct step {
      unsigned kind, from, to, value;
    };
    std::vector<step> steps(1 + random() % 30);
    for (step& one : steps) {
      one = {static_cast<unsigned>(random() % 4), static_cast<unsigned>(random() % 4),
             static_cast<unsigned>(random() % 4), static_cast<unsigned>(random() % 255)};
    }
    const auto enqueue = [&](const device_buffer& block) {
      std::vector<event> order;
      const auto change = [&](const stream_ref& ref, const stream_ref& to) {
        order.emplace_back();
        ref.record(order.back());
        to.wait(order.back());
      };
      for (const step& one : steps) {
        auto* data = block.as<std::uint32_t>().data();
        const bool aside = one.value % 3 == 0;
        if (aside) change(s, t);
        const stream_ref on(aside ? t : s);
        if (one.kind == 0) set_async(data + one.to * count, static_cast<std::uint8_t>(one.value), bytes, on);
        if (one.kind == 1) add_one(on, data + one.to * count);
        if (one.kind == 2 && one.from != one.to) copy_async(data + one.to * count, data + one.from * count, bytes, on);
        if (one.kind == 3) {
          launch(kernels::affine_u32, launch_config::for_size(count), on, data + one.to * count, std::uint64_t{count},
                 3u, one.value, 2u);
        }
        if (aside) change(t, s);
      }
    };
    enqueue(direct);
    s.sync();
    graph_capture capture(s);
    enqueue(replayed);
    const graph g = capture.finish();
    graph_exec exec(g);
    exec.launch(s);
    std::vector<std::uint32_t> a(4 * count), b(4 * count);
    copy(a.data(), direct.data(), 4 * bytes, s);
    copy(b.data(), replayed.data(), 4 * bytes, s);
    ASSERT_EQ(a, b) << "round " << round;
  }
}

TEST(simulated_graphs, cost_less_than_launching_their_nodes) {
  const device_ref device(backend::make_simulated_device());
  const device_guard guard(device);
  const stream s;
  const device_buffer a(bytes, s);
  const auto work = [&] {
    for (int i = 0; i < 1000; ++i) {
      launch(kernels::affine_u32, launch_config::for_size(count), s, a.as<std::uint32_t>().data(), std::uint64_t{count},
             1u, 1u, 1u);
    }
  };
  const auto timed = [&](const auto& run) {
    s.sync();
    const auto begin = device.backend().clock()->now();
    run();
    const auto host = device.backend().clock()->now() - begin;
    s.sync();
    return std::pair{host, device.backend().clock()->now() - begin};
  };
  const auto launched = timed(work);
  graph_capture capture(s);
  work();
  const graph g = capture.finish();
  graph_exec exec(g);
  exec.upload(s);
  const auto replayed = timed([&] { exec.launch(s); });
  EXPECT_LT(replayed.first * 50, launched.first) << "the launch returns at once";
  EXPECT_LT(replayed.second * 2, launched.second);
}

TEST(simulated_graphs, count_their_memory_while_it_is_live) {
  const device_ref device(backend::make_simulated_device());
  const device_guard guard(device);
  backend::device& d = device.backend();
  const stream s;
  const auto handle = stream_ref(s).handle();
  const auto free_before = device.memory().free_bytes;
  void* kept = nullptr;
  const auto captured = [&] {
    graph_capture capture(s);
    kept = value_or_throw(d.allocate_async(1u << 20, handle));
    set_async(kept, 1, 1u << 20, s);
    return capture.finish();
  };
  {
    const graph g = captured();
    EXPECT_EQ(device.memory().free_bytes, free_before) << "addresses only";
    graph_exec exec(g);
    exec.launch(s);
    s.sync();
    EXPECT_EQ(device.memory().free_bytes, free_before - (1u << 20));
    EXPECT_THROW(exec.launch(s), error) << "the previous launch's allocation was not freed";
    value_or_throw(d.free_async(kept, handle));
    EXPECT_EQ(device.memory().free_bytes, free_before);
    EXPECT_NO_THROW(exec.launch(s));
    graph_exec frees(g, {.free_on_launch = true});
    EXPECT_NO_THROW(frees.launch(s));
    EXPECT_NO_THROW(frees.launch(s));
  }
  EXPECT_EQ(device.memory().free_bytes, free_before) << "freed with the graphs";
}

TEST(simulated_graphs, refuse_memory_that_there_is_not) {
  backend::simulated_config config;
  config.memory_bytes = std::uint64_t{1} << 30;
  const device_ref device(backend::make_simulated_device(config));
  const device_guard guard(device);
  const stream s;
  graph_capture capture(s);
  (void)value_or_throw(device.backend().allocate_async(std::uint64_t{3} << 29, stream_ref(s).handle()));
  const graph g = capture.finish();
  graph_exec exec(g);
  EXPECT_THROW(exec.launch(s), out_of_memory);
}

TEST(simulated_graphs, refuse_two_captures_in_one) {
  const device_ref device(backend::make_simulated_device());
  const device_guard guard(device);
  const stream s, t;
  event e;
  graph_capture first(s), second(t);
  s.record(e);
  EXPECT_THROW(t.wait(e), error);
  EXPECT_THROW((void)first.finish(), error);
  EXPECT_THROW((void)second.finish(), error);
}

TEST(simulated_graphs, refuse_the_default_stream_beside_a_blocking_one) {
  const device_ref device(backend::make_simulated_device());
  const device_guard guard(device);
  const device_buffer a(bytes, default_stream());
  const stream blocking(stream_mode::blocking), apart(stream_mode::non_blocking);
  {
    graph_capture capture(apart);
    EXPECT_NO_THROW(set_async(a.data(), 1, bytes, default_stream()));
    EXPECT_NO_THROW((void)capture.finish());
  }
  graph_capture capture(blocking);
  EXPECT_THROW(set_async(a.data(), 1, bytes, default_stream()), error);
  EXPECT_THROW((void)capture.finish(), error);
}

}  // namespace
}  // namespace sluice::runtime
