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

/// Reads what a moving view is about to show, before anybody waits for it. Next: the tiles that it shows, and those of a further notch of
/// the zoom. Later: below all tiles the epochs that it shows, epochs shortly before the zoom comes to them, and tiles and epochs as far as
/// half a view beside it. Of the first view only what it shows itself, and its tiles: it may stay where it is. Thread-safe.
class read_ahead {
 public:
  read_ahead(std::shared_ptr<const analysis::stored_tiles> tiles, std::shared_ptr<analysis::part_cache> parts)
      : tiles_(std::move(tiles)), parts_(std::move(parts)) {}

  /// What there is now to read, and nobody reads.
  struct to_begin {
    bool next = false;  ///< `read_next` is to be called until it says no,
    bool later =
        false;  ///< and `read_later`, by another thread: an epoch takes as long as ten tiles, which are not to wait for it.
  };
  /// A view shows `range` on `width` pixels. One that stands still reads nothing ahead. O(width / bins of a tile).
  [[nodiscard]] to_begin look(time_range range, std::uint32_t width);

  /// Reads a tile that the last view shows, or that its next notch may show; false if none is left.
  [[nodiscard]] bool read_next();
  /// Reads an epoch, or a tile beside the view; false if none is left.
  [[nodiscard]] bool read_later();

 private:
  using epoch_number = std::size_t;
  using thing = std::variant<summaries::tile, epoch_number>;
  /// What is to be read, in this order.
  struct list {
    std::vector<thing> wanted;  ///< From `next` on.
    std::size_t next = 0;
    bool is_read = false;  ///< By somebody.

    void clear() { wanted.clear(), next = 0; }
    [[nodiscard]] bool begin() { return !wanted.empty() && !std::exchange(is_read, true); }
  };

  void want_tiles(time_range range, time_ns centre, std::uint32_t width, list& in) const;
  void want_epochs(time_range range, time_ns centre);
  [[nodiscard]] bool is_at_hand(const thing& which) const;
  [[nodiscard]] bool read_one(list& of);

  /// A view over more epochs is too far away: those it shows would not be those that are wanted.
  static constexpr std::size_t most_epochs = 24;
  /// A zoom comes to epochs soon where its view is so many times as long as the longest that draws them: some 15 notches.
  static constexpr time_ns soon = 64;

  const std::shared_ptr<const analysis::stored_tiles> tiles_;
  const std::shared_ptr<analysis::part_cache> parts_;
  std::mutex mutex_;  ///< Guards what follows; held for moments.
  std::optional<time_range> seen_;
  list next_;
  list later_;
};

}  // namespace sluice::query
