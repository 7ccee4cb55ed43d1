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
  std::uint64_t begin = 0;  ///< The address at which the block starts.
  std::uint64_t end = 0;
  std::uint32_t block = 0;
  std::uint32_t event = 0;  ///< The position of the event that freed the block.
};

/// Blocks that the program has freed. This class helps to determine whether another stream was still using a freed
/// block. A block is first added as possibly free. Once its addresses are used again, the caller takes the block out.
/// The caller can hold a block that it took out. A held block is not free until it is released. Invariants after each
/// call:
/// - No two possibly free blocks overlap, and no two held blocks overlap.
/// - The order by address and the order by event contain the same blocks.
/// Blocks are returned as copies. Internal to core/replay.
class freed_blocks {
 public:
  /// `begins`: the start addresses of all blocks that may be added, sorted.
  explicit freed_blocks(std::vector<std::uint64_t> begins) : begins_(std::move(begins)), events_(begins_.size()) {}

  /// Adds a block as possibly free. Removes the possibly free blocks that it overlaps. O(log blocks), plus the removed
  /// blocks.
  void add(const freed_block& block);
  /// Removes the possibly free blocks that overlap [`begin`, `end`). O(log blocks), plus the removed blocks.
  void forget(std::uint64_t begin, std::uint64_t end);
  /// Considers the possibly free blocks that start in [`begin`, `end`), and takes out the block that was freed last.
  /// O(log blocks).
  std::optional<freed_block> take_latest(std::uint64_t begin, std::uint64_t end);

  /// Holds a block that was taken out. If it overlaps a block that is already held, does nothing and returns false.
  /// O(log blocks).
  [[nodiscard]] bool hold(const freed_block& block);
  /// Returns the last event that freed one of the held blocks that overlap [`begin`, `end`). O(log blocks), plus these
  /// blocks.
  [[nodiscard]] std::optional<std::uint32_t> last_held(std::uint64_t begin, std::uint64_t end) const;
  /// Takes out the held block that was freed first, if the event that freed it is `until` or an earlier event. O(log
  /// blocks).
  std::optional<freed_block> release(std::uint32_t until);

 private:
  using by_address = std::map<std::uint64_t, freed_block>;  ///< The key is the block's `begin`.

  [[nodiscard]] std::size_t get_place(std::uint64_t begin) const;
  by_address::iterator erase(by_address::iterator block);

  std::vector<std::uint64_t> begins_;
  range_maximum events_;  ///< For each element of `begins_`, 1 plus the event of the block that starts there and is in
                          ///< `may_be_free_`.
  by_address may_be_free_;
  by_address held_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> held_order_;  ///< Pairs of event and start address, for the blocks
                                                                  ///< in `held_`.
};

}  // namespace sluice::replay
