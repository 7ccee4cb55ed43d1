#include "instrumentation/runtime/pool/pool_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

// Compares the heap with a simple reference: an array with the owner of each granule.

namespace sluice::runtime::pooling {
namespace {

constexpr std::uint64_t base = 0x7000'0000'0000;

TEST(size_classes_of_a_heap, hold_every_size_and_begin_where_rounding_ends) {
  std::size_t last = 0;
  for (std::uint64_t g = 1; g < 5000; ++g) {
    const std::size_t c = get_size_class(g);
    EXPECT_TRUE(c == last || c == last + 1) << "no class is skipped, at " << g;
    last = c;
    const std::uint64_t up = round_to_class(g);
    EXPECT_GE(up, g);
    EXPECT_LE((up - g) * 8, g) << "an eighth at most, at " << g;
    EXPECT_EQ(round_to_class(up), up);
    EXPECT_EQ(class_that_holds(g), get_size_class(up)) << g;
    if (up > 1) {
      EXPECT_EQ(get_size_class(up), get_size_class(up - 1) + 1) << "a rounded size starts its class: " << up;
    }
  }
  EXPECT_LT(get_size_class((std::uint64_t{1} << 47) / granule - 1), size_classes);
}

/// The owner of each granule: a caller's number, or free, and then its zone.
class reference {
 public:
  struct cell {
    int owner = 0;  // 0: free
    std::uint64_t zone = 0;
  };

  void add(std::uint64_t address, std::uint64_t bytes, bool continuous) {
    segments_[address] = {bytes, continuous};
    for (std::uint64_t at = address; at != address + bytes; at += granule) cells_[at] = {};
  }
  void remove(std::uint64_t address) {
    for (std::uint64_t at = address; at != address + segments_[address].first; at += granule) cells_.erase(at);
    segments_.erase(address);
  }
  void set(std::uint64_t address, std::uint64_t bytes, cell to) {
    for (std::uint64_t at = address; at != address + bytes; at += granule) cells_.at(at) = to;
  }
  /// True if the whole range exists, is free, and is entirely in `zone` or entirely in zone 0.
  [[nodiscard]] bool may_take(std::uint64_t address, std::uint64_t bytes, std::uint64_t zone) const {
    const auto first = cells_.find(address);
    if (first == cells_.end() || (first->second.zone != zone && first->second.zone != 0)) return false;
    for (std::uint64_t at = address; at != address + bytes; at += granule) {
      const auto c = cells_.find(at);
      if (c == cells_.end() || c->second.owner != 0 || c->second.zone != first->second.zone) return false;
    }
    return true;
  }
  struct run {
    std::uint64_t address, bytes, zone;
    friend bool operator==(const run&, const run&) = default;
  };
  /// Runs of adjacent free granules of one zone, within continuous memory.
  [[nodiscard]] std::vector<run> free_runs() const {
    std::vector<run> runs;
    for (const auto& [at, c] : cells_) {
      if (c.owner != 0) continue;
      const bool begins_segment = segments_.contains(at);
      const bool joins = !begins_segment || (segments_.at(at).second && continuous_before(at));
      if (!runs.empty() && joins && runs.back().address + runs.back().bytes == at && runs.back().zone == c.zone) {
        runs.back().bytes += granule;
      } else {
        runs.push_back({at, granule, c.zone});
      }
    }
    return runs;
  }
  /// Segments that are entirely clean.
  [[nodiscard]] std::vector<std::uint64_t> clean_segments() const {
    std::vector<std::uint64_t> clean;
    for (const auto& [address, s] : segments_) {
      bool complete = true;
      for (std::uint64_t at = address; at != address + s.first; at += granule) {
        complete = complete && cells_.at(at).owner == 0 && cells_.at(at).zone == 0;
      }
      if (complete) clean.push_back(address);
    }
    return clean;
  }
  void retag(std::uint64_t begin, std::uint64_t to) {
    for (auto& [at, c] : cells_) {
      if (c.owner == 0 && c.zone == begin) c.zone = to;
    }
  }
  [[nodiscard]] std::uint64_t bytes() const { return cells_.size() * granule; }

