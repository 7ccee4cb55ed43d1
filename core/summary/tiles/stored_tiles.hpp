#pragma once

#include <atomic>
#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/shared_cache.hpp"
#include "core/index/curve_stacks.hpp"
#include "core/summary/sections/section_list.hpp"
#include "core/summary/tiles/tile_rows.hpp"
#include "core/timeline/sampled_bin.hpp"
#include "core/timeline/tile_grid.hpp"
#include "core/trace/file/reader.hpp"

/// Reads a recording's curves and slices at any zoom level from the tiles in its file. The cost depends on the number
/// of tiles, not on the number of events.
namespace sluice::summary {

/// Consecutive bins of 2^level ns.
struct bin_grid {
  time_ns begin = 0;  ///< Start of the first bin; a multiple of the bin length.
  unsigned level = 0;
  std::uint32_t count = 0;
  [[nodiscard]] time_ns bin() const { return time_ns{1} << level; }
  [[nodiscard]] time_range range() const { return {begin, begin + (static_cast<time_ns>(count) << level)}; }
};

/// How the bins of a result compare with the requested bins. Bins are for drawing only, and no metric is computed from
/// them.
enum class bin_detail : std::uint8_t {
  /// The bins are as wide as requested. If they come from tiles, means are exact to 1e-6 or 1/2048 of max - min, and
  /// busy time is exact to 1/1024 of a bin.
  exact,
  of_tiles,      ///< The narrowest bins in the file. Narrower bins require the events of a section.
  of_kept_tiles  ///< Bins of cached tiles. Narrower bins must first be read from the file.
};

/// The places from which bins may be taken.
struct bin_sources {
  /// Returns, for each of the given sections, an event store with all events of that section. If an event store is
  /// null, the section's own tile bins are used, which are wider than requested. If this function is empty, no section
  /// has an event store.
  std::function<std::vector<std::shared_ptr<const index::event_store>>(std::span<const std::size_t> sections)>
      sections{};
  /// If true, tiles that are not cached are read. If false, a cached tile up to 4 levels higher, if there is one,
  /// replaces a tile that is not cached.
  bool reads_tiles = true;
};

/// The tiles of one file, with a cache. A tile has all curves and lanes of the recording, but a view draws only some of
/// them, so only the chunks that contain these curves and lanes are read. Thread-safe.
class stored_tiles {
 public:
  /// Returns the tiles of a file; null if the file has no usable tiles. If some tiles are corrupt, the `warnings` of
  /// the snapshot say why.
  static std::shared_ptr<const stored_tiles> of(std::shared_ptr<const trace::snapshot> trace,
                                                std::size_t cache_bytes = std::size_t{64} << 20);

  [[nodiscard]] const std::shared_ptr<const section_list>& sections() const { return sections_; }
  [[nodiscard]] std::span<const trace::curve_row> curves() const { return curves_; }
  /// The lanes (rows of slices). Lanes of one stream, direction or thread are adjacent, upper lanes first; their
  /// numbers need not be consecutive.
  [[nodiscard]] std::span<const trace::lane_row> lanes() const { return lanes_; }

  /// Returns the grid over `range` whose bin length is closest to range / `width` by ratio. The grid has 0.7 to 1.5
  /// times `width` bins, plus 2, unless `range` is only a few ns long. If `range` is much longer than the recording, it
  /// is clipped to the recording and some space around it.
  [[nodiscard]] bin_grid grid_over(time_range range, std::uint32_t width) const;

  /// Returns the greatest length, in ns, of a view `width` pixels wide that has narrower bins than a view of `range`.
  [[nodiscard]] time_ns longest_of_smaller(time_range range, std::uint32_t width) const;

  /// Returns the tiles whose bins a view of `grid` draws, in order, including the tiles that can replace sections.
  [[nodiscard]] std::vector<timeline::tile> tiles_under(const bin_grid& grid) const;
  /// True if a view of `grid` draws some sections from their event stores when these are available.
  [[nodiscard]] bool draws_sections(const bin_grid& grid) const;
  /// Returns the shortest length, in ns, at which a view `width` pixels wide does not draw the section at `time`. O(log
  /// sections).
  [[nodiscard]] time_ns longest_of_sections(time_ns time, std::uint32_t width) const;
  /// True if `prepare` would have nothing to read for this tile.
  [[nodiscard]] bool at_hand(const timeline::tile& which) const;
  /// Reads a tile before it is drawn. If the tile has many chunks, reads only the chunks with curves and lanes that
  /// were drawn in the last few seconds. Returns false at once if these chunks are cached or another thread is reading
  /// them. Errors are not reported here, because drawing the tile tries again.
  bool prepare(const timeline::tile& which) const;

  /// Takes over the tiles that `before`, the tiles of an earlier summary of the same growing recording, has in memory,
  /// so that the next view need not start with wider bins. Reads what has changed since then. O(tiles in memory), plus
  /// the tiles read.
  void take_over(const stored_tiles& before) const;

  /// Returns the bins of `curves`. Raises `detail` if bins are wider than requested. Minima and maxima are exact, and
  /// so are means from sections (for means from tiles, see `bin_detail`). O(curves * (bins + tiles)), plus sections.
  /// Errors: io, corrupt.
  [[nodiscard]] result<std::vector<std::vector<timeline::sampled_bin>>> sample(std::span<const std::uint32_t> curves,
                                                                               const bin_grid& grid,
                                                                               const bin_sources& sources,
                                                                               bin_detail& detail) const;

