#include "instrumentation/runtime/memory_resource.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "instrumentation/runtime/adaptors.hpp"
#include "instrumentation/runtime/async_pool_resource.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/callback_memory_resource.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// Tests that every memory resource must pass on every device.

namespace sluice::runtime {
namespace {

using maker = resource_ptr (*)(const device_ref&);
struct kind {
  const char* name;
  maker make;
};

resource_ptr upstream(const device_ref& d) { return std::make_shared<device_memory_resource>(d); }

resource_ptr callbacks(const device_ref& d) {
  const resource_ptr below = upstream(d);
  return std::make_shared<callback_memory_resource>(
      d, memory_space::device, [below](std::size_t bytes, const stream_ref& s) { return below->allocate(s, bytes); },
      [below](void* address, std::size_t bytes, const stream_ref& s) { below->deallocate(s, address, bytes); });
}

const kind kinds[] = {
    {"device", upstream},
    {"async", [](const device_ref& d) -> resource_ptr { return std::make_shared<async_memory_resource>(d); }},
    {"async_pool", [](const device_ref& d) -> resource_ptr { return std::make_shared<async_pool_resource>(d); }},
    {"pinned", [](const device_ref& d) -> resource_ptr { return std::make_shared<pinned_memory_resource>(d); }},
    {"managed", [](const device_ref& d) -> resource_ptr { return std::make_shared<managed_memory_resource>(d); }},
    {"pool", [](const device_ref& d) -> resource_ptr { return std::make_shared<pool_memory_resource>(upstream(d)); }},
    {"ipc_pool",
     [](const device_ref& d) -> resource_ptr {
       return std::make_shared<pool_memory_resource>(upstream(d), pool_options{.ipc_capable = true});
     }},
    {"pinned_pool", [](const device_ref& d) -> resource_ptr { return std::make_shared<pinned_pool_resource>(d); }},
    {"pool_of_async",
     [](const device_ref& d) -> resource_ptr {
       return std::make_shared<pool_memory_resource>(std::make_shared<async_memory_resource>(d));
     }},
    {"pool_of_a_pool",
     [](const device_ref& d) -> resource_ptr {
       return std::make_shared<pool_memory_resource>(std::make_shared<pool_memory_resource>(upstream(d)));
     }},
    {"callback", callbacks},
    {"vtable",
     [](const device_ref& d) -> resource_ptr {
       return std::make_shared<vtable_memory_resource>(
           d, memory_space::device, export_resource(std::make_shared<pool_memory_resource>(upstream(d))));
     }},
    {"logging",
     [](const device_ref& d) -> resource_ptr {
       return std::make_shared<logging_resource_adaptor>(upstream(d), [](const logged_call&) {});
     }},
    {"statistics",
     [](const device_ref& d) -> resource_ptr { return std::make_shared<statistics_resource_adaptor>(upstream(d)); }},
    {"limiting",
     [](const device_ref& d) -> resource_ptr {
       return std::make_shared<limiting_resource_adaptor>(std::make_shared<pool_memory_resource>(upstream(d)),
                                                          d.description().memory_bytes / 2);
     }},
    {"failure_callback",
     [](const device_ref& d) -> resource_ptr {
       return std::make_shared<failure_callback_resource_adaptor>(upstream(d),
                                                                  [](const out_of_memory&) { return false; });
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
    EXPECT_EQ(device_->find_memory_space(p), resource->space());
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

TEST_P(each_resource, runs_out_of_memory_and_recovers) {
  if (resource->space() != memory_space::device) GTEST_SKIP() << "this test does not exhaust the host's memory";
  // Memory is soon exhausted on a device of 64 MiB; on a real device the test takes pieces of a quarter of the free
  // memory.
  backend::simulated_config small;
  small.memory_bytes = 576 * mib;
  if (device_->simulated()) {
    device_.emplace(backend::make_simulated_device(small));
    resource = std::get<1>(GetParam()).make(*device_);
  }
  const stream_ref s(*device_);
  device_->sync();  // The driver's pools return what earlier tests have freed.
  const std::size_t piece = device_->memory().free_bytes / 4 / mib * mib;
  ASSERT_GT(piece, 0u);
  std::vector<void*> held;
  try {
    for (int i = 0; i < 100; ++i) held.push_back(resource->allocate(s, piece));
    ADD_FAILURE() << "memory never runs out";
  } catch (const out_of_memory& e) {
    EXPECT_EQ(e.requested_bytes(), piece);
    EXPECT_EQ(e.stream(), 0u);
  }
  EXPECT_LT(held.size(), 5u);
  ASSERT_FALSE(held.empty());
  for (void* p : held) resource->deallocate(s, p, piece);
  void* again = resource->allocate(s, piece);
  EXPECT_NE(again, nullptr);
  resource->deallocate(s, again, piece);
}

TEST_P(each_resource, keeps_what_many_streams_wrote_apart) {
  struct piece {
    void* address;
    std::size_t bytes;
    std::uint8_t value;
    std::size_t stream;
  };
  std::vector<stream> streams;
  for (int i = 0; i < 12; ++i) streams.emplace_back(*device_);
  std::mt19937 random(11);
  std::vector<piece> live;
  std::vector<unsigned char> back(64 << 10);
  const auto end = [&](const piece& p) {
    copy(back.data(), p.address, p.bytes, streams[p.stream]);
    ASSERT_TRUE(std::all_of(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(p.bytes),
                            [&](auto c) { return c == p.value; }));
    resource->deallocate(streams[p.stream], p.address, p.bytes);
  };
  for (int i = 0; i < 400; ++i) {
    if (live.size() > 30 || (!live.empty() && random() % 2 == 0)) {
      const std::size_t which = random() % live.size();
      end(live[which]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    const std::size_t bytes = 1 + random() % back.size();
    const std::size_t on = random() % streams.size();
    void* p = resource->allocate(streams[on], bytes);
    live.push_back({p, bytes, static_cast<std::uint8_t>(random()), on});
    set_async(p, live.back().value, bytes, streams[on]);
  }
  for (const piece& p : live) end(p);
}

// A stream's remaining work on a block that it freed must not affect the block's next user.
TEST_P(each_resource, gives_memory_from_stream_to_stream_without_a_race) {
  if (resource->space() == memory_space::managed) GTEST_SKIP() << "managed memory is freed when its stream is done";
  constexpr std::size_t words = 256 << 10, bytes = words * 4, rounds = 24;
  const stream first(*device_), second(*device_);
  pinned_memory_resource host(*device_);
  auto* results = static_cast<std::uint32_t*>(host.allocate_sync(rounds * bytes));
  const auto work = [&](const stream& s, void* p, std::uint32_t round) {
    set_async(p, static_cast<std::uint8_t>(round), bytes, s);
    launch(kernels::affine_u32, launch_config::for_size(words), s, static_cast<std::uint32_t*>(p), std::uint64_t{words},
           1u, round, 64u);
    copy_async(results + round * words, p, bytes, s);
  };
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const stream& s = round % 2 == 0 ? first : second;
    void* p = resource->allocate(s, bytes);
    work(s, p, round);
    resource->deallocate(s, p, bytes);
  }
  first.sync();
  second.sync();
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::uint32_t expected = round * 0x01010101u + 64 * round;
    const auto* source = results + round * words;
    ASSERT_TRUE(std::all_of(source, source + words, [&](std::uint32_t w) { return w == expected; }))
        << "round " << round << ": " << *source << ", expected " << expected;
  }
  host.deallocate_sync(results, rounds * bytes);
}

TEST_P(each_resource, takes_back_on_one_thread_what_another_allocated) {
  const stream s(*device_);
  std::vector<void*> given(64);
  for (int round = 0; round < 4; ++round) {
    std::thread([&] {
      for (void*& p : given) p = resource->allocate(s, 5000);
    }).join();
    std::set<void*> apart(given.begin(), given.end());
    EXPECT_EQ(apart.size(), given.size());
    std::thread([&] {
      for (void* p : given) resource->deallocate(s, p, 5000);
    }).join();
  }
  s.sync();
}

TEST_P(each_resource, lives_as_long_as_its_memory) {
  device_buffer b(mib, stream_ref(*device_), resource);
  std::weak_ptr<memory_resource> watch = resource;
  resource.reset();
  EXPECT_FALSE(watch.expired());
  b.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(memory_resources, keep_no_block_that_they_could_not_wait_for) {
  class counting final : public memory_resource {
   public:
    using memory_resource::memory_resource;
    int blocks = 0;

   protected:
    void* do_allocate(const stream_ref& /*stream*/, std::size_t /*bytes*/) override {
      ++blocks;
      return &block_;
    }
    void do_deallocate(const stream_ref& /*stream*/, void* /*address*/, std::size_t /*bytes*/) noexcept override {
      --blocks;
    }

   private:
    alignas(default_alignment) std::byte block_[default_alignment]{};
  };
  const device_ref device(backend::make_simulated_device());
  counting resource(device, memory_space::pageable);
  const stream blocking(device, stream_mode::blocking);
  const graph_capture capture(blocking);
  EXPECT_THROW((void)resource.allocate_sync(64), error) << "the default stream must not be waited for now";
  EXPECT_EQ(resource.blocks, 0);
}

}  // namespace
}  // namespace sluice::runtime