 private:
  [[nodiscard]] bool continuous_before(std::uint64_t at) const {
    const auto s = segments_.find(at);
    if (s == segments_.begin()) return false;
    const auto before = std::prev(s);
    return before->second.second && before->first + before->second.first == at;
  }

  std::map<std::uint64_t, cell> cells_;
  std::map<std::uint64_t, std::pair<std::uint64_t, bool>> segments_;  // bytes, continuous
};

class random_heap {
 public:
  random_heap(unsigned seed, bool continuous) : random_(seed), continuous_(continuous) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      step();
      if (i % 8 == 0) compare();
    }
    for (const auto& [b, owner] : live_) give(b, 0);
    live_.clear();
    for (std::uint64_t stream = 1; stream <= streams; ++stream) retag(stream);
    compare();
    EXPECT_EQ(heap_.release(0).size() + 0u, get_spare(max_segments)) << "everything is released in the end";
    EXPECT_EQ(heap_.reserved(), 0u);
  }

 private:
  static constexpr std::uint64_t streams = 3, max_segments = 6, segment_bytes = 128 * granule;

  [[nodiscard]] std::uint64_t get_spare(std::uint64_t total) const { return total - absent_.size(); }
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void step() {
    const std::uint64_t value = pick(100);
    if (value < 45) return take();
    if (value < 85 && !live_.empty()) {
      const std::size_t at = pick(live_.size());
      give(live_[at].first, pick(streams + 1));
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    if (value < 90) return retag(1 + pick(streams));
    if (value < 96) return add();
    release();
  }

  void add() {
    if (absent_.empty()) return;
    const std::size_t which = pick(absent_.size());
    const std::uint64_t address = absent_[which];
    absent_.erase(absent_.begin() + static_cast<std::ptrdiff_t>(which));
    heap_.add({address, segment_bytes, address + 1, continuous_});
    reference_.add(address, segment_bytes, continuous_);
  }

  void take() {
    const std::uint64_t stream = pick(streams + 1);
    const std::uint64_t bytes = (1 + pick(pick(4) == 0 ? 150 : 20)) * granule;
    zone& source = stream == 0 ? heap_.clean() : heap_.find_zone(stream);
    const bool any = pick(2) == 0;
    block* b = any ? heap_.take_any(bytes, source) : heap_.take(bytes, source);
    if (b == nullptr) {
      // The fast search may miss a block if it is unsure; the full search must not.
      EXPECT_TRUE(!any || !there_is(bytes, stream)) << bytes << " on " << stream;
      return;
    }
    ASSERT_EQ(b->bytes, bytes);
    ASSERT_TRUE(reference_.may_take(b->address, bytes, stream)) << std::hex << b->address;
    EXPECT_EQ(heap_.find(b->address), b);
    EXPECT_EQ(b->trace_address, get_trace(b->address));
    reference_.set(b->address, bytes, {++last_owner_, 0});
    live_.emplace_back(b, last_owner_);
  }

  [[nodiscard]] std::uint64_t get_trace(std::uint64_t address) const { return address + 1; }

  [[nodiscard]] bool there_is(std::uint64_t bytes, std::uint64_t stream) const {
    const auto runs = reference_.free_runs();
    return std::any_of(runs.begin(), runs.end(),
                       [&](const auto& r) { return r.bytes >= bytes && (r.zone == stream || r.zone == 0); });
  }

  void give(block* b, std::uint64_t stream) {
    reference_.set(b->address.load(), b->bytes, {0, stream});
    heap_.give(b, stream == 0 ? heap_.clean() : heap_.find_zone(stream));
  }

  void retag(std::uint64_t stream) {
    heap_.retag(heap_.find_zone(stream), heap_.clean());
    reference_.retag(stream, 0);
  }

  void release() {
    const auto clean = reference_.clean_segments();
    const std::uint64_t keep = pick(3) * segment_bytes;
    const std::uint64_t before = heap_.reserved();
    const auto gone = heap_.release(keep);
    for (const segment& s : gone) {
      ASSERT_TRUE(std::find(clean.begin(), clean.end(), s.address) != clean.end());
      reference_.remove(s.address);
      absent_.push_back(s.address);
    }
    const std::uint64_t most = before > keep ? (before - keep) / segment_bytes : 0;
    EXPECT_EQ(gone.size(), std::min<std::uint64_t>(most, clean.size()));
  }

  void compare() {
    std::vector<reference::run> free;
    std::uint64_t bytes = 0, used = 0, blocks = 0, largest = 0;
    heap_.for_each([&](const block& b) {
      bytes += b.bytes;
      if (b.state.load() == block_state::free) {
        free.push_back({b.address, b.bytes, b.home->stream});
        largest = std::max(largest, b.bytes);
      } else {
        used += b.bytes;
        ++blocks;
      }
    });
    EXPECT_EQ(free, reference_.free_runs()) << "exactly the adjacent blocks are merged";
    EXPECT_EQ(bytes, reference_.bytes());
    EXPECT_EQ(heap_.reserved(), bytes);
    EXPECT_EQ(heap_.taken_bytes(), used);
    EXPECT_EQ(heap_.taken_blocks(), blocks);
    EXPECT_EQ(blocks, live_.size());
    EXPECT_EQ(heap_.free_blocks(), free.size());
    EXPECT_EQ(heap_.largest_free(), largest);
  }

  std::mt19937 random_;
  bool continuous_;
  pool_heap heap_;
  reference reference_;
  int last_owner_ = 0;
  std::vector<std::pair<block*, int>> live_;
  // Adjacent segments, so that continuous ones merge, and a separate segment.
  std::vector<std::uint64_t> absent_{base,
                                     base + segment_bytes,
                                     base + 2 * segment_bytes,
                                     base + 3 * segment_bytes,
                                     base + 4 * segment_bytes,
                                     base + (std::uint64_t{1} << 30)};
};

TEST(a_heap, does_as_the_reference_with_segments_apart) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_heap(seed, false).run(600);
  }
}