  /// Sets `into` to the slices of one stream, direction or thread, whose first lane is `lanes()[first]`. Like
  /// `slice_set::draw`, merges neighbouring slices in a bin. The slices of a lane are sorted by start. Errors: those of
  /// `sample`.
  [[nodiscard]] result<void> draw(std::uint32_t first, const bin_grid& grid, const bin_sources& sources,
                                  bin_detail& detail, std::vector<timeline::drawn_slice>& into) const;

 private:
  /// A part of a grid whose bins come from one source.
  struct piece {
    std::uint32_t first = 0;  ///< Index of the piece's first bin in the grid.
    std::uint32_t count = 0;
    timeline::tile from;  ///< The tile that contains the bins.
    /// The event store of a section to use instead of the tile; may be null.
    std::shared_ptr<const index::event_store> instead;
    /// The section at this piece. Set only if the tile's bins are wider than requested.
    std::optional<std::size_t> section;
    /// True if the piece is before the first tile or after the last.
    bool outside = false;
  };
  /// Identifies the curves or lanes of a tile that are read together.
  struct part_key {
    timeline::tile which;
    tile_content content{};
    owner_range owners;
    friend auto operator<=>(const part_key&, const part_key&) = default;
    [[nodiscard]] bool is_in(const part_key& other) const { return *this == other; }
  };
  /// The numbers of the curves or lanes to draw, in ascending order, without duplicates.
  struct drawn_owners {
    tile_content content;
    std::vector<std::uint32_t> numbers;
  };
  /// The parts of a tile that contain the owners to draw.
  struct tile_view {
    std::vector<std::shared_ptr<const tile_rows>> parts;
    /// Returns the part that contains a curve or lane; null if the tile has no rows of that curve or lane.
    [[nodiscard]] const tile_rows* of(std::uint32_t number) const;
    [[nodiscard]] stored_bins<curve_bin> curve(std::uint32_t number) const;
  };
  using kept_tiles = shared_cache<part_key, tile_rows>;

  explicit stored_tiles(std::size_t cache_bytes)
      : kept_(
            cache_bytes, [this](const part_key& one) { return read(one); },
            [](const tile_rows& rows) { return rows.bytes(); }) {}
  [[nodiscard]] bool load();
  /// True if the file has tiles of `level`. Files written by older versions lack some levels.
  [[nodiscard]] bool is_level(unsigned level) const { return (levels_ >> level & 1) != 0; }
  [[nodiscard]] std::vector<piece> cut(const bin_grid& grid) const;
  [[nodiscard]] std::vector<piece> list_pieces(const bin_grid& grid, const drawn_owners& owners,
                                               const bin_sources& sources, bin_detail& detail) const;
  [[nodiscard]] unsigned level_to_use(time_ns time, unsigned wanted, const drawn_owners& owners,
                                      bool reads_tiles) const;
  /// Returns the chunks of a tile, sorted by their lowest curve or lane.
  [[nodiscard]] std::vector<trace::chunk_info> get_chunks(const timeline::tile& which, tile_content content) const;
  /// Returns the parts of a tile, in order. If the chunks do not say what they contain, as in older files, there is
  /// only one part.
  [[nodiscard]] std::vector<part_key> parts_in(const timeline::tile& which, tile_content content) const;
  /// Returns the parts of a tile that contain rows of some of the owners.
  [[nodiscard]] std::vector<part_key> get_parts(const timeline::tile& which, const drawn_owners& owners) const;
  /// Returns the parts of a tile that `prepare` reads.
  [[nodiscard]] std::vector<part_key> parts_to_prepare(const timeline::tile& which) const;
  /// Returns, for each piece that is drawn from a tile, the parts of the tile that the piece needs; an empty view for
  /// other pieces.
  [[nodiscard]] result<std::vector<tile_view>> list_views(std::span<const piece> pieces,
                                                          const drawn_owners& owners) const;
  [[nodiscard]] drawn_owners with_stacks_of(std::span<const std::uint32_t> curves) const;
  /// Records, for `prepare`, that these owners are being drawn.
  void note_drawn(const drawn_owners& owners) const;
  void sample_section(const index::event_store& store, time_range over, std::uint32_t count,
                      std::span<const std::uint32_t> curves,
                      std::vector<std::vector<timeline::sampled_bin>>& lists) const;
  void put_peaks(const tile_view& rows, std::size_t first, std::size_t several, std::size_t count,
                 std::span<const std::uint32_t> curves, std::vector<std::vector<timeline::sampled_bin>>& lists) const;
  [[nodiscard]] kept_tiles::made read(const part_key& part) const;

  std::shared_ptr<const trace::snapshot> trace_;
  std::shared_ptr<const section_list> sections_;
  std::vector<trace::curve_row> curves_;
  std::optional<index::curve_stacks> stacks_;  ///< The stacks of `curves_`.
  std::vector<trace::lane_row> lanes_;
  unsigned root_level_ = 0;
  std::uint64_t levels_ = 0;  ///< Has one bit for each level, set if the file has tiles of that level.

  using drawn_times = std::vector<std::atomic<std::int64_t>>;
  /// For each curve and lane, the steady-clock time of the last `note_drawn`, or 0.
  mutable drawn_times curves_drawn_, lanes_drawn_;
  mutable kept_tiles kept_;
};

}  // namespace sluice::summary
