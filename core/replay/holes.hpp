#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace sluice::replay {

/// A free range of a segment.
struct hole {
  std::uint64_t begin = 0;  ///< The address at which the hole starts.
  std::uint64_t end = 0;
  std::uint32_t segment = 0;
  std::uint32_t group = 0;  ///< The group of the segment. Only holes of the same group can serve the same requests.

  [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

/// A hole, in the order in which the allocator chooses holes. The allocator takes the smallest hole that is large
/// enough. If several holes have that size, it takes the hole with the lowest address.
struct sized_hole {
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0;
  std::uint32_t segment = 0;

  friend bool operator<(const sized_hole& a, const sized_hole& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.begin < b.begin;
  }
};

/// The holes of all segments, sorted by address and, for each group, by size. Invariants after each call:
/// - Both orders contain the same holes.
/// - No two holes overlap, and no hole is empty.
/// - Adjacent holes of one segment are merged.
/// Holes are returned as copies, so callers never refer to a hole that was removed. Internal to core/replay.
class holes {
 public:
  using by_size = std::set<sized_hole>;

  explicit holes(std::size_t groups) : sizes_(groups) {}

  /// Adds a hole and merges it with adjacent holes of its segment. Removes holes that the new hole overlaps; there are
  /// such holes only if a file contradicts itself. Does nothing if the new hole is empty. O(log holes), plus the
  /// removed holes.
  void put(const hole& output);
  /// Takes out the hole of `segment` that contains `address`. Returns nothing if there is no such hole. O(log holes).
  std::optional<hole> take(std::uint64_t address, std::uint32_t segment);
  /// Removes the holes of `segment` that start in [`begin`, `end`). O(log holes), plus the other holes in that range.
  void clear(std::uint64_t begin, std::uint64_t end, std::uint32_t segment);
  /// The holes of a group. Invalidated by the next call of a non-const function. O(1).
  [[nodiscard]] const by_size& of(std::uint32_t group) const { return sizes_[group]; }
  /// Returns the first hole of a group, in the allocator's order, that is not before `least`. O(log holes).
  [[nodiscard]] std::optional<sized_hole> first_from(std::uint32_t group, const sized_hole& least) const;
  /// Returns the first hole of a group, in the allocator's order, that comes after `before`. O(log holes).
  [[nodiscard]] std::optional<sized_hole> first_after(std::uint32_t group, const sized_hole& before) const;

 private:
  struct entry {
    hole span;
    by_size::const_iterator sized;  ///< The entry of the same hole in `sizes_`.
  };
  using by_address = std::map<std::uint64_t, entry>;  ///< The key is the hole's `begin`.

  [[nodiscard]] std::optional<sized_hole> at(std::uint32_t group, by_size::const_iterator place) const;
  by_address::iterator erase(by_address::iterator place);

  by_address holes_;
  std::vector<by_size> sizes_;
};

}  // namespace sluice::replay
