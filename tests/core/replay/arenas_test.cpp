#include "core/replay/arenas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/replay/policy.hpp"
#include "tests/core/replay/slow_arenas.hpp"

namespace sluice::replay {
namespace {

/// Synthetic events of an allocator.
class stream {
 public:
  std::uint32_t segment(std::uint64_t address, std::uint64_t bytes, bool mapped = false, std::uint64_t key = 0) {
    created.segments.push_back({address, bytes, mapped, key});
    return static_cast<std::uint32_t>(created.segments.size() - 1);
  }
  std::uint32_t take(std::uint64_t address, std::uint64_t bytes) {
    const std::uint32_t at = segment(address, bytes);
    put(recorded_kind::segment_taken, at);
    return at;
  }
  void give_back(std::uint32_t segment) { put(recorded_kind::segment_given_back, segment); }
  std::uint32_t block(std::uint64_t address, std::uint64_t bytes, std::uint32_t segment) {
    created.blocks.push_back({address, bytes, trace::block_id{created.blocks.size() + 1}, segment});
    return static_cast<std::uint32_t>(created.blocks.size() - 1);
  }
  std::uint32_t allocate(std::uint64_t address, std::uint64_t bytes, std::uint32_t segment) {
    const std::uint32_t at = block(address, bytes, segment);
    put(recorded_kind::allocated, at);
    return at;
  }
  void free(std::uint32_t block) { put(recorded_kind::freed, block); }
  void put(recorded_kind kind, std::uint32_t at) {
    const std::uint64_t order = created.events.size();
    created.events.push_back({static_cast<trace::time_ns>(order), order, kind, at});
  }

  recorded_events created;
};

TEST(arenas, forget_the_blocks_of_a_segment_that_was_given_back) {
  stream whole;
  const std::uint32_t first = whole.take(0, 20 * mib);
  whole.free(whole.allocate(0, 12 * mib, first));
  whole.give_back(first);
  const std::uint32_t again = whole.take(0, 20 * mib);
  const std::uint32_t block = whole.allocate(0, 20 * mib, again);
  for (const explanation by : {explanation::arenas, explanation::delays}) {
    const inferred_arenas found = infer_arenas(whole.created, by);
    EXPECT_EQ(found.free_at, (std::vector<std::uint32_t>{no_delay, no_delay})) << "no other block was free instead";
    EXPECT_EQ(found.min_asked[block], 19 * mib) << "the segment was free as a whole";
    EXPECT_EQ(found.peak_reserved, 20 * mib);
    EXPECT_EQ(found.driver_calls, 3U);
    EXPECT_EQ(found.count, 1U);
  }
}

TEST(arenas, hold_a_block_that_another_stream_still_used) {
  stream whole;
  const std::uint32_t first = whole.take(0, 20 * mib);
  const std::uint32_t late = whole.allocate(0, 12 * mib, first);
  whole.free(late);
  const std::uint32_t second = whole.take(100 * mib, 20 * mib);
  whole.allocate(100 * mib, 12 * mib, second);
  const auto used_again = static_cast<std::uint32_t>(whole.created.events.size());
  whole.allocate(0, 12 * mib, first);
  EXPECT_EQ(infer_arenas(whole.created, explanation::delays).free_at,
            (std::vector<std::uint32_t>{used_again, no_delay, no_delay}));
  EXPECT_EQ(infer_arenas(whole.created, explanation::arenas).of_segment, (std::vector<std::uint16_t>{0, 1}));
}

TEST(arenas, ignore_what_a_block_or_segment_has_behind_it) {
  stream whole;
  const std::uint32_t in = whole.take(0, 20 * mib);
  whole.put(recorded_kind::segment_taken, in);
  const std::uint32_t block = whole.allocate(0, 12 * mib, in);
  whole.free(block);
  whole.free(block);
  whole.put(recorded_kind::allocated, block);
  whole.give_back(in);
  whole.give_back(in);
  const inferred_arenas found = infer_arenas(whole.created, explanation::delays);
  EXPECT_EQ(found.peak_reserved, 20 * mib);
  EXPECT_EQ(found.peak_segments, 1U);
  EXPECT_EQ(found.driver_calls, 2U);
}

/// Random events of an allocator that takes, splits and releases segments at few addresses, so that addresses repeat.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) : random_(seed) {
    // Includes the end of the address space: sums must not overflow.
    base_ = seed % 5 == 4 ? no_limit - 40 * mib : (seed % 3) * mib;
  }

  recorded_events make(std::size_t events) {
    while (all_.created.events.size() < events) step();
    return std::move(all_.created);
  }

 private:
  struct taken_segment {
    std::uint32_t at;
    std::vector<std::uint32_t> live;
  };

  std::uint64_t below(std::uint64_t most) { return random_() % most; }

  void step() {
    const std::uint64_t dice = below(100);
    if (taken_.empty() || dice < 6) return take();
    if (dice < 12) return give_back();
    if (dice < 13) return all_.put(recorded_kind::refused, 0);
    const std::size_t which = below(taken_.size());
    if (taken_[which].live.empty() || dice < 58) return allocate(taken_[which]);
    free(taken_[which]);
  }

  [[nodiscard]] bool is_free(std::uint64_t begin, std::uint64_t end) const {
    return std::none_of(taken_.begin(), taken_.end(), [&](const taken_segment& each) {
      const recorded_segment& segment = all_.created.segments[each.at];
      return segment.address < end && begin < segment.address + segment.bytes;
    });
  }

