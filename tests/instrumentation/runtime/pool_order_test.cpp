#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/callback_memory_resource.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// A pool does not reuse a block before the work on it is done, not even in graphs and captures.

namespace sluice::runtime {
namespace {

class pool_order : public on_each_device {
 protected:
  [[nodiscard]] std::shared_ptr<pool_memory_resource> make(pool_options options = {}) const {
    return std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device()),
                                                  std::move(options));
  }
};
SLUICE_ON_EACH_DEVICE(pool_order);

bool all_are(const pinned_buffer& host, unsigned char value) {
  const auto bytes = host.as<unsigned char>();
  return std::all_of(bytes.begin(), bytes.end(), [&](unsigned char c) { return c == value; });
}

// --- graphs ------------------------------------------------------------------------------------------------

TEST_P(pool_order, blocks_may_be_freed_while_their_graph_goes_on_another_thread) {
  const auto p = make({.growth_bytes = 4 * mib});
  if (!p->grows_by_mapping()) GTEST_SKIP() << "the device has no virtual memory";
  const stream s;
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    std::optional<graph> g;
    {
      graph_capture capture(s);
      for (int i = 0; i < 2000; ++i) blocks.push_back(p->allocate(s, 512));
      set_async(blocks.front(), 1, 512, s);
      g.emplace(capture.finish());
    }
    std::atomic<int> freed{0};
    std::thread frees([&] {
      for (auto b = blocks.rbegin(); b != blocks.rend(); ++b) {
        p->deallocate(s, *b, 512);
        ++freed;
      }
    });
    while (freed < 10 + 20 * round) std::this_thread::yield();
    g.reset();
    frees.join();
    ASSERT_EQ(p->stats().used, 0u);
  }
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u) << "no block was lost";
}

TEST_P(pool_order, a_block_of_a_graph_that_goes_is_the_next_ones_that_it_is_freed_in) {
  const auto p = make({.growth_bytes = 4 * mib});
  if (!p->grows_by_mapping()) GTEST_SKIP() << "the device has no virtual memory";
  const stream s, t;
  std::atomic<bool> stop{false};
  std::thread busy([&] {  // competes with threads that trim and free
    while (!stop) (void)p->stats();
  });
  for (int round = 0; round < 2000 && !HasFailure(); ++round) {
    void* block = nullptr;
    std::optional<graph> first;
    {
      graph_capture capture(s);
      block = p->allocate(s, 512);
      set_async(block, 1, 512, s);
      first.emplace(capture.finish());
    }
    std::atomic<bool> go{false};
    std::thread ends([&] {
      while (!go) continue;
      first.reset();
    });
    graph_capture capture(s);
    set_async(block, 2, 512, s);
    go = true;
    p->deallocate(s, block, 512);
    ends.join();
    const graph second = capture.finish();
    EXPECT_GE(p->stats().kept_for_graphs, 512u) << "its nodes use the block; round " << round;
  }
  stop = true;
  busy.join();
  EXPECT_EQ(p->stats().kept_for_graphs, 0u);
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u) << "no block was lost";
}

TEST_P(pool_order, what_a_graph_leaves_is_still_its_last_streams) {
  constexpr std::size_t bytes = 32 * mib;
  const auto p = make();
  if (!p->grows_by_mapping()) GTEST_SKIP() << "the device has no virtual memory";
  const stream s, u, t;
  const pinned_buffer host(bytes, s);
  void* block = nullptr;
  {
    graph_capture capture(s);
    block = p->allocate(s, bytes);
    set_async(block, 5, bytes, s);
    const graph g = capture.finish();
    graph_exec exec(g);
    exec.launch(u);
    event launched;
    u.record(launched);
    s.wait(launched);
    for (int i = 0; i < 8; ++i) copy_async(host.data(), block, bytes, s);
    p->deallocate(s, block, bytes);
  }
  void* next = p->allocate(t, bytes);
  EXPECT_TRUE(next != block || stream_ref(s).is_idle()) << "the stream that freed it still copies from it";
  set_async(next, 9, bytes, t);
  t.sync();
  s.sync();
  EXPECT_TRUE(all_are(host, 5));
  p->deallocate(t, next, bytes);
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u);
}

