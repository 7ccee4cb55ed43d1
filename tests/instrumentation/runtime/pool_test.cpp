#include "instrumentation/runtime/pool_memory_resource.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "instrumentation/runtime/async_pool_resource.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// Guarantees specific to pools.

namespace sluice::runtime {
namespace {

class pool : public on_each_device {
 protected:
  [[nodiscard]] std::shared_ptr<pool_memory_resource> make(pool_options options = {}) const {
    return std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device()),
                                                  std::move(options));
  }
};
SLUICE_ON_EACH_DEVICE(pool);

TEST_P(pool, reuses_a_block_on_its_stream_at_once_and_reserves_nothing_more) {
  const auto p = make();
  const stream s;
  void* a = p->allocate(s, mib);
  p->deallocate(s, a, mib);
  EXPECT_EQ(p->allocate(s, mib), a);
  EXPECT_EQ(p->stats().segments, 1u);
  p->deallocate(s, a, mib);
}

TEST_P(pool, does_not_hand_a_block_in_use_by_one_stream_to_another) {
  const auto p = make();
  const stream busy, other;
  void* a = p->allocate(busy, 32 * mib);
  const pinned_buffer host(32 * mib, busy);
  for (int i = 0; i < 8; ++i) copy_async(a, host.data(), 32 * mib, busy);
  p->deallocate(busy, a, 32 * mib);
  void* b = p->allocate(other, 32 * mib);
  EXPECT_TRUE(b != a || busy.is_idle());
  p->deallocate(other, b, 32 * mib);
  busy.sync();
}

TEST_P(pool, takes_a_busy_streams_block_in_stream_order_when_the_limit_leaves_nothing_else) {
  const auto p = make({.limit_bytes = 16 * mib, .growth_bytes = 16 * mib});
  const stream first, second;
  const pinned_buffer host(16 * mib, first);
  const auto bytes = host.as<unsigned char>();
  std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  void* a = p->allocate(first, 16 * mib);
  for (int i = 0; i < 8; ++i) copy_async(a, host.data(), 16 * mib, first);
  p->deallocate(first, a, 16 * mib);
  void* b = p->allocate(second, 16 * mib);
  EXPECT_EQ(b, a);
  set_async(b, 2, 16 * mib, second);
  std::vector<unsigned char> out(16 * mib);
  copy(out.data(), b, out.size(), second);
  EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](auto c) { return c == 2; }))
      << "the first stream's copies came after";
  p->deallocate(second, b, 16 * mib);
}

TEST_P(pool, keeps_its_hard_limit_and_says_what_it_held) {
  const auto p = make({.limit_bytes = 8 * mib, .growth_bytes = mib, .name = "small"});
  const stream s;
  void* a = p->allocate(s, 6 * mib);
  try {
    (void)p->allocate(s, 3 * mib);
    FAIL() << "over the limit";
  } catch (const out_of_memory& e) {
    EXPECT_TRUE(e.from_pool());
    EXPECT_EQ(e.requested_bytes(), 3 * mib);
    EXPECT_EQ(e.pool().used, 6 * mib);
    EXPECT_EQ(e.pool().limit, 8 * mib);
    EXPECT_EQ(e.stream(), s.get());
    EXPECT_NE(std::string(e.what()).find("pool 'small'"), std::string::npos) << e.what();
  }
  void* b = p->allocate(s, 2 * mib);
  EXPECT_EQ(p->stats().reserved, 8 * mib);
  p->deallocate(s, a, 6 * mib);
  p->deallocate(s, b, 2 * mib);
  p->set_limit(0);
  EXPECT_NO_THROW(p->deallocate(s, p->allocate(s, 20 * mib), 20 * mib));
}

TEST_P(pool, takes_a_higher_limit_later_or_none) {
  const auto p = make({.limit_bytes = 32 * mib, .growth_bytes = 2 * mib});
  const stream s;
  EXPECT_THROW((void)p->allocate(s, 64 * mib), out_of_memory);
  p->set_limit(128 * mib);
  void* first = nullptr;
  EXPECT_NO_THROW(first = p->allocate(s, 100 * mib));
  p->set_limit(0);
  void* second = nullptr;
  EXPECT_NO_THROW(second = p->allocate(s, 200 * mib));
  p->deallocate(s, first, 100 * mib);
  p->deallocate(s, second, 200 * mib);
}

