// Compares the table of live blocks with a slow reference based on std::map.
#include "instrumentation/capture/blocks/live_blocks.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "instrumentation/ring/records.hpp"

namespace sluice::test {
namespace {

namespace live = capture::live_blocks;
using trace::layer;
using trace::memory_kind;

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

live::block device_block(std::uint64_t address, std::uint64_t bytes, layer layer = layer::driver) {
  return {address, bytes, layer, memory_kind::device, 0};
}

std::vector<live::block> all() {
  std::vector<live::block> found;
  live::for_each([](void* to, const live::block& b) { static_cast<std::vector<live::block>*>(to)->push_back(b); },
                 &found);
  return found;
}

/// Starts each test with an empty table: removes what earlier tests left.
class live_blocks_test : public testing::Test {
 protected:
  void SetUp() override {
    for (const live::block& b : all()) live::remove(b.address, b.layer, b.kind);
    ASSERT_TRUE(all().empty());
  }
};

TEST_F(live_blocks_test, holds_every_address_of_a_block_and_no_other) {
  live::add(device_block(0x7f00'0000'0200, 1000));
  EXPECT_EQ(live::lookup(0x7f00'0000'0200), 0x7f00'0000'0200U);
  EXPECT_EQ(live::lookup(0x7f00'0000'0200 + 999), 0x7f00'0000'0200U);
  EXPECT_EQ(live::lookup(0x7f00'0000'0200 + 1000), 0U);
  EXPECT_EQ(live::lookup(0x7f00'0000'01ff), 0U);
}

TEST_F(live_blocks_test, what_is_no_address_is_no_block) {
  live::add(device_block(0x7f00'0000'0000, 2 * MiB));
  for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x3f80'0000'3f80'0000},
                                   ~std::uint64_t{0}, std::uint64_t{1} << 47, std::uint64_t{4096}}) {
    EXPECT_EQ(live::lookup(word), 0U) << word;
  }
}

TEST_F(live_blocks_test, the_frameworks_block_is_found_before_its_segment) {
  live::add(device_block(0x7f10'0000'0000, 20 * MiB));
  live::add(device_block(0x7f10'0000'0000, 512, layer::framework));
  live::add(device_block(0x7f10'0040'0000, 4 * MiB, layer::framework));
  EXPECT_EQ(live::lookup(0x7f10'0000'0010), 0x7f10'0000'0000U);
  EXPECT_EQ(live::lookup(0x7f10'0070'0000), 0x7f10'0040'0000U);
  EXPECT_EQ(live::lookup(0x7f10'0020'0000), 0x7f10'0000'0000U) << "cached memory belongs to the segment";
  live::remove(0x7f10'0040'0000, layer::framework, memory_kind::device);
  EXPECT_EQ(live::lookup(0x7f10'0070'0000), 0x7f10'0000'0000U);
}

TEST_F(live_blocks_test, far_inside_a_huge_block) {
  live::add(device_block(0x6000'0000'0100, 50 * GiB));
  for (const std::uint64_t offset : {std::uint64_t{0}, 3 * KiB, MiB, 7 * GiB + 5, 50 * GiB - 1}) {
    EXPECT_EQ(live::lookup(0x6000'0000'0100 + offset), 0x6000'0000'0100U) << offset;
  }
  EXPECT_EQ(live::lookup(0x6000'0000'0100 + 50 * GiB), 0U);
  EXPECT_TRUE(live::remove(0x6000'0000'0100, layer::driver, memory_kind::device));
  EXPECT_EQ(live::lookup(0x6000'0000'0100 + 7 * GiB), 0U);
}

TEST_F(live_blocks_test, an_address_that_is_used_again_has_its_new_size) {
  live::add(device_block(0x7f20'0000'0000, 8 * MiB));
  live::remove(0x7f20'0000'0000, layer::driver, memory_kind::device);
  live::add(device_block(0x7f20'0000'0000, 1 * MiB));
  EXPECT_EQ(live::lookup(0x7f20'0000'0000 + 2 * MiB), 0U);
  live::add(device_block(0x7f20'0000'0000, 4 * MiB));  // The free of this block was lost.
  EXPECT_EQ(live::lookup(0x7f20'0000'0000 + 2 * MiB), 0x7f20'0000'0000U);
  EXPECT_EQ(all().size(), 1U);
}

