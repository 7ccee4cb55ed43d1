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
  std::uint64_t begin = 0;  ///< Addresses.
  std::uint64_t end = 0;
  std::uint32_t segment = 0;
  std::uint32_t group = 0;  ///< Of segments: only holes of one group can serve the same requests.

  [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

/// A hole as an allocator chooses it: the smallest that is large enough, the lowest address among equals.
struct sized_hole {
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0;
  std::uint32_t segment = 0;

  friend bool operator<(const sized_hole& a, const sized_hole& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.begin < b.begin;
  }
};

/// The holes of all segments, by address and, for each group, by size. These hold after each call:
/// - Both orders have the same holes.
/// - No two holes overlap, and none is empty.
/// - Holes of one segment that touch are one hole.
/// Holes are handed out as copies, so that no change leaves a caller with a hole that is no longer there. Internal to
/// core/replay.
class holes {
 public:
  using by_size = std::set<sized_hole>;

  explicit holes(std::size_t groups) : sizes_(groups) {}

  /// Adds a hole, and joins it with those of its segment that touch it. Holes that it overlaps go: only a file that
  /// contradicts itself has them. Nothing happens if it is empty. O(log holes), more for holes that go.
  void put(const hole& made);
  /// Takes out the hole of `segment` that has the byte at `address`. O(log holes).
  std::optional<hole> take(std::uint64_t address, std::uint32_t segment);
  /// Takes out the holes of `segment` that begin in [`begin`, `end`). O(log holes), more for other holes there.
  void clear(std::uint64_t begin, std::uint64_t end, std::uint32_t segment);
  /// The holes of a group. Changes with the next call that is not const. O(1).
  [[nodiscard]] const by_size& of(std::uint32_t group) const { return sizes_[group]; }
  /// The first hole of a group that is not less than `least`. O(log holes).
  [[nodiscard]] std::optional<sized_hole> first_from(std::uint32_t group, const sized_hole& least) const;
  /// The first hole of a group that is greater than `before`. O(log holes).
  [[nodiscard]] std::optional<sized_hole> first_after(std::uint32_t group, const sized_hole& before) const;

 private:
  struct entry {
    hole is;
    by_size::const_iterator sized;  ///< The same hole in `sizes_`.
  };
  using by_address = std::map<std::uint64_t, entry>;  ///< The key is `begin`.

  [[nodiscard]] std::optional<sized_hole> at(std::uint32_t group, by_size::const_iterator place) const;
  by_address::iterator erase(by_address::iterator place);

  by_address holes_;
  std::vector<by_size> sizes_;
};

}  // namespace sluice::replay