#if !defined(__SANITIZE_THREAD__)  // The thread sanitizer leaves a program fewer addresses.
TEST_P(pool, has_addresses_for_all_of_the_device_beside_others) {
  if (!device().description().features.virtual_memory) GTEST_SKIP() << "the device has no virtual memory";
  std::vector<std::shared_ptr<pool_memory_resource>> pools;
  for (int i = 0; i < 12; ++i) {
    pools.push_back(make({.limit_bytes = 32 * mib, .growth_bytes = 2 * mib}));
    EXPECT_TRUE(pools.back()->grows_by_mapping()) << i;
  }
  EXPECT_NO_THROW((void)pinned_buffer(64 * mib));
}
#endif

TEST_P(pool, gives_scattered_memory_back_before_it_refuses) {
  const auto p = make({.limit_bytes = 8 * mib, .growth_bytes = mib});
  const stream s;
  std::vector<void*> pieces;
  for (int i = 0; i < 8; ++i) pieces.push_back(p->allocate(s, mib));
  EXPECT_EQ(p->stats().segments, 8u);
  for (void* piece : pieces) p->deallocate(s, piece, mib);
  void* whole = p->allocate(s, 8 * mib);
  EXPECT_NE(whole, nullptr);
  p->deallocate(s, whole, 8 * mib);
}

TEST_P(pool, returns_free_segments_when_trimmed_but_never_blocks_in_use) {
  const auto p = make({.growth_bytes = mib});
  const stream s;
  void* a = p->allocate(s, mib);
  void* b = p->allocate(s, 4 * mib);
  EXPECT_EQ(p->trim(), 0u);
  p->deallocate(s, b, 4 * mib);
  EXPECT_EQ(p->trim(5 * mib), 0u) << "the pool must keep it";
  EXPECT_EQ(p->trim(), 4 * mib);
  EXPECT_EQ(p->stats().reserved, mib);
  p->deallocate(s, a, mib);
  EXPECT_EQ(p->trim(), mib);
}

TEST_P(pool, counts_what_it_holds) {
  const auto p = make({.growth_bytes = 8 * mib});
  const stream s;
  void* a = p->allocate(s, 1000);
  void* b = p->allocate(s, mib);
  auto now = p->stats();
  EXPECT_EQ(now.used, 1024 + mib);
  EXPECT_EQ(now.requested, 1000 + mib);
  EXPECT_EQ(now.reserved, 8 * mib);
  EXPECT_EQ(now.used_blocks, 2u);
  EXPECT_EQ(now.largest_free, 7 * mib - 1024);
  EXPECT_EQ(now.fragmentation(), 0.0);
  p->deallocate(s, a, 1000);
  now = p->stats();
  EXPECT_EQ(now.peak_used, 1024 + mib);
  EXPECT_EQ(now.free(), 7 * mib);
  EXPECT_NEAR(now.fragmentation(), 1024.0 / (7 * mib), 1e-9) << "1024 bytes are not adjacent";
  p->deallocate(s, b, mib);
  EXPECT_EQ(p->stats().used, 0u);
}

TEST_P(pool, forgets_a_stream_that_goes) {
  const auto p = make();
  void* a = nullptr;
  {
    const stream s;
    a = p->allocate(s, mib);
    set_async(a, 1, mib, s);
    p->deallocate(s, a, mib);
  }
  const stream other;
  EXPECT_EQ(p->allocate(other, mib), a) << "any stream may use its memory now";
  p->deallocate(other, a, mib);
}

TEST_P(pool, serves_the_buffers_of_its_device_when_made_current) {
  const auto p = make();
  const auto before = set_current_resource(device(), p);
  {
    const device_buffer b(mib);
    EXPECT_EQ(p->stats().used, mib);
  }
  EXPECT_EQ(p->stats().used, 0u);
  set_current_resource(device(), nullptr);
  EXPECT_NE(current_resource(device()), p);
}