TEST_F(live_blocks_test, cu_mem_free_takes_what_a_stream_ordered_call_gave) {
  live::add(device_block(0x3'0200'0000, 4096, layer::pool));
  EXPECT_TRUE(live::remove(0x3'0200'0000, layer::driver, memory_kind::unknown));
  EXPECT_EQ(live::lookup(0x3'0200'0000), 0U);
  EXPECT_FALSE(live::remove(0x3'0200'0000, layer::driver, memory_kind::unknown)) << "it was already removed";
}

TEST_F(live_blocks_test, handles_are_listed_and_never_found) {
  live::add({0x7f30'0000'0000, 64 * GiB, layer::driver, memory_kind::reservation, 0});
  live::add({17, 2 * MiB, layer::driver, memory_kind::physical, 1});
  live::add({18, 2 * MiB, layer::driver, memory_kind::physical, 1});
  EXPECT_EQ(live::lookup(0x7f30'0000'1000), 0U);
  EXPECT_EQ(live::lookup(17), 0U);
  EXPECT_EQ(all().size(), 3U);
  EXPECT_TRUE(live::remove(17, layer::driver, memory_kind::physical));
  EXPECT_FALSE(live::remove(17, layer::driver, memory_kind::physical));
  EXPECT_EQ(all().size(), 2U);
}

TEST_F(live_blocks_test, what_is_reported_of_a_block_comes_back) {
  live::add({0x7f40'0000'0310, 12345, layer::framework, memory_kind::managed, 7});
  live::add({0x7f41'0000'0000, 1, layer::driver, memory_kind::pinned, ring::no_device});
  std::map<std::uint64_t, live::block> found;
  for (const live::block& b : all()) found.emplace(b.address, b);
  ASSERT_EQ(found.size(), 2U);
  const live::block& first = found.at(0x7f40'0000'0310);
  EXPECT_EQ(first.bytes, 12345U);
  EXPECT_EQ(first.layer, layer::framework);
  EXPECT_EQ(first.kind, memory_kind::managed);
  EXPECT_EQ(first.device, 7U);
  EXPECT_EQ(found.at(0x7f41'0000'0000).device, ring::no_device);
}

TEST_F(live_blocks_test, what_cannot_be_tracked_is_counted) {
  const std::uint64_t before = live::untracked();
  EXPECT_FALSE(live::add(device_block(std::uint64_t{1} << 50, 4096)));
  EXPECT_FALSE(live::add(device_block((std::uint64_t{1} << 47) - 4096, 1 * MiB)));
  EXPECT_EQ(live::untracked(), before + 2);
}