TEST_P(pool_order, what_was_freed_in_an_abandoned_capture_waits_for_the_work_before_it) {
  constexpr std::size_t bytes = 32 * mib;
  const auto p = make();
  const stream s, t;
  const pinned_buffer host(bytes, s);
  void* block = p->allocate(s, bytes);
  set_async(block, 5, bytes, s);
  for (int i = 0; i < 8; ++i) copy_async(host.data(), block, bytes, s);
  {
    const graph_capture capture(s);
    p->deallocate(s, block, bytes);
  }
  void* next = p->allocate(t, bytes);
  EXPECT_TRUE(next != block || stream_ref(s).is_idle()) << "copies from before the capture are under way";
  set_async(next, 9, bytes, t);
  t.sync();
  s.sync();
  EXPECT_TRUE(all_are(host, 5));
  p->deallocate(t, next, bytes);
}

TEST_P(pool_order, a_stream_may_go_before_the_graph_in_which_it_freed) {
  const auto p = make({.growth_bytes = 4 * mib});
  const stream t;
  std::optional<graph> g;
  void* block = nullptr;
  {
    const stream s;
    block = p->allocate(s, 4 * mib);
    set_async(block, 1, 4 * mib, s);
    graph_capture capture(s);
    p->deallocate(s, block, 4 * mib);
    g.emplace(capture.finish());
  }
  g.reset();
  EXPECT_EQ(p->allocate(t, 4 * mib), block) << "the stream was waited for, so any stream may use its memory";
  p->deallocate(t, block, 4 * mib);
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u);
}

TEST_P(pool_order, a_pool_and_its_stream_may_go_before_the_graph_in_which_it_freed) {
  const auto free_before = device().memory().free_bytes;
  std::optional<graph> g;
  {
    auto p = make({.growth_bytes = 4 * mib});
    const stream s;
    void* block = p->allocate(s, 4 * mib);
    set_async(block, 1, 4 * mib, s);
    graph_capture capture(s);
    p->deallocate(s, block, 4 * mib);
    g.emplace(capture.finish());
    p.reset();
  }
  EXPECT_LT(device().memory().free_bytes, free_before) << "it still belongs to the graph";
  g.reset();
  if (!simulated()) return;  // A real device keeps its own growth.
  EXPECT_EQ(device().memory().free_bytes, free_before);
}

// --- the default stream beside captures -------------------------------------------------------------------

// Blocking streams and the default stream wait for each other: while one is captured, the other must not be queried.

TEST_P(pool_order, trimming_breaks_no_capture_and_takes_nothing_that_the_default_stream_still_uses) {
  constexpr std::size_t bytes = 32 * mib;
  const auto p = make({.growth_bytes = bytes});
  const stream_ref always(device());
  const stream blocking(stream_mode::blocking);
  const pinned_buffer host(bytes, always);
  void* block = p->allocate(always, bytes);
  set_async(block, 5, bytes, always);
  for (int i = 0; i < 8; ++i) copy_async(host.data(), block, bytes, always);
  p->deallocate(always, block, bytes);
  {
    graph_capture capture(blocking, capture_mode::relaxed);
    EXPECT_EQ(p->trim(), 0u) << "the stream cannot be waited for now";
    EXPECT_NO_THROW((void)capture.finish());
  }
  EXPECT_NO_THROW(always.sync()) << "the memory was still allocated";
  EXPECT_TRUE(all_are(host, 5));
  EXPECT_EQ(p->trim(), bytes);
}

TEST_P(pool_order, growing_breaks_no_capture_of_another_stream) {
  const auto p = make({.growth_bytes = 4 * mib});
  const stream_ref always(device());
  const stream blocking(stream_mode::blocking), other;
  p->deallocate(always, p->allocate(always, 4 * mib), 4 * mib);
  // The streams of blocks in a thread's front are not queried.
  p->deallocate(always, p->allocate(always, 100 * mib), 100 * mib);
  graph_capture capture(blocking, capture_mode::relaxed);
  void* block = p->allocate(other, 8 * mib);
  EXPECT_NO_THROW((void)capture.finish());
  p->deallocate(other, block, 8 * mib);
}