TEST(a_heap, does_as_the_reference_with_segments_that_join) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_heap(seed, true).run(600);
  }
}

TEST(a_heap, serves_a_block_from_two_segments_that_join) {
  pool_heap heap;
  heap.add({base, 8 * granule, 0, true});
  heap.add({base + 8 * granule, 8 * granule, 0, true});
  EXPECT_EQ(heap.largest_free(), 16 * granule);
  ASSERT_NE(heap.free_before(base + 16 * granule, heap.clean()), nullptr);
  EXPECT_EQ(heap.free_before(base + 16 * granule, heap.clean())->bytes, 16 * granule);
  EXPECT_EQ(heap.free_before(base + 8 * granule, heap.clean()), nullptr);
  block* b = heap.take(12 * granule, heap.clean());
  ASSERT_NE(b, nullptr);
  EXPECT_TRUE(heap.release(0).empty()) << "both are in use";
  block* rest = heap.take(4 * granule, heap.clean());
  heap.give(b, heap.clean());
  const auto gone = heap.release(0);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].address, base);
  EXPECT_EQ(heap.largest_free(), 4 * granule);
  heap.give(rest, heap.clean());
  EXPECT_EQ(heap.largest_free(), 8 * granule);
}

TEST(a_heap, knows_no_address_that_no_block_begins_at) {
  pool_heap heap;
  heap.add({base, 8 * granule, 0, false});
  EXPECT_NE(heap.find(base), nullptr);
  EXPECT_EQ(heap.find(base + granule), nullptr);
  EXPECT_EQ(heap.find(base + 1), nullptr);
  EXPECT_EQ(heap.find(0), nullptr);
  EXPECT_EQ(heap.find(~std::uint64_t{0}), nullptr);
  EXPECT_EQ(heap.find(base + (std::uint64_t{1} << 40)), nullptr);
}

}  // namespace
}  // namespace sluice::runtime::pooling