TEST(pool_over_a_small_device, grows_by_less_when_a_full_step_does_not_fit_and_recovers) {
  backend::simulated_config config;
  config.memory_bytes = 576 * mib;  // leaves 64 MiB besides the context
  const device_ref device(backend::make_simulated_device(config));
  pool_memory_resource p(std::make_shared<device_memory_resource>(device), {.growth_bytes = 1024 * mib});
  const stream_ref s(device);
  void* a = p.allocate(s, 40 * mib);
  EXPECT_THROW((void)p.allocate(s, 40 * mib), out_of_memory);
  p.deallocate(s, a, 40 * mib);
  void* b = p.allocate(s, 60 * mib);
  EXPECT_NE(b, nullptr);
  p.deallocate(s, b, 60 * mib);
}

// --- where its memory comes from ---------------------------------------------------------------------------

#if !defined(__SANITIZE_THREAD__)  // The thread sanitizer leaves a program fewer addresses.
TEST_P(pool, maps_segments_side_by_side_so_that_one_block_reaches_across_them) {
  const auto p = make({.growth_bytes = 4 * mib});
  if (!device().description().features.virtual_memory) GTEST_SKIP() << "the device has no virtual memory";
  ASSERT_TRUE(p->grows_by_mapping());
  const stream s;
  std::vector<void*> pieces;
  for (int i = 0; i < 4; ++i) pieces.push_back(p->allocate(s, 4 * mib));
  EXPECT_EQ(p->stats().segments, 4u);
  for (void* piece : pieces) p->deallocate(s, piece, 4 * mib);
  auto* whole = static_cast<std::uint32_t*>(p->allocate(s, 16 * mib));
  EXPECT_EQ(p->stats().reserved, 16 * mib) << "nothing more was needed";
  set_async(whole, 7, 16 * mib, s);
  std::vector<unsigned char> out(16 * mib);
  copy(out.data(), whole, out.size(), s);
  EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](auto c) { return c == 7; }));
  p->deallocate(s, whole, 16 * mib);
  void* longer = p->allocate(s, 18 * mib);
  EXPECT_EQ(p->stats().reserved, 20 * mib) << "the free end is used, and a step is added";
  p->deallocate(s, longer, 18 * mib);
}
#endif

TEST_P(pool, unmaps_a_segment_between_others_that_are_in_use) {
  const auto p = make({.growth_bytes = 4 * mib});
  if (!p->grows_by_mapping()) GTEST_SKIP() << "the device has no virtual memory";
  const stream s;
  void* a = p->allocate(s, 4 * mib);
  void* b = p->allocate(s, 4 * mib);
  void* c = p->allocate(s, 4 * mib);
  set_async(b, 1, 4 * mib, s);
  p->deallocate(s, b, 4 * mib);
  EXPECT_EQ(p->trim(), 4 * mib) << "after its stream finished with it";
  const auto free_before = device().memory().free_bytes;
  void* again = p->allocate(s, 4 * mib);
  EXPECT_EQ(again, b) << "the hole is filled first";
  EXPECT_LT(device().memory().free_bytes, free_before);
  for (void* piece : {a, again, c}) p->deallocate(s, piece, 4 * mib);
  EXPECT_EQ(p->trim(), 12 * mib);
}

TEST_P(pool, takes_blocks_of_its_upstream_when_others_are_to_import_them) {
  const auto p = make({.ipc_capable = true});
  EXPECT_FALSE(p->grows_by_mapping());
  const stream s;
  void* a = p->allocate(s, mib);
  if (device().description().features.shares_memory) {
    EXPECT_TRUE(device().backend().export_memory(a)) << "a block made by the driver's allocate, which can be exported";
  }
  p->deallocate(s, a, mib);
}

