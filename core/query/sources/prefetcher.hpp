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

#include "core/base/time/time_range.hpp"
#include "core/summary/sections/section_cache.hpp"
#include "core/summary/tiles/stored_tiles.hpp"

namespace sluice::query {

/// Reads ahead what the timeline will show next, while the user zooms or pans. Views report what they show; the data
/// goes into the caches of tiles and sections. A tile is drawn data of a time span; a section is a time span's rows,
/// for views in which tiles are too coarse. Thread-safe.
///
/// Order of reading: (1) the data of the current view; (2) what the zoom leads to: the sections that the view will need
/// a few notches of the mouse wheel later, and the tiles with the next smaller bins; (3) the tiles, then the sections,
/// up to half a view to either side. For the first view, only (1) and the tiles with smaller bins are read.
class prefetcher {
 public:
  prefetcher(std::shared_ptr<const summary::stored_tiles> tiles, std::shared_ptr<summary::section_cache> parts)
      : tiles_(std::move(tiles)), parts_(std::move(parts)) {}

  /// Reports that a view shows `range` on `width` pixels. Returns true if there is data to read and no other caller is
  /// reading it; then the caller must call `work` until it returns false. A view that does not move causes no reads.
  /// O(width / bins per tile).
  [[nodiscard]] bool prefetch(time_range range, std::uint32_t width);

  /// Reads the next tile or section for the view reported last. Returns false if none is left.
  [[nodiscard]] bool work();

  /// Called by `work` between the chunks of a section, because reading a section takes as long as reading ten tiles.
  /// Reads the tiles that the last view shows, unless another thread reads them. After that, and only if they are due,
  /// reads one tile that the zoom approaches. Does nothing if the view is drawn from sections instead of tiles.
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

  /// If a view covers more sections than this, none is read ahead, because few of them would be needed.
  static constexpr std::size_t max_sections = 24;
  /// Sections are read ahead if the view is shorter than this many times the longest view that draws sections, which is
  /// some 24 zoom notches away. With 64, the first views after a quick zoom into a server's recording of 100 million
  /// events waited 5 ms for sections.
  static constexpr time_ns soon = 1024;
  /// While a section is read, it gets this many times the time that tiles outside of the view get, so that both are
  /// ready in time.
  static constexpr int section_to_tiles = 2;

  const std::shared_ptr<const summary::stored_tiles> tiles_;
  const std::shared_ptr<summary::section_cache> parts_;
  std::mutex mutex_;  ///< Guards the members below; held briefly.
  std::optional<time_range> seen_;
  double place_ = 0.5;         ///< Where in the view the last zoom was centred, 0..1: the cursor may still be there.
  std::vector<thing> wanted_;  ///< The data to read. Entries before `next_` have been read.
  std::size_t next_ = 0;
  tile_list urgent_;  ///< Tiles to read between chunks. Those before `next_urgent_` are done; `in_view_` are in view.
  std::size_t in_view_ = 0;
  std::size_t next_urgent_ = 0;
  steady::time_point turn_of_tiles_{};  ///< The earliest time to read the next tile outside of the view.
  bool working_ = false;
};

}  // namespace sluice::query