// --- memory that the host writes to -----------------------------------------------------------------------

/// Copies a block of 1s to the device behind much work, frees it, fills the next block with 2s at once, and returns the
/// device's result.
std::vector<unsigned char> copied_before_the_next(pool_memory_resource& p, std::size_t bytes, const stream_ref& s) {
  const device_buffer there(32 * mib, s);
  for (int i = 0; i < 8; ++i) set_async(there.data(), 0, 32 * mib, s);
  auto* first = static_cast<unsigned char*>(p.allocate(s, bytes));
  std::fill_n(first, bytes, static_cast<unsigned char>(1));
  copy_async(there.data(), first, bytes, s);
  p.deallocate(s, first, bytes);
  auto* second = static_cast<unsigned char*>(p.allocate(s, bytes));
  std::fill_n(second, bytes, static_cast<unsigned char>(2));
  std::vector<unsigned char> out(bytes);
  copy(out.data(), there.data(), bytes, s);
  p.deallocate(s, second, bytes);
  return out;
}

TEST_P(pool_order, host_memory_is_not_handed_out_again_before_its_copies_are_done) {
  const stream s;
  for (const std::size_t bytes : {std::size_t{1000}, mib, 32 * mib}) {
    const std::vector<unsigned char> ones(bytes, 1);
    pinned_pool_resource pinned(device());
    EXPECT_EQ(copied_before_the_next(pinned, bytes, s), ones) << bytes << " pinned bytes";
    pinned_pool_resource small(device(), {.limit_bytes = bytes + 511, .growth_bytes = 512});
    EXPECT_EQ(copied_before_the_next(small, bytes, s), ones) << bytes << " pinned bytes, and no more: it waits";
    pool_memory_resource managed(std::make_shared<managed_memory_resource>(device()));
    EXPECT_EQ(copied_before_the_next(managed, bytes, s), ones) << bytes << " managed bytes";
  }
}

TEST_P(pool_order, host_memory_is_used_again_once_its_stream_is_idle) {
  pinned_pool_resource p(device(), {.growth_bytes = mib});
  const stream s, t;
  void* a = p.allocate(s, mib);
  p.deallocate(s, a, mib);
  s.sync();
  EXPECT_EQ(p.allocate(s, mib), a);
  p.deallocate(s, a, mib);
  s.sync();
  EXPECT_EQ(p.allocate(t, mib), a);
  p.deallocate(t, a, mib);
  EXPECT_EQ(p.stats().reserved, mib);
}

TEST_P(pool_order, a_pool_of_host_memory_counts_its_bytes_and_gives_them_back) {
  pinned_pool_resource p(device(), {.limit_bytes = 8 * mib, .growth_bytes = 2 * mib});
  EXPECT_EQ(p.space(), memory_space::pinned);
  const stream s;
  void* a = p.allocate(s, 1000);
  void* b = p.allocate(s, 3 * mib);
  EXPECT_EQ(device().find_memory_space(a), memory_space::pinned);
  auto now = p.stats();
  EXPECT_EQ(now.requested, 1000 + 3 * mib);
  EXPECT_EQ(now.used, 1024 + 3 * mib);
  EXPECT_EQ(now.reserved, 5 * mib);
  EXPECT_EQ(now.used_blocks, 2u);
  EXPECT_EQ(now.limit, 8 * mib);
  EXPECT_THROW((void)p.allocate(s, 4 * mib), out_of_memory);
  EXPECT_EQ(p.trim(), 0u) << "all of it is in use";
  p.deallocate(s, b, 3 * mib);
  EXPECT_EQ(p.trim(), 3 * mib) << "exactly the free memory is released";
  std::fill_n(static_cast<char*>(a), 1000, 'x');
  p.deallocate(s, a, 1000);
  now = p.stats();
  EXPECT_EQ(now.used, 0u);
  EXPECT_EQ(now.peak_used, 1024 + 3 * mib);
  EXPECT_EQ(now.reserved, 2 * mib);
  p.trim();
  EXPECT_EQ(p.stats().reserved, 0u);
}