TEST_P(pool, of_the_drivers_keeps_what_its_threshold_says_and_tells_its_highs) {
#if defined(__SANITIZE_THREAD__)
  if (!simulated()) GTEST_SKIP() << "the thread sanitizer leaves CUDA too few addresses for a pool";
#endif
  async_pool_resource p(device(), {.release_threshold = ~std::uint64_t{0}});
  const stream s;
  void* a = p.allocate(s, 4 * mib);
  EXPECT_GE(p.stats().used_bytes, 4 * mib);
  p.deallocate(s, a, 4 * mib);
  s.sync();
  const auto kept = p.stats();
  EXPECT_EQ(kept.used_bytes, 0u);
  EXPECT_GE(kept.reserved_bytes, 4 * mib) << "the threshold keeps it";
  EXPECT_GE(kept.used_high, 4 * mib);
  EXPECT_EQ(kept.release_threshold, ~std::uint64_t{0});
  p.reset_peaks();
  EXPECT_EQ(p.stats().used_high, 0u);
  EXPECT_EQ(p.trim(), kept.reserved_bytes);
  EXPECT_EQ(p.stats().reserved_bytes, 0u);
}

// --- captured streams --------------------------------------------------------------------------------------

TEST_P(pool, serves_a_capture_from_memory_that_stays_the_graphs_until_all_of_it_is_gone) {
  const auto p = make({.growth_bytes = 4 * mib});
  if (!p->grows_by_mapping()) GTEST_SKIP() << "the device has no virtual memory";
  const stream s, t;
  const pinned_buffer host(mib, s);
  p->deallocate(s, p->allocate(s, mib), mib);  // otherwise the graph would use the thread's blocks for the stream
  void* first = nullptr;
  std::optional<graph_exec> exec;
  {
    graph_capture capture(s);
    first = p->allocate(s, mib);
    set_async(first, 5, mib, s);
    copy_async(host.data(), first, mib, s);
    p->deallocate(s, first, mib);
    void* second = p->allocate(s, mib);
    EXPECT_EQ(second, first) << "reused within the capture, where nodes run one after the other";
    p->deallocate(s, second, mib);
    void* large = p->allocate(s, 9 * mib);
    EXPECT_NE(large, nullptr) << "grown while the stream is captured";
    p->deallocate(s, large, 9 * mib);
    const graph g = capture.finish();
    exec.emplace(g);
  }
  EXPECT_EQ(p->stats().used, 0u);
  std::vector<void*> others;
  for (int i = 0; i < 20; ++i) others.push_back(p->allocate(i % 2 == 0 ? s : t, mib));
  EXPECT_EQ(std::count(others.begin(), others.end(), first), 0) << "it is not reused while the graph can run";
  for (int i = 0; i < 20; ++i) set_async(others[static_cast<std::size_t>(i)], 9, mib, i % 2 == 0 ? s : t);
  t.sync();
  exec->launch(s);
  s.sync();
  const auto bytes = host.as<unsigned char>();
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](auto c) { return c == 5; }));
  for (int i = 0; i < 20; ++i) p->deallocate(i % 2 == 0 ? s : t, others[static_cast<std::size_t>(i)], mib);
  p->trim();
  EXPECT_GE(p->stats().reserved, 9 * mib) << "trimmed, except for the graph's memory";
  exec.reset();
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u);
  EXPECT_EQ(p->stats().kept, 0u);
}

TEST_P(pool, leaves_to_a_graph_what_is_freed_while_it_is_captured_or_after) {
  auto p = make();
  const stream s;
  void* before = p->allocate(s, mib);
  void* kept = nullptr;
  std::optional<graph_exec> exec;
  {
    graph_capture capture(s);
    set_async(before, 1, mib, s);
    p->deallocate(s, before, mib);
    if (p->grows_by_mapping()) kept = p->allocate(s, mib);
    exec.emplace(capture.finish());
  }
  if (kept != nullptr) p->deallocate(s, kept, mib);
  void* other = p->allocate(s, mib);
  EXPECT_NE(other, before) << "freed in the capture, whose nodes use it";
  EXPECT_NE(other, kept) << "freed after it, but still the graph's";
  p->deallocate(s, other, mib);
  const auto upstream = device().memory().free_bytes;
  p.reset();
  exec->launch(s);
  s.sync();
  exec.reset();
  EXPECT_GE(device().memory().free_bytes, upstream) << "a pool destroyed before its graph frees with the graph";
}

