#include "instrumentation/backend/suballocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace sluice::backend {
namespace {

constexpr std::uint64_t base = 0x10000;

TEST(suballocator, gives_nothing_without_a_segment) {
  suballocator pool;
  EXPECT_FALSE(pool.take(1, 0));
}

TEST(suballocator, rounds_sizes_up_to_its_granule) {
  suballocator pool(512);
  pool.add_segment(base, 4096);
  EXPECT_EQ(pool.take(1, 0)->bytes, 512u);
  EXPECT_EQ(pool.take(513, 0)->bytes, 1024u);
  EXPECT_EQ(pool.stats().used_bytes, 1536u);
  EXPECT_EQ(pool.stats().requested_bytes, 514u);
}

TEST(suballocator, takes_the_smallest_block_that_fits) {
  suballocator pool;
  pool.add_segment(base, 8192);
  const auto a = pool.take(4096, 0), b = pool.take(1024, 0), gap = pool.take(512, 0);
  ASSERT_TRUE(a && b && gap);
  pool.give(a->address, suballocator::clean);
  pool.give(b->address, suballocator::clean);
  // Free now: a joined with b (5120 bytes), and the rest behind the gap (2560 bytes).
  EXPECT_EQ(pool.take(2048, 0)->address, gap->address + 512);
}

TEST(suballocator, coalesces_neighbours_of_one_tag_only) {
  suballocator pool;
  pool.add_segment(base, 2048);
  const auto a = pool.take(1024, 1), b = pool.take(1024, 2);
  pool.give(a->address, 1);
  pool.give(b->address, 2);
  EXPECT_EQ(pool.stats().largest_free_bytes, 1024u);
  pool.retag(2, 1);
  EXPECT_EQ(pool.stats().largest_free_bytes, 2048u);
  EXPECT_EQ(pool.stats().free_blocks, 1u);
}

TEST(suballocator, keeps_a_block_freed_on_one_stream_from_another) {
  suballocator pool;
  pool.add_segment(base, 1024);
  const auto a = pool.take(1024, 1);
  pool.give(a->address, 1);
  EXPECT_FALSE(pool.take(1024, 2));
  EXPECT_EQ(pool.tags(), std::vector<std::uint64_t>{1});
  EXPECT_TRUE(pool.take(1024, 1));
}

TEST(suballocator, never_joins_blocks_of_two_segments) {
  suballocator pool;
  pool.add_segment(base, 1024);
  pool.add_segment(base + 1024, 1024);
  const auto a = pool.take(1024, 0), b = pool.take(1024, 0);
  pool.give(a->address, suballocator::clean);
  pool.give(b->address, suballocator::clean);
  EXPECT_EQ(pool.stats().largest_free_bytes, 1024u);
}

TEST(suballocator, refuses_to_free_what_it_did_not_give) {
  suballocator pool;
  pool.add_segment(base, 4096);
  const auto a = pool.take(1024, 0);
  EXPECT_FALSE(pool.give(a->address + 512, 0));
  EXPECT_TRUE(pool.give(a->address, 0));
  EXPECT_FALSE(pool.give(a->address, 0)) << "twice";
}

TEST(suballocator, releases_only_whole_free_clean_segments) {
  suballocator pool;
  pool.add_segment(base, 1024);
  pool.add_segment(base + 0x10000, 1024);
  const auto used = pool.take(512, 0);
  EXPECT_EQ(used->segment, base);
  auto gone = pool.release(0);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].address, base + 0x10000);
  pool.give(used->address, 7);
  EXPECT_TRUE(pool.release(0).empty()) << "stream 7 may still use it";
  pool.retag(7, suballocator::clean);
  EXPECT_TRUE(pool.release(1024).empty()) << "the pool must keep this much";
  EXPECT_EQ(pool.release(0).size(), 1u);
  EXPECT_EQ(pool.stats().reserved_bytes, 0u);
}