TEST_P(pool_order, host_memory_is_used_once_in_a_capture) {
  pinned_pool_resource p(device(), {.initial_bytes = 8 * mib});
  const stream s;
  const device_buffer there(mib, s);
  s.sync();
  std::optional<graph_exec> exec;
  {
    graph_capture capture(s);
    auto* first = static_cast<unsigned char*>(p.allocate(s, mib));
    std::fill_n(first, mib, static_cast<unsigned char>(1));
    copy_async(there.data(), first, mib, s);
    p.deallocate(s, first, mib);
    auto* second = static_cast<unsigned char*>(p.allocate(s, mib));
    std::fill_n(second, mib, static_cast<unsigned char>(2));
    p.deallocate(s, second, mib);
    exec.emplace(capture.finish());
  }
  exec->launch(s);
  std::vector<unsigned char> out(mib);
  copy(out.data(), there.data(), mib, s);
  EXPECT_EQ(out, std::vector<unsigned char>(mib, 1));
}

// --- streams that cannot be waited for --------------------------------------------------------------------

TEST_P(pool_order, what_a_stream_freed_that_goes_in_a_capture_is_withheld_until_the_device_is_waited_for) {
  constexpr std::size_t bytes = 32 * mib;
  const auto p = make({.growth_bytes = bytes});
  const stream s, t;
  const pinned_buffer host(bytes, s);
  void* block = nullptr;
  {
    const graph_capture capture(s, capture_mode::relaxed);
    {
      const stream forked;
      block = p->allocate(forked, bytes);
      set_async(block, 5, bytes, forked);
      for (int i = 0; i < 8; ++i) copy_async(host.data(), block, bytes, forked);
      p->deallocate(forked, block, bytes);
      event e;
      stream_ref(s).record(e);
      stream_ref(forked).wait(e);
    }
    EXPECT_EQ(p->stats().withheld, bytes);
    void* next = p->allocate(t, bytes);
    EXPECT_NE(next, block) << "the stream that freed it was destroyed with its copies under way";
    set_async(next, 9, bytes, t);
    t.sync();
    p->deallocate(t, next, bytes);
    EXPECT_LE(p->trim(), bytes) << "and it still cannot be waited for";
    EXPECT_EQ(p->stats().withheld, bytes);
  }
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u) << "nothing was lost";
  EXPECT_TRUE(all_are(host, 5));
}

// --- streams that share a handle --------------------------------------------------------------------------

// CU_STREAM_PER_THREAD is one handle for a separate stream in each thread.

/// Runs `there` on a thread that stays alive until `here`, which runs on this thread at the same time, is done.
template <class There, class Here>
void beside(There&& there, Here&& here) {
  std::atomic<bool> ready{false}, done{false};
  std::thread other([&] {
    there();
    ready = true;
    while (!done) std::this_thread::yield();
  });
  while (!ready) std::this_thread::yield();
  here();
  done = true;
  other.join();
}

TEST_P(pool_order, the_drivers_per_thread_stream_is_another_one_in_each_thread) {
  if (simulated()) GTEST_SKIP() << "the simulated device has no such handle";
  constexpr std::size_t bytes = 32 * mib;
  const stream_ref mine = stream_ref::from_native(device(), 2);
  const pinned_buffer host(bytes, mine);
  for (const bool scarce : {false, true}) {
    const auto p = make({.limit_bytes = scarce ? bytes : 0, .growth_bytes = bytes});
    void *block = nullptr, *next = nullptr;
    const auto use_there = [&] {
      block = p->allocate(mine, bytes);
      set_async(block, 5, bytes, mine);
      for (int i = 0; i < 8; ++i) copy_async(host.data(), block, bytes, mine);
      p->deallocate(mine, block, bytes);
    };
    beside(use_there, [&] {
      next = p->allocate(mine, bytes);
      if (!scarce) {
        EXPECT_NE(next, block) << "that thread's work may continue, and only it can query its stream";
      }
      set_async(next, 9, bytes, mine);
      mine.sync();
      p->deallocate(mine, next, bytes);
    });
    device().sync();
    EXPECT_TRUE(all_are(host, 5)) << "waits for the other thread's stream before taking its memory";
    EXPECT_EQ(p->allocate(mine, bytes), next) << "a hit";
    p->deallocate(mine, next, bytes);
  }
}