TEST_P(pool, hands_back_what_a_capture_had_that_came_to_nothing) {
  const auto p = make({.growth_bytes = 4 * mib});
  if (!p->grows_by_mapping()) GTEST_SKIP() << "the device has no virtual memory";
  const stream s;
  void* a = nullptr;
  {
    graph_capture capture(s);
    a = p->allocate(s, mib);
  }
  EXPECT_TRUE(p->owns(a)) << "it is still the caller's";
  p->deallocate(s, a, mib);
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u);
}

// --- hostile use -------------------------------------------------------------------------------------------

TEST_P(pool, refuses_to_free_what_is_no_block_of_its_own_and_counts_it) {
  const auto p = make();
  const stream s;
  auto* a = static_cast<std::byte*>(p->allocate(s, mib));
  int somewhere = 0;
  p->deallocate(s, a + 512, 512);
  p->deallocate(s, a + 1, 512);
  p->deallocate(s, &somewhere, sizeof somewhere);
  EXPECT_EQ(p->stats().refused_frees, 3u);
  EXPECT_TRUE(p->owns(a));
  p->deallocate(s, a, mib);
  p->deallocate(s, a, mib);
  EXPECT_EQ(p->stats().refused_frees, 4u) << "freed twice";
  EXPECT_FALSE(p->owns(a));
  EXPECT_EQ(p->stats().used, 0u);
}

TEST_P(pool, goes_by_its_own_books_where_the_size_that_is_freed_is_wrong) {
  const auto p = make();
  const stream s;
  void* small = p->allocate(s, 1000);
  p->deallocate(s, small, 64 * mib);
  EXPECT_EQ(p->stats().used, 0u);
  EXPECT_EQ(p->stats().requested, 0u);
  void* large = p->allocate(s, 8 * mib);
  EXPECT_NE(large, small);
  EXPECT_TRUE(p->try_deallocate(s, large)) << "and where there is none";
}

TEST_P(pool, takes_its_limit_as_a_part_of_the_device_too) {
  const auto p = make({.limit_fraction = 0.25});
  EXPECT_EQ(p->stats().limit, device().description().memory_bytes / 4);
  p->set_limit_fraction(0.5);
  EXPECT_EQ(p->stats().limit, device().description().memory_bytes / 2);
  EXPECT_THROW(make({.limit_fraction = 1.5}), error);
  EXPECT_THROW(p->set_limit_fraction(-1), error);
  EXPECT_EQ(make({.limit_bytes = mib, .limit_fraction = 0.5})->stats().limit, mib) << "the lower of both limits";
}

// --- threads -----------------------------------------------------------------------------------------------