TEST(suballocator, survives_sizes_at_the_end_of_the_range) {
  suballocator pool;
  pool.add_segment(base, 4096);
  EXPECT_FALSE(pool.take(~std::uint64_t{0}, 0));
  EXPECT_FALSE(pool.take(~std::uint64_t{0} - 600, 0));
}

// The reference allocator: one entry per granule, which identifies the granule's owner.
class reference {
 public:
  static constexpr std::uint64_t granule = 512;
  explicit reference(std::uint64_t bytes) : owner_(bytes / granule, free_clean) {}

  // The length of the smallest run of granules that `tag` may use and that holds `bytes`; 0 if there is none.
  [[nodiscard]] std::uint64_t best_fit(std::uint64_t bytes, std::int64_t tag) const {
    const std::uint64_t want = std::max<std::uint64_t>((bytes + granule - 1) / granule, 1);
    std::uint64_t best = 0;
    for (std::size_t i = 0; i < owner_.size();) {
      std::size_t j = i;
      while (j < owner_.size() && owner_[j] == owner_[i]) ++j;
      const bool usable = owner_[i] == free_clean || owner_[i] == -(tag + 2);
      if (usable && j - i >= want && (best == 0 || j - i < best)) best = j - i;
      i = j;
    }
    return best * granule;
  }
  void set(std::uint64_t offset, std::uint64_t bytes, std::int64_t value) {
    for (std::uint64_t i = offset / granule; i < (offset + bytes) / granule; ++i) owner_[i] = value;
  }
  [[nodiscard]] bool all(std::uint64_t offset, std::uint64_t bytes, auto&& test) const {
    for (std::uint64_t i = offset / granule; i < (offset + bytes) / granule; ++i) {
      if (!test(owner_[i])) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint64_t used() const {
    return static_cast<std::uint64_t>(std::count_if(owner_.begin(), owner_.end(), [](auto o) { return o > 0; })) *
           granule;
  }
  void clean(std::int64_t tag) { std::replace(owner_.begin(), owner_.end(), -(tag + 2), free_clean); }
  static constexpr std::int64_t free_clean = -1;  // -(tag + 2): free, with that tag; > 0: allocated

 private:
  std::vector<std::int64_t> owner_;
};

TEST(suballocator, agrees_with_an_obvious_reference_on_random_work) {
  constexpr std::uint64_t size = 256 * 512;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    suballocator pool(512);
    reference truth(size);
    pool.add_segment(base, size);
    std::vector<suballocator::block> live;
    std::int64_t next = 1;
    for (int i = 0; i < 2000; ++i) {
      const auto tag = static_cast<std::int64_t>(random() % 3);
      const auto utag = static_cast<std::uint64_t>(tag);
      const auto dice = random() % 100;
      if (dice < 52) {
        const std::uint64_t bytes = 1 + random() % (random() % 8 == 0 ? 20000 : 3000);
        const std::uint64_t fits = truth.best_fit(bytes, tag);
        const auto got = pool.take(bytes, utag);
        ASSERT_EQ(got.has_value(), fits != 0) << "seed " << seed << " step " << i;
        if (!got) continue;
        ASSERT_TRUE(truth.all(got->address - base, got->bytes, [&](auto o) { return o == -1 || o == -(tag + 2); }))
            << "handed out memory in use, or another stream's";
        truth.set(got->address - base, got->bytes, next++);
        live.push_back(*got);
      } else if (dice < 97 && !live.empty()) {
        std::swap(live[random() % live.size()], live.back());
        ASSERT_TRUE(pool.give(live.back().address, utag));
        truth.set(live.back().address - base, live.back().bytes, -(tag + 2));
        live.pop_back();
      } else {
        pool.retag(utag, suballocator::clean);
        truth.clean(tag);
      }
      ASSERT_EQ(pool.stats().used_bytes, truth.used());
      ASSERT_EQ(pool.stats().used_blocks, live.size());
    }
  }
}

}  // namespace
}  // namespace sluice::backend