TEST_P(pool_order, what_a_thread_freed_on_its_own_stream_is_anybodys_when_it_ends) {
  if (simulated()) GTEST_SKIP() << "the simulated device has no such handle";
  const auto p = make({.growth_bytes = 4 * mib});
  pinned_pool_resource pinned(device(), {.growth_bytes = 4 * mib});
  const stream_ref mine = stream_ref::from_native(device(), 2);
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      p->deallocate(mine, p->allocate(mine, 4 * mib), 4 * mib);
      pinned.deallocate(mine, pinned.allocate(mine, 4 * mib), 4 * mib);
    }).join();
  }
  EXPECT_EQ(p->stats().reserved, 4 * mib);
  EXPECT_EQ(pinned.stats().reserved, 4 * mib);
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u);
}

TEST_P(pool_order, streams_of_another_device_are_other_streams_whatever_their_handles) {
  const device_ref other(backend::make_simulated_device());
  const stream_ref here(device()), there(other);
  EXPECT_EQ(here.get(), there.get());
  EXPECT_NE(here.identity(), there.identity());
  const auto p = make({.growth_bytes = 4 * mib});
  void* a = p->allocate(here, 4096);
  p->deallocate(here, a, 4096);
  EXPECT_THROW((void)p->allocate(there, 4096), error) << "it would be a hit";
  EXPECT_EQ(p->allocate(here, 4096), a);
  // The pool waits for a block that is freed there, and still returns it.
  const device_buffer elsewhere(32 * mib, there);
  for (int i = 0; i < 8; ++i) set_async(elsewhere.data(), 1, 32 * mib, there);
  p->deallocate(there, a, 4096);
  EXPECT_TRUE(there.is_idle());
  EXPECT_EQ(p->stats().used, 0u);
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u);
}

TEST_P(pool_order, streams_of_another_device_get_nothing_in_captures_either) {
  const device_ref other(backend::make_simulated_device());
  const stream there(other);
  const auto p = make({.growth_bytes = 4 * mib});
  const auto refused = [&](const stream_ref& on) { EXPECT_THROW((void)p->allocate(on, 4096), error); };
  {
    graph_capture capture(there);
    refused(there);
    EXPECT_NO_THROW((void)capture.finish());
  }
  refused(stream_ref::from_native(other, there.get()));  // queried, because other code may capture it
  EXPECT_EQ(p->stats().used, 0u);
}

// A callback may wait for a thread that uses the pool, or run on such a thread.
TEST_P(pool_order, memory_goes_back_to_an_upstream_that_asks_the_pool) {
  std::shared_ptr<pool_memory_resource> pool;
  const auto plain = std::make_shared<device_memory_resource>(device());
  int freed = 0, answered = 0;
  std::vector<std::thread> asking;
  const auto up = std::make_shared<callback_memory_resource>(
      device(), memory_space::device, [&](std::size_t bytes, const stream_ref& s) { return plain->allocate(s, bytes); },
      [&](void* address, std::size_t bytes, const stream_ref& s) {
        ++freed;
        std::promise<void> done;
        auto result = done.get_future();
        asking.emplace_back([&pool, done = std::move(done)]() mutable {
          (void)pool->stats();
          done.set_value();
        });
        if (result.wait_for(std::chrono::seconds(30)) == std::future_status::ready) ++answered;
        plain->deallocate(s, address, bytes);
      });
  pool = std::make_shared<pool_memory_resource>(up, pool_options{.name = "over callbacks"});
  const stream_ref s(device());
  pool->deallocate(s, pool->allocate(s, 1000), 1000);
  pool->trim();
  for (std::thread& t : asking) t.join();
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(answered, freed);
  EXPECT_EQ(pool->stats().reserved, 0u);
}

}  // namespace
}  // namespace sluice::runtime