  void take() {
    static constexpr std::uint64_t sizes[] = {2 * mib, 2 * mib, 4 * mib, 8 * mib, 20 * mib};
    const std::uint64_t bytes = sizes[below(std::size(sizes))];
    const std::uint64_t address = base_ + below(18) * 2 * mib;
    if (address + bytes < address || !is_free(address, address + bytes)) return;
    const std::uint32_t at = all_.segment(address, bytes, below(12) == 0, below(8) == 0 ? 1 : 0);
    all_.put(recorded_kind::segment_taken, at);
    taken_.push_back({at, {}});
  }

  void give_back() {
    const std::size_t which = below(taken_.size());
    if (!taken_[which].live.empty()) {  // Frees its blocks first, so that segments are released and taken again.
      if (below(2) == 0) free(taken_[which]);
      return;
    }
    all_.give_back(taken_[which].at);
    taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  /// Allocates a block at the first free address of the segment, or sometimes after that address.
  void allocate(taken_segment& in) {
    const recorded_segment segment = all_.created.segments[in.at];
    const std::uint64_t most = segment.bytes <= 2 * mib ? mib : segment.bytes;
    const std::uint64_t bytes = below(6) == 0 ? most : 512 * (1 + below(most / 512));
    std::uint64_t at = segment.address + (below(10) == 0 ? below(segment.bytes / 512) * 512 : 0);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
    for (const std::uint32_t each : in.live)
      live.emplace_back(all_.created.blocks[each].address,
                        all_.created.blocks[each].address + all_.created.blocks[each].bytes);
    std::sort(live.begin(), live.end());
    for (const auto& [begin, end] : live)
      if (begin < at + bytes && at < end) at = end;
    if (at + bytes > segment.address + segment.bytes) return;
    in.live.push_back(all_.allocate(at, bytes, in.at));
  }

  void free(taken_segment& in) {
    const std::size_t which = below(in.live.size());
    all_.free(in.live[which]);
    in.live.erase(in.live.begin() + static_cast<std::ptrdiff_t>(which));
  }

  std::mt19937_64 random_;
  std::uint64_t base_ = 0;
  std::vector<taken_segment> taken_;
  stream all_;
};

/// Makes a stream contradict itself: events that are missing, repeated or too early, and wrong sizes and addresses.
void contradict(recorded_events& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t most) { return random() % most; };
  for (std::size_t i = 0; i < 1 + in.events.size() / 20; ++i) {
    const std::size_t at = below(in.events.size());
    recorded_block& block = in.blocks[below(in.blocks.size())];
    recorded_segment& segment = in.segments[below(in.segments.size())];
    switch (below(8)) {
      case 0:
        std::swap(in.events[at], in.events[below(in.events.size())]);
        break;
      case 1:
        in.events.push_back(in.events[at]);
        std::rotate(in.events.begin() + static_cast<std::ptrdiff_t>(below(in.events.size())), in.events.end() - 1,
                    in.events.end());
        break;
      case 2:
        in.events.erase(in.events.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 3:
        block.address = in.blocks[below(in.blocks.size())].address + below(3) * mib / 2;
        break;
      case 4:
        block.bytes = below(2) == 0 ? below(40 * mib) : std::uint64_t{1} << 52;
        break;
      case 5:
        block.segment = below(4) == 0 ? no_segment : static_cast<std::uint32_t>(below(in.segments.size()));
        break;
      case 6:
        segment.address = in.segments[below(in.segments.size())].address + below(3) * mib;
        break;
      default:
        segment.bytes = below(5) == 0 ? 0 : below(30 * mib);
        break;
    }
  }
}

bool is_same(const emptying& a, const emptying& b) {
  return a.event == b.event && a.given == b.given && a.kept == b.kept && a.reserved_before == b.reserved_before &&
         a.taken_next == b.taken_next && a.refused == b.refused;
}

void expect_as_reference(const recorded_events& events, const std::string& subject) {
  for (const explanation by : {explanation::arenas, explanation::delays}) {
    SCOPED_TRACE(subject + (by == explanation::arenas ? ", arenas" : ", delays"));
    const inferred_arenas found = infer_arenas(events, by);
    const inferred_arenas slow = slow_arenas(events, by).infer();
    ASSERT_EQ(found.free_at, slow.free_at);
    ASSERT_EQ(found.min_asked, slow.min_asked);
    ASSERT_EQ(found.of_segment, slow.of_segment);
    ASSERT_EQ(found.count, slow.count);
    ASSERT_TRUE(std::equal(found.emptyings.begin(), found.emptyings.end(), slow.emptyings.begin(), slow.emptyings.end(),
                           is_same));
    ASSERT_EQ(found.peak_reserved, slow.peak_reserved);
    ASSERT_EQ(found.peak_segments, slow.peak_segments);
    ASSERT_EQ(found.driver_calls, slow.driver_calls);
  }
}

TEST(arenas, are_those_of_a_slow_reference) {
  std::size_t held = 0;
  std::size_t apart = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const recorded_events events = random_stream(seed).make(40 + seed);
    ASSERT_NO_FATAL_FAILURE(expect_as_reference(events, "seed " + std::to_string(seed)));
    const inferred_arenas found = infer_arenas(events, explanation::delays);
    held += static_cast<std::size_t>(
        std::count_if(found.free_at.begin(), found.free_at.end(), [](std::uint32_t at) { return at != no_delay; }));
    apart += infer_arenas(events, explanation::arenas).count > 4 ? 1 : 0;
  }
  EXPECT_GT(held, 1000U) << "the streams must hold blocks";
  EXPECT_GT(apart, 50U) << "the streams must have many arenas";
}

TEST(arenas, are_those_of_a_slow_reference_although_a_stream_contradicts_itself) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    recorded_events events = random_stream(seed).make(30 + seed / 2);
    if (events.blocks.empty()) continue;
    contradict(events, seed);
    ASSERT_NO_FATAL_FAILURE(expect_as_reference(events, "seed " + std::to_string(seed)));
  }
}

}  // namespace
}  // namespace sluice::replay
