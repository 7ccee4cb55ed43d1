#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/summary/sections/section_cache.hpp"
#include "core/summary/tiles/stored_tiles.hpp"
#include "core/timeline/time_range.hpp"

namespace sluice::query {

using analysis::time_ns;
using analysis::time_range;

/// Reads what a moving view is about to show, before anybody waits for it: the tiles in view, those that it will show as the zoom goes
/// on or turns to a side, and below all tiles the sections in view and as far as half a view beside it. Those that are drawn now come first,
/// then what the zoom goes towards: sections, some notches before it comes to them, and the tiles of the next smaller bins. Of the first view
/// only what it shows itself, and those tiles: it may stay where it is. Thread-safe.
///
/// A section takes as long as ten tiles. While it is read, views go on, and need tiles at once: those are read between its chunks.
class prefetcher {
 public:
  prefetcher(std::shared_ptr<const analysis::stored_tiles> tiles, std::shared_ptr<analysis::section_cache> parts)
      : tiles_(std::move(tiles)), parts_(std::move(parts)) {}

  /// A view shows `range` on `width` pixels. True if there is now something to read and nobody does: then `work` is to be called until it
  /// says no. A view that stands still reads nothing ahead. O(width / bins of a tile).
  [[nodiscard]] bool look(time_range range, std::uint32_t width);

  /// Reads one tile or section of those that the last view is about; false if none is left.
  [[nodiscard]] bool work();

  /// What `work` does between the chunks of a section: reads the tiles that the last view shows and nobody reads, and where there is time
  /// one of those that the zoom comes to. Nothing, if the view shows sections itself.
  void read_urgent_tiles();

 private:
  using steady = std::chrono::steady_clock;
  using section_number = std::size_t;
  using tile_list = std::vector<timeline::tile>;
  using thing = std::variant<timeline::tile, section_number>;

  [[nodiscard]] tile_list tiles_over(time_range range, time_ns centre, std::uint32_t width) const;
  void want(const tile_list& more) { wanted_.insert(wanted_.end(), more.begin(), more.end()); }
  void want_sections(time_range range, time_ns centre);
  /// False if there is nothing to read.
  bool read(const thing& which);

  /// A view over more sections is too far away: those it shows would not be those that are wanted.
  static constexpr std::size_t most_sections = 24;
  /// A zoom comes to sections soon where its view is so many times as long as the longest that draws them: some 24 notches. Zooming a
  /// server's recording of 100 million events without a pause, with 64 the first views that draw sections waited 5 ms for them.
  static constexpr time_ns soon = 1024;
  /// Between chunks a section has so many times as long as tiles that no view shows yet: both are to be there in time.
  static constexpr int section_to_tiles = 2;

  const std::shared_ptr<const analysis::stored_tiles> tiles_;
  const std::shared_ptr<analysis::section_cache> parts_;
  std::mutex mutex_;  ///< Guards what follows; held for moments.
  std::optional<time_range> seen_;
  double place_ = 0.5;         ///< Where in the view the last zoom went, 0..1 of it: the cursor may still be there.
  std::vector<thing> wanted_;  ///< From `next_` on.
  std::size_t next_ = 0;
  tile_list urgent_;  ///< In between, from `next_urgent_` on: the first `in_view_` are those that the view shows.
  std::size_t in_view_ = 0;
  std::size_t next_urgent_ = 0;
  steady::time_point turn_of_tiles_{};  ///< When one of the others is to be read in between.
  bool working_ = false;
};

}  // namespace sluice::query
