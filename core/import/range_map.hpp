#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace sluice::importing {

/// Ranges of addresses that do not overlap, each with an owner. Finds the range that contains an address.
template <class Owner>
class range_map {
 public:
  struct range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Owner owner{};
  };

  /// Adds the range [begin, end), which must not overlap any other range. Ignores empty ranges.
  void add(std::uint64_t begin, std::uint64_t end, Owner owner) {
    if (begin < end) ranges_[begin] = {begin, end, owner};
  }

  /// Returns the range that contains `address`, or null if there is none. O(log n).
  [[nodiscard]] const range* find(std::uint64_t address) const {
    auto above = ranges_.upper_bound(address);
    if (above == ranges_.begin()) return nullptr;
    const range& below = std::prev(above)->second;
    return address < below.end ? &below : nullptr;
  }

  /// Removes and returns every range that overlaps [begin, end), including its parts outside. O(log n + removed
  /// ranges).
  std::vector<range> take(std::uint64_t begin, std::uint64_t end) {
    std::vector<range> taken;
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second.end > begin) --at;
    while (at != ranges_.end() && at->first < end) {
      taken.push_back(at->second);
      at = ranges_.erase(at);
    }
    return taken;
  }

  /// Returns the parts of [begin, end) that are outside of all ranges. O(log n + overlapping ranges).
  [[nodiscard]] std::vector<range> gaps(std::uint64_t begin, std::uint64_t end) const {
    std::vector<range> free;
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second.end > begin) --at;
    for (; at != ranges_.end() && at->first < end; ++at) {
      if (at->second.begin > begin) free.push_back({begin, at->second.begin, Owner{}});
      begin = at->second.end;
    }
    if (begin < end) free.push_back({begin, end, Owner{}});
    return free;
  }

  [[nodiscard]] auto begin() const { return ranges_.begin(); }
  [[nodiscard]] auto end() const { return ranges_.end(); }

 private:
  std::map<std::uint64_t, range> ranges_;
};

}  // namespace sluice::importing