TEST_P(pool, takes_back_what_a_thread_kept_when_it_ends) {
  const auto p = make({.growth_bytes = 8 * mib});
  const stream s;
  std::thread([&] {
    std::vector<void*> pieces;
    for (int i = 0; i < 50; ++i) pieces.push_back(p->allocate(s, 20'000));
    for (void* piece : pieces) p->deallocate(s, piece, 20'000);
    EXPECT_GT(p->stats().kept, 0u);
  }).join();
  const auto after = p->stats();
  EXPECT_EQ(after.kept, 0u);
  EXPECT_EQ(after.used, 0u);
  EXPECT_EQ(after.used_blocks, 0u);
  EXPECT_GE(after.peak_used, 50 * 20'000u);
  EXPECT_EQ(p->trim(8 * mib), 0u) << "kept, but the stream was waited for, so any stream may use all of it";
  EXPECT_EQ(p->stats().largest_free, 8 * mib);
}

TEST_P(pool, may_go_before_the_threads_that_used_it) {
  std::atomic<int> at{0};
  auto p = make();
  const stream s;
  std::thread user([&] {
    p->deallocate(s, p->allocate(s, 1000), 1000);
    at = 1;
    while (at != 2) std::this_thread::yield();
    // The next pool may have the first pool's address.
    const auto other = make();
    void* a = other->allocate(s, 1000);
    EXPECT_EQ(other->stats().used_blocks, 1u);
    other->deallocate(s, a, 1000);
  });
  while (at != 1) std::this_thread::yield();
  p.reset();
  at = 2;
  user.join();
}

TEST_P(pool, uses_what_other_threads_keep_before_it_refuses) {
  const auto p = make({.limit_bytes = 16 * mib, .growth_bytes = 16 * mib, .front_bytes = 16 * mib});
  const stream s, t;
  std::atomic<int> at{0};
  std::thread keeper([&] {
    void* a = p->allocate(s, 10 * mib);
    p->deallocate(s, a, 10 * mib);
    EXPECT_EQ(p->stats().kept, 10 * mib);
    at = 1;
    while (at != 2) std::this_thread::yield();
    p->deallocate(s, p->allocate(s, 1000), 1000);
  });
  while (at != 1) std::this_thread::yield();
  void* whole = p->allocate(t, 16 * mib);
  EXPECT_NE(whole, nullptr);
  p->deallocate(t, whole, 16 * mib);
  at = 2;
  keeper.join();
}

// Each thread holds blocks of one size, so that the metrics have a fixed relation at any moment.
TEST_P(pool, tells_statistics_of_one_moment_while_threads_run) {
  const auto p = make();
  constexpr std::uint64_t size = 1536, asked = 1100;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const stream s(device());
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<void*> live;
      while (!stop) {
        if (live.size() < 200 && random() % 2 == 0) {
          live.push_back(p->allocate(s, asked));
        } else if (!live.empty()) {
          p->deallocate(s, live.back(), asked);
          live.pop_back();
        }
      }
      for (void* block : live) p->deallocate(s, block, asked);
    });
  }
  for (int i = 0; i < 2000; ++i) {
    const auto now = p->stats();
    ASSERT_EQ(now.used, now.used_blocks * size);
    ASSERT_EQ(now.requested, now.used_blocks * asked);
    ASSERT_LE(now.used + now.kept, now.reserved);
    ASSERT_LE(now.used, now.peak_used);
    ASSERT_EQ(now.kept % size, 0u);
  }
  stop = true;
  for (auto& t : threads) t.join();
  EXPECT_EQ(p->stats().used, 0u);
}

TEST_P(pool, is_torn_by_nothing_that_threads_do_to_it_at_once) {
  const auto p = make({.limit_bytes = 64 * mib, .growth_bytes = 4 * mib});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::optional<stream> s(device());
      std::vector<std::pair<void*, std::size_t>> live;
      for (int i = 0; i < 3000; ++i) {
        const auto subject = random() % 100;
        if (subject < 50) {
          const std::size_t bytes = 1 + random() % (random() % 10 == 0 ? 2 * mib : 20'000);
          try {
            void* block = p->allocate(*s, bytes);
            if (!p->owns(block)) ++wrong;
            live.emplace_back(block, bytes);
          } catch (const out_of_memory&) {
            for (const auto& [block, size] : live) p->deallocate(*s, block, size);
            live.clear();
          }
        } else if (subject < 97 && !live.empty()) {
          const std::size_t at = random() % live.size();
          p->deallocate(*s, live[at].first, live[at].second);
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (subject == 98) {
          p->trim();
        } else if (subject == 99) {
          s.emplace(device());
        }
      }
      for (const auto& [block, size] : live) p->deallocate(*s, block, size);
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  const auto after = p->stats();
  EXPECT_EQ(after.used, 0u);
  EXPECT_EQ(after.kept, 0u);
  EXPECT_EQ(after.refused_frees, 0u);
  p->trim();
  EXPECT_EQ(p->stats().reserved, 0u);
}

TEST_P(pool, is_there_once_for_each_device_and_space) {
  const auto a = default_resource(device()), b = default_pinned_resource(device());
  EXPECT_EQ(a, default_resource(device()));
  EXPECT_EQ(a->space(), memory_space::device);
  EXPECT_EQ(b->space(), memory_space::pinned);
  const stream s;
  void* host = b->allocate(s, mib);
  EXPECT_EQ(b->stats().used, mib);
  b->deallocate(s, host, mib);
}

}  // namespace
}  // namespace sluice::runtime
