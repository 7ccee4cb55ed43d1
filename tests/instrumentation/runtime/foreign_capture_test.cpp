#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// Captures that other code begins: a program by cudaStreamBeginCapture, or a framework.

namespace sluice::runtime {
namespace {

class foreign_capture : public on_each_device {
 protected:
  [[nodiscard]] std::shared_ptr<pool_memory_resource> make(pool_options options = {}) const {
    return std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device()),
                                                  std::move(options));
  }
  [[nodiscard]] backend::device& dev() const { return device().backend(); }
  [[nodiscard]] stream_ref named(const stream& s, foreign_captures captures = foreign_captures::asked_about) const {
    return stream_ref::from_native(device(), s.get(), captures);
  }
  /// Begins a capture without the runtime, and returns the driver's id.
  std::uint64_t begin(const stream& s, capture_mode mode = capture_mode::relaxed) const {
    value_or_throw(dev().begin_capture(stream_ref(s).handle(), mode));
    return value_or_throw(dev().stream_capture(stream_ref(s).handle())).id;
  }

  /// A graph created by other code.
  struct their_graph {
    their_graph(backend::device& d, backend::graph_handle g)
        : on(d), handle(g), exec(value_or_throw(d.instantiate(g, {}))) {}
    their_graph(const their_graph&) = delete;
    their_graph& operator=(const their_graph&) = delete;
    ~their_graph() {
      on.destroy_exec(exec);
      on.destroy_graph(handle);
    }
    void launch(const stream& s) const { value_or_throw(on.launch_exec(exec, stream_ref(s).handle())); }

    backend::device& on;
    backend::graph_handle handle;
    backend::graph_exec_handle exec;
  };
  std::unique_ptr<their_graph> end(const stream& s) const {
    return std::make_unique<their_graph>(dev(), value_or_throw(dev().end_capture(stream_ref(s).handle())));
  }
};
SLUICE_ON_EACH_DEVICE(foreign_capture);

std::vector<unsigned char> bytes_at(const void* address, std::size_t bytes, const stream_ref& s) {
  std::vector<unsigned char> out(bytes);
  copy(out.data(), address, bytes, s);
  return out;
}

TEST_P(foreign_capture, what_it_allocates_is_nobody_elses_while_its_graph_may_be_launched) {
  const auto p = make({.growth_bytes = 8 * mib});
  const stream owner, replay;
  const stream_ref s = named(owner), others = named(replay);
  const device_buffer out(mib, s);
  // A cached block would be a hit within the capture.
  p->deallocate(s, p->allocate(s, mib), mib);
  s.sync();
  const std::uint64_t id = begin(owner);
  void* const between = p->allocate(s, mib);
  set_async(between, 7, mib, s);
  copy_async(out.data(), between, mib, s);
  p->deallocate(s, between, mib);
  EXPECT_EQ(p->allocate(s, mib), between) << "within the capture it is reused";
  p->deallocate(s, between, mib);
  void* const later = p->allocate(s, mib);
  void* const kept = p->allocate(s, mib);
  EXPECT_NE(kept, later);
  p->deallocate(s, later, mib);
  const auto graph = end(owner);
  p->deallocate(s, kept, mib);
  EXPECT_EQ(p->stats().used, 0u);
  EXPECT_EQ(p->stats().kept_for_graphs, 2 * mib);

  // Blocks that others allocate keep their contents while the graph runs.
  std::vector<void*> theirs;
  for (int i = 0; i < 20; ++i) {
    const stream_ref& on = i % 2 == 0 ? s : others;
    theirs.push_back(p->allocate(on, mib));
    EXPECT_TRUE(theirs.back() != between && theirs.back() != kept);
    set_async(theirs.back(), 9, mib, on);
  }
  device().sync();
  graph->launch(replay);
  device().sync();
  EXPECT_EQ(bytes_at(out.data(), mib, s), std::vector<unsigned char>(mib, 7));
  for (void* block : theirs) EXPECT_EQ(bytes_at(block, mib, s), std::vector<unsigned char>(mib, 9));
  for (void* block : theirs) p->deallocate(s, block, mib);
  p->trim();
  EXPECT_GT(p->stats().reserved, 0u) << "trimming does not take it";

  forget_capture(device(), id);
  EXPECT_EQ(p->stats().kept_for_graphs, 0u);
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u);
}

TEST_P(foreign_capture, is_not_broken_by_a_pool_that_looks_for_memory) {
  for (const capture_mode mode : {capture_mode::relaxed, capture_mode::this_thread, capture_mode::global}) {
    const auto p = make({.growth_bytes = 4 * mib});
    if (!p->grows_by_mapping()) GTEST_SKIP() << "the device has no virtual memory";
    const stream owner, other;
    const stream_ref s = named(owner), t = named(other);
    p->deallocate(s, p->allocate(s, 2 * mib), 2 * mib);
    begin(owner, mode);
    // First there is a miss outside of the capture, while memory of the captured stream is free; then a miss in the
    // capture.
    p->deallocate(t, p->allocate(t, 64 * mib), 64 * mib);
    void* const in = p->allocate(s, 96 * mib);
    set_async(in, 1, 96 * mib, s);
    p->deallocate(s, in, 96 * mib);
    p->trim();
    EXPECT_NO_THROW((void)end(owner)) << static_cast<int>(mode);
  }
}

