#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/replay/policy.hpp"

namespace sluice::replay {

/// A slow, simple implementation of PyTorch's native allocator rules, with lists of ranges that are searched linearly.
class slow_allocator {
 public:
  /// Called with true when a segment is allocated and with false when it is released; then its address and size.
  std::function<void(bool, std::uint64_t, std::uint64_t)> on_segment = [](bool, std::uint64_t, std::uint64_t) {};
  std::uint64_t limit = no_limit;  ///< Maximum number of bytes in segments.
  std::uint64_t reserved = 0, peak = 0, retries = 0;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> place;  ///< Address and size of each block.

  /// Returns false if the block would exceed the limit.
  bool allocate(std::uint32_t block, std::uint64_t bytes, std::uint16_t arena) {
    const std::uint64_t size = (std::max<std::uint64_t>(bytes, 1) + 511) / 512 * 512;
    const bool small = size <= mib;
    const auto [in, at] = find(size, arena, small);
    if (in != none) {
      put(in, at, block, size);
      return true;
    }
    const std::uint64_t wanted = small             ? 2 * mib
                                 : size < 10 * mib ? 20 * mib
                                                   : (size + 2 * mib - 1) / (2 * mib) * (2 * mib);
    if (reserved + wanted > limit) {
      ++retries;
      empty_cache();
    }
    if (reserved + wanted > limit) return false;
    segments_.push_back({arena, small, {{next_, wanted, free_range}}});
    on_segment(true, next_, wanted);
    next_ += wanted;
    reserved += wanted;
    peak = std::max(peak, reserved);
    put(segments_.size() - 1, 0, block, size);
    return true;
  }

  void free(std::uint32_t block) {
    for (segment& each : segments_) {
      auto& ranges = each.ranges;
      for (range& r : ranges)
        if (r.owner == block) r.owner = free_range;
      for (std::size_t i = 1; i < ranges.size();) {
        if (ranges[i - 1].owner != free_range || ranges[i].owner != free_range) {
          ++i;
          continue;
        }
        ranges[i - 1].bytes += ranges[i].bytes;
        ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  void empty_cache() {
    std::erase_if(segments_, [&](const segment& each) {
      const bool goes = each.ranges.size() == 1 && each.ranges.front().owner == free_range;
      if (!goes) return false;
      reserved -= each.ranges.front().bytes;
      on_segment(false, each.ranges.front().address, each.ranges.front().bytes);
      return true;
    });
  }

 private:
  static constexpr std::int64_t free_range = -1;
  static constexpr std::size_t none = ~std::size_t{0};
  struct range {
    std::uint64_t address, bytes;
    std::int64_t owner;
  };
  struct segment {
    std::uint16_t arena;
    bool small;
    std::vector<range> ranges;
  };

  /// The indices of the segment and of its free range that fit best.
  [[nodiscard]] std::pair<std::size_t, std::size_t> find(std::uint64_t size, std::uint16_t arena, bool small) const {
    std::pair<std::size_t, std::size_t> best{none, none};
    std::pair<std::uint64_t, std::uint64_t> least{no_limit, no_limit};
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (segments_[i].arena != arena || segments_[i].small != small) continue;
      for (std::size_t j = 0; j < segments_[i].ranges.size(); ++j) {
        const range& r = segments_[i].ranges[j];
        if (r.owner != free_range || r.bytes < size || std::pair(r.bytes, r.address) >= least) continue;
        least = {r.bytes, r.address};
        best = {i, j};
      }
    }
    return best;
  }

  void put(std::size_t in, std::size_t at, std::uint32_t block, std::uint64_t size) {
    auto& segments = segments_[in].ranges;
    const std::uint64_t rest = segments[at].bytes - size;
    if (segments_[in].small ? rest >= 512 : rest > mib) {
      segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                      {segments[at].address + size, rest, free_range});
      segments[at].bytes = size;
    }
    segments[at].owner = block;
    place[block] = {segments[at].address, segments[at].bytes};
  }

  std::vector<segment> segments_;
  std::uint64_t next_ = std::uint64_t{1} << 60;
};

}  // namespace sluice::replay
