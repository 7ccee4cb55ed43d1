#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/analysis/part_cache.hpp"
#include "core/analysis/stored_tiles.hpp"
#include "core/analysis/time_range.hpp"

namespace sluice::query {

using analysis::time_ns;
using analysis::time_range;

/// Reads what a moving view is about to show, before anybody waits for it: the tiles in view, those that it will show as the zoom goes
/// on or turns to a side, and below all tiles the epochs in view and as far as half a view beside it. Those that are drawn now come first,
/// then what the zoom goes towards: smaller tiles, and epochs shortly before it comes to them. Of the first view only what it shows itself,
/// and its tiles: it may stay where it is. Thread-safe.
class read_ahead {
 public:
  read_ahead(std::shared_ptr<const analysis::stored_tiles> tiles, std::shared_ptr<analysis::part_cache> parts)
      : tiles_(std::move(tiles)), parts_(std::move(parts)) {}

  /// A view shows `range` on `width` pixels. True if there is now something to read and nobody does: then `work` is to be called until it
  /// says no. A view that stands still reads nothing ahead. O(width / bins of a tile).
  [[nodiscard]] bool look(time_range range, std::uint32_t width);

  /// Reads one tile or epoch of those that the last view is about; false if none is left.
  [[nodiscard]] bool work();

 private:
  using epoch_number = std::size_t;
  using thing = std::variant<summaries::tile, epoch_number>;

  void want_tiles(time_range range, time_ns centre, std::uint32_t width);
  void want_epochs(time_range range, time_ns centre);
  [[nodiscard]] bool is_at_hand(const thing& which) const;

  /// A view over more epochs is too far away: those it shows would not be those that are wanted.
  static constexpr std::size_t most_epochs = 24;
  /// A zoom comes to epochs soon where its view is so many times as long as the longest that draws them: some 15 notches.
  static constexpr time_ns soon = 64;

  const std::shared_ptr<const analysis::stored_tiles> tiles_;
  const std::shared_ptr<analysis::part_cache> parts_;
  std::mutex mutex_;  ///< Guards what follows; held for moments.
  std::optional<time_range> seen_;
  std::vector<thing> wanted_;  ///< From `next_` on.
  std::size_t next_ = 0;
  bool working_ = false;
};

}  // namespace sluice::query
