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

/// Reads from the file what a moving view will show next: tiles in view, tiles where a zoom or pan leads, and, where
/// tiles are too coarse, sections in view and half a view beside it. Order: what is drawn now, then what the zoom
/// approaches (sections some notches ahead, tiles of the next smaller bins), then the rest. For a first view, only what
/// it shows and those smaller tiles. Thread-safe.
///
/// Reading a section takes as long as ten tiles; tiles that views need meanwhile are read between its chunks.
class prefetcher {
 public:
  prefetcher(std::shared_ptr<const analysis::stored_tiles> tiles, std::shared_ptr<analysis::section_cache> parts)
      : tiles_(std::move(tiles)), parts_(std::move(parts)) {}

  /// Reports that a view shows `range` on `width` pixels. Returns true if there is something to read and no caller
  /// reads: then call `work` until it returns false. A view that stands still reads nothing. O(width / bins of a tile).
  [[nodiscard]] bool look(time_range range, std::uint32_t width);

  /// Reads the next tile or section for the last view; false if none is left.
  [[nodiscard]] bool work();

  /// Called by `work` between the chunks of a section. Reads the tiles that the last view shows and no thread reads,
  /// then, if it is their turn, one that the zoom approaches. Reads nothing if the view draws sections.
  void read_urgent_tiles();

 private:
  using steady = std::chrono::steady_clock;
  using section_number = std::size_t;
  using tile_list = std::vector<timeline::tile>;
  using thing = std::variant<timeline::tile, section_number>;

  [[nodiscard]] tile_list tiles_over(time_range range, time_ns centre, std::uint32_t width) const;
  void want(const tile_list& more) { wanted_.insert(wanted_.end(), more.begin(), more.end()); }
  void want_sections(time_range range, time_ns centre);
  /// Returns false if `which` is already cached or being read.
  bool read(const thing& which);

  /// If a view covers more sections than this, none is read ahead: few of them would be needed.
  static constexpr std::size_t most_sections = 24;
  /// Sections are read ahead if the view is less than this many times the longest view that draws them: some 24 zoom
  /// notches. With 64, zooming quickly into a server's 100 million events, the first such views waited 5 ms for them.
  static constexpr time_ns soon = 1024;
  /// Between chunks, a section gets this many times as long as tiles that no view shows yet, so that both come in time.
  static constexpr int section_to_tiles = 2;

  const std::shared_ptr<const analysis::stored_tiles> tiles_;
  const std::shared_ptr<analysis::section_cache> parts_;
  std::mutex mutex_;  ///< Guards the members below; held briefly.
  std::optional<time_range> seen_;
  double place_ = 0.5;         ///< Where in the view the last zoom went, 0..1 of it: the cursor may still be there.
  std::vector<thing> wanted_;  ///< What to read, from `next_` on.
  std::size_t next_ = 0;
  tile_list urgent_;  ///< Tiles to read between chunks, from `next_urgent_` on; the view shows the first `in_view_`.
  std::size_t in_view_ = 0;
  std::size_t next_urgent_ = 0;
  steady::time_point turn_of_tiles_{};  ///< When the next tile that the view does not show may be read.
  bool working_ = false;
};

}  // namespace sluice::query