TEST_F(live_blocks_test, a_forks_child_begins_with_none) {
  live::add(device_block(0x7f50'0000'0000, 4096));
  const pid_t child = fork();
  if (child == 0) {
    const bool empty = live::lookup(0x7f50'0000'0000) == 0 && all().empty();
    live::add(device_block(0x7f50'0000'1000, 4096));
    _exit(empty && live::lookup(0x7f50'0000'1000) != 0 && all().size() == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(live::lookup(0x7f50'0000'0000), 0U);
}

/// The reference: a std::map for each layer.
class reference {
 public:
  [[nodiscard]] bool overlaps(const live::block& b) const {
    const auto& blocks = of(b.layer);
    const auto after = blocks.lower_bound(b.address + b.bytes);
    return after != blocks.begin() && std::prev(after)->first + std::prev(after)->second > b.address;
  }
  void add(const live::block& b) { of(b.layer)[b.address] = b.bytes; }
  void remove(std::uint64_t address, layer layer) { of(layer).erase(address); }
  [[nodiscard]] std::uint64_t lookup(std::uint64_t word) const {
    for (std::size_t layer = trace::layer_count; layer-- > 0;) {
      const auto after = levels_[layer].upper_bound(word);
      if (after == levels_[layer].begin()) continue;
      const auto& [begin, bytes] = *std::prev(after);
      if (word - begin < bytes) return begin;
    }
    return 0;
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t count = 0;
    for (const auto& l : levels_) count += l.size();
    return count;
  }
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& of(layer layer) const {
    return levels_[static_cast<std::size_t>(layer)];
  }

 private:
  std::map<std::uint64_t, std::uint64_t>& of(layer layer) { return levels_[static_cast<std::size_t>(layer)]; }
  std::array<std::map<std::uint64_t, std::uint64_t>, trace::layer_count> levels_;
};

TEST_F(live_blocks_test, results_as_a_map_does_whatever_comes_and_goes) {
  std::mt19937_64 random(20);  // NOLINT(cert-msc32-c,cert-msc51-cpp): a fixed seed.
  const auto below = [&](std::uint64_t n) { return random() % n; };
  reference expected;
  constexpr std::uint64_t base = 0x7f60'0000'0000;
  for (int round = 0; round < 40'000; ++round) {
    const auto layer = static_cast<trace::layer>(below(trace::layer_count));
    const unsigned scale = 8 + static_cast<unsigned>(below(18));  // 256 B to 32 MiB
    const live::block b{base + below(64 * MiB / 256) * 256 + (below(8) == 0 ? 16 : 0),
                        1 + below(std::uint64_t{1} << scale), layer, memory_kind::device, 0};
    if (below(5) < 3) {
      // At most one block of a layer starts within 256 bytes.
      const auto& there = std::as_const(expected).of(layer);
      const auto near = there.lower_bound(b.address & ~std::uint64_t{255});
      const bool taken = near != there.end() && near->first / 256 == b.address / 256;
      if (!taken && !expected.overlaps(b)) {
        expected.add(b);
        ASSERT_TRUE(live::add(b));
      }
    } else if (const auto& there = std::as_const(expected).of(layer); !there.empty()) {
      const std::uint64_t address = std::next(there.begin(), static_cast<std::ptrdiff_t>(below(there.size())))->first;
      expected.remove(address, layer);
      ASSERT_TRUE(live::remove(address, layer, memory_kind::device));
    }
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t word = base - MiB + below(100 * MiB);
      ASSERT_EQ(live::lookup(word), expected.lookup(word)) << std::hex << word << " in round " << std::dec << round;
    }
    ASSERT_EQ(live::lookup(b.address), expected.lookup(b.address));
    ASSERT_EQ(live::lookup(b.address + b.bytes - 1), expected.lookup(b.address + b.bytes - 1));
  }
  EXPECT_EQ(all().size(), expected.size());
}

// A thread must find every block that it added and did not remove, whatever other threads do. The thread sanitizer also
// runs this test.
TEST_F(live_blocks_test, many_threads_beside_each_other) {
  constexpr int threads = 8, rounds = 3000;
  constexpr std::uint64_t base = 0x7f80'0000'0000, room = 3 * MiB;
  std::atomic<int> wrong{0};
  std::atomic<bool> stop{false};
  std::thread lister([&] {
    while (!stop) {
      live::for_each(
          [](void* bad, const live::block& b) {
            if (b.bytes == 0 || b.bytes > room) ++*static_cast<std::atomic<int>*>(bad);
          },
          &wrong);
    }
  });
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      // Neighboring threads share regions.
      const std::uint64_t mine = base + static_cast<std::uint64_t>(t) * room;
      for (int i = 0; i < rounds; ++i) {
        const std::uint64_t address = mine + random() % 4096 * 256;
        const std::uint64_t bytes = 1 + random() % MiB;
        live::add(device_block(address, bytes, layer::framework));
        const std::uint64_t word = address + random() % bytes;
        if (live::lookup(word) != address) ++wrong;
        const std::uint64_t elsewhere = live::lookup(base + random() % (threads * room));
        if (elsewhere != 0 && (elsewhere < base || elsewhere >= base + threads * room)) ++wrong;
        live::remove(address, layer::framework, memory_kind::device);
        if (live::lookup(word) != 0) ++wrong;
      }
    });
  }
  for (std::thread& w : workers) w.join();
  stop = true;
  lister.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace sluice::test