TEST_P(foreign_capture, may_free_on_another_thread_and_stream) {
  const auto p = make({.growth_bytes = 4 * mib});
  const stream owner, other;
  const stream_ref s = named(owner);
  const std::uint64_t id = begin(owner);
  void* const a = p->allocate(s, mib);
  std::thread([&] { p->deallocate(named(other), a, mib); }).join();
  EXPECT_NE(p->allocate(s, mib), a) << "it no longer belongs to the captured stream";
  (void)end(owner);
  EXPECT_EQ(p->stats().kept_for_graphs, mib);
  forget_capture(device(), id);
  EXPECT_EQ(p->stats().kept_for_graphs, 0u);
  forget_capture(device(), id);
  forget_capture(device(), 123'456'789);
}

// --- announced ---------------------------------------------------------------------------------------------

using announced = announced_captures;

TEST_P(foreign_capture, that_is_announced_keeps_memory_until_its_group_is_released) {
  const auto p = make({.growth_bytes = 8 * mib});
  const stream owner, second, beside;
  const stream_ref s = named(owner, foreign_captures::announced), t = named(second, foreign_captures::announced),
                   u = named(beside, foreign_captures::announced);
  const announced::key mine{1, 0}, theirs{2, 0};
  p->deallocate(s, p->allocate(s, mib), mib);
  s.sync();
  // Two captures at once: each uses its own stream.
  announced::begin(device(), mine, [&](std::uintptr_t asked) { return asked == owner.get(); });
  announced::begin(device(), theirs, [&](std::uintptr_t asked) { return asked == second.get(); });
  EXPECT_TRUE(capturing());
  begin(owner);
  begin(second);
  void* const a = p->allocate(s, mib);
  void* const b = p->allocate(t, mib);
  void* const c = p->allocate(u, mib);
  set_async(a, 1, mib, s);
  set_async(b, 2, mib, t);
  p->deallocate(s, a, mib);
  p->deallocate(t, b, mib);
  p->deallocate(u, c, mib);
  EXPECT_EQ(p->stats().kept_for_graphs, 2 * mib);
  auto first = end(owner);
  announced::end(device(), mine);
  const auto other = end(second);
  announced::end(device(), theirs);
  EXPECT_FALSE(capturing());

  // A second graph of the first group uses the same memory, because they never run at once.
  announced::begin(device(), mine, [&](std::uintptr_t asked) { return asked == owner.get(); });
  begin(owner);
  EXPECT_EQ(p->allocate(s, mib), a);
  p->deallocate(s, a, mib);
  auto again = end(owner);
  announced::end(device(), mine);

  first.reset();
  announced::release(device(), mine);
  EXPECT_EQ(p->stats().kept_for_graphs, 2 * mib) << "the second graph still keeps it";
  again.reset();
  announced::release(device(), mine);
  EXPECT_EQ(p->stats().kept_for_graphs, mib) << "the other group's";
  announced::release(device(), theirs);
  EXPECT_EQ(p->stats().kept_for_graphs, 0u);
  announced::release(device(), theirs);
  announced::end(device(), {9, 9});
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u);
}

TEST_P(foreign_capture, waits_for_launches_before_its_memory_is_given_away) {
  constexpr std::size_t bytes = 32 * mib;
  const auto p = make({.growth_bytes = bytes});
  const stream owner, launches, next;
  const stream_ref s = named(owner), t = named(next);
  const pinned_buffer host(bytes, launches);
  const std::uint64_t id = begin(owner);
  void* const a = p->allocate(s, bytes);
  set_async(a, 5, bytes, s);
  for (int i = 0; i < 8; ++i) copy_async(host.data(), a, bytes, s);
  p->deallocate(s, a, bytes);
  auto graph = end(owner);
  graph->launch(launches);
  forget_capture(device(), id);
  EXPECT_EQ(p->allocate(t, bytes), a);
  set_async(a, 9, bytes, t);
  device().sync();
  const auto got = host.as<unsigned char>();
  EXPECT_TRUE(std::all_of(got.begin(), got.end(), [](unsigned char c) { return c == 5; }));
  p->deallocate(t, a, bytes);
}

TEST_P(foreign_capture, that_goes_beside_another_is_let_go_after_it) {
  const auto p = make({.growth_bytes = 8 * mib});
  const stream owner;
  const stream_ref s = named(owner, foreign_captures::announced);
  const auto takes = [&](std::uintptr_t asked) { return asked == owner.get(); };
  const auto capture_into = [&](announced::key group) {
    announced::begin(device(), group, takes);
    begin(owner);
    p->deallocate(s, p->allocate(s, mib), mib);
  };
  capture_into({1, 0});
  auto graph = end(owner);
  announced::end(device(), {1, 0});
  capture_into({2, 0});
  graph.reset();
  announced::release(device(), {1, 0});
  EXPECT_EQ(p->stats().kept_for_graphs, 2 * mib) << "waiting for the device would break the capture";
  EXPECT_NO_THROW(graph = end(owner));
  announced::end(device(), {2, 0});
  EXPECT_EQ(p->stats().kept_for_graphs, mib);
  graph.reset();
  announced::release(device(), {2, 0});
  EXPECT_EQ(p->stats().kept_for_graphs, 0u);
}

}  // namespace
}  // namespace sluice::runtime
