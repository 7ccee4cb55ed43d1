#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/replay/range_maximum.hpp"

namespace sluice::replay {

/// A block that the program freed.
struct freed_block {
  std::uint64_t begin = 0;  ///< Addresses.
  std::uint64_t end = 0;
  std::uint32_t block = 0;
  std::uint32_t event = 0;  ///< The position of the event that freed it.
};

/// Blocks that the program freed, for the question whether another stream still used them. A block is added as one that
/// may be free. The caller takes it out once its addresses are used again, or holds it: then it is not free until it is
/// released. These hold after each call:
/// - No two of the blocks that may be free overlap, and no two of those that are held.
/// - Each order of the blocks has the same blocks: by address and by event.
/// Blocks are handed out as copies. Internal to core/replay.
class freed_blocks {
 public:
  /// `begins`: where the blocks begin that may be added, sorted.
  explicit freed_blocks(std::vector<std::uint64_t> begins) : begins_(std::move(begins)), events_(begins_.size()) {}

  /// Adds a block that may be free. Those that it overlaps go. O(log blocks), more for those that go.
  void add(const freed_block& made);
  /// Forgets the blocks that may be free and overlap [`begin`, `end`). O(log blocks), more for those that go.
  void forget(std::uint64_t begin, std::uint64_t end);
  /// Takes out the block that was freed last, of those that may be free and begin in [`begin`, `end`). O(log blocks).
  std::optional<freed_block> take_latest(std::uint64_t begin, std::uint64_t end);

  /// Holds a block that was taken out. False, and nothing happens, if it overlaps a held one. O(log blocks).
  [[nodiscard]] bool hold(const freed_block& of);
  /// The last event that freed a held block which overlaps [`begin`, `end`). O(log blocks), more for blocks there.
  [[nodiscard]] std::optional<std::uint32_t> last_held(std::uint64_t begin, std::uint64_t end) const;
  /// Takes out the held block that was freed first, if that was at the event `until` or before. O(log blocks).
  std::optional<freed_block> release(std::uint32_t until);

 private:
  using by_address = std::map<std::uint64_t, freed_block>;  ///< The key is `begin`.

  [[nodiscard]] std::size_t place_of(std::uint64_t begin) const;
  by_address::iterator erase(by_address::iterator block);

  std::vector<std::uint64_t> begins_;
  range_maximum events_;  ///< For each of `begins_` the event of the block in `may_be_free_`, plus 1.
  by_address may_be_free_;
  by_address held_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> held_order_;  ///< Events and begins of `held_`.
};

}  // namespace sluice::replay
