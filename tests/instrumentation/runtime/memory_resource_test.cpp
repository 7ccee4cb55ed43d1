#include "instrumentation/runtime/memory_resource.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

// One suite for every resource on every device, then what only pools promise.

namespace sluice::runtime {
namespace {

constexpr std::size_t mib = 1u << 20;

using maker = resource_ptr (*)(const device_ref&);
struct kind {
  const char* name;
  maker make;
};

const kind kinds[] = {
    {"device", [](const device_ref& d) -> resource_ptr { return std::make_shared<device_memory_resource>(d); }},
    {"async", [](const device_ref& d) -> resource_ptr { return std::make_shared<async_memory_resource>(d); }},
    {"pinned", [](const device_ref& d) -> resource_ptr { return std::make_shared<pinned_memory_resource>(d); }},
    {"managed", [](const device_ref& d) -> resource_ptr { return std::make_shared<managed_memory_resource>(d); }},
    {"pool",
     [](const device_ref& d) -> resource_ptr {
       return std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(d));
     }},
    {"pinned_pool", [](const device_ref& d) -> resource_ptr { return std::make_shared<pinned_pool_resource>(d); }},
    {"pool_of_async",
     [](const device_ref& d) -> resource_ptr {
       return std::make_shared<pool_memory_resource>(std::make_shared<async_memory_resource>(d));
     }},
};

class each_resource : public ::testing::TestWithParam<std::tuple<backend::backend_kind, kind>> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()) == backend::backend_kind::simulated) {
      device_.emplace(backend::make_simulated_device());
    } else if (is_available()) {
      device_ = devices().front();
    } else {
      GTEST_SKIP() << "skipped: no CUDA device (" << why_unavailable() << ")";
    }
    resource = std::get<1>(GetParam()).make(*device_);
  }
  std::optional<device_ref> device_;
  resource_ptr resource;
};
INSTANTIATE_TEST_SUITE_P(
    every, each_resource,
    ::testing::Combine(::testing::Values(backend::backend_kind::simulated, backend::backend_kind::cuda),
                       ::testing::ValuesIn(kinds)),
    [](const auto& about) {
      return std::string(std::get<0>(about.param) == backend::backend_kind::simulated ? "simulated_" : "cuda_") +
             std::get<1>(about.param).name;
    });

TEST_P(each_resource, gives_aligned_memory_of_its_space) {
  const stream_ref s(*device_);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{257}, mib, 5 * mib + 1}) {
    void* p = resource->allocate(s, bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % default_alignment, 0u);
    s.sync();
    EXPECT_EQ(device_->memory_space_of(p), resource->space());
    resource->deallocate(s, p, bytes);
  }
}

TEST_P(each_resource, gives_null_for_nothing) {
  const stream_ref s(*device_);
  EXPECT_EQ(resource->allocate(s, 0), nullptr);
  resource->deallocate(s, nullptr, 0);
}

TEST_P(each_resource, refuses_an_alignment_it_cannot_give) {
  const stream_ref s(*device_);
  EXPECT_THROW((void)resource->allocate(s, 100, 3), error);
  EXPECT_THROW((void)resource->allocate(s, 100, 1u << 20), error);
}

TEST_P(each_resource, refuses_huge_sizes_and_goes_on) {
  const stream_ref s(*device_);
  EXPECT_THROW((void)resource->allocate(s, ~std::size_t{0}), error);
  EXPECT_THROW((void)resource->allocate(s, ~std::size_t{0} / 2), error);
  void* p = resource->allocate(s, mib);
  EXPECT_NE(p, nullptr);
  resource->deallocate(s, p, mib);
}

TEST_P(each_resource, never_hands_out_the_same_bytes_twice) {
  const stream s(*device_);
  std::mt19937 random(7);
  std::map<std::uintptr_t, std::size_t> live;
  for (int i = 0; i < 300; ++i) {
    if (live.size() > 20 || (!live.empty() && random() % 3 == 0)) {
      auto it = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      resource->deallocate(s, reinterpret_cast<void*>(it->first), it->second);
      live.erase(it);
      continue;
    }
    const std::size_t bytes = 1 + random() % 100'000;
    const auto p = reinterpret_cast<std::uintptr_t>(resource->allocate(s, bytes));
    const auto next = live.lower_bound(p);
    if (next != live.end()) {
      ASSERT_LE(p + bytes, next->first);
    }
    if (next != live.begin()) {
      ASSERT_LE(std::prev(next)->first + std::prev(next)->second, p);
    }
    live[p] = bytes;
  }
  for (const auto& [p, bytes] : live) resource->deallocate(s, reinterpret_cast<void*>(p), bytes);
}

TEST_P(each_resource, works_for_many_threads_on_their_own_streams) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const stream s(*device_);
      std::vector<unsigned char> back(4096);
      for (int i = 0; i < 20; ++i) {
        void* p = resource->allocate(s, 4096);
        const auto mine = static_cast<std::uint8_t>(t * 32 + i);
        set_async(p, mine, 4096, s);
        copy(back.data(), p, 4096, s);
        if (std::any_of(back.begin(), back.end(), [&](auto c) { return c != mine; })) ++wrong;
        resource->deallocate(s, p, 4096);
      }
      s.sync();
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(each_resource, lives_as_long_as_its_memory) {
  device_buffer b(mib, stream_ref(*device_), resource);
  std::weak_ptr<memory_resource> watch = resource;
  resource.reset();
  EXPECT_FALSE(watch.expired());
  b.reset();
  EXPECT_TRUE(watch.expired());
}

// --- pools -------------------------------------------------------------------------------------------------

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
  EXPECT_EQ(p->trim(5 * mib), 0u) << "asked to keep it";
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
  EXPECT_NEAR(now.fragmentation(), 1024.0 / (7 * mib), 1e-9) << "1024 bytes lie apart";
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
  EXPECT_EQ(p->allocate(other, mib), a) << "its memory is anybody's now";
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
  config.memory_bytes = 576 * mib;  // 64 MiB are left beside the context
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

}  // namespace
}  // namespace sluice::runtime
