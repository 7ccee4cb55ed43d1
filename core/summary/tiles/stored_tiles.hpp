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

/// Reads a recording's curves and slices at any zoom from the tiles in its file. Cost depends on tiles, not on events.
namespace sluice::analysis {

/// Consecutive bins of 2^level ns.
struct bin_grid {
  time_ns begin = 0;  ///< A multiple of the bin length.
  unsigned level = 0;
  std::uint32_t count = 0;
  [[nodiscard]] time_ns bin() const { return time_ns{1} << level; }
  [[nodiscard]] time_range range() const { return {begin, begin + (static_cast<time_ns>(count) << level)}; }
};

/// How the bins of an answer compare with the requested ones. Bins are for drawing: no figure is computed from them.
enum class bin_detail : std::uint8_t {
  exact,  ///< As requested. From tiles: means exact to 1e-6 or 1/2048 of max - min, and busy time to 1/1024 of a bin.
  of_tiles,      ///< The narrowest bins in the file; narrower ones need a section's events.
  of_kept_tiles  ///< Bins of cached tiles; narrower ones must still be read from the file.
};

/// Where bins may come from.
struct bin_sources {
  /// Returns an index with all events for each of the given sections; null if none is available. Then the section's own
  /// tile bins, which are wider than requested, are used instead. Empty: no section has an index.
  std::function<std::vector<std::shared_ptr<const index>>(std::span<const std::size_t> sections)> sections{};
  /// True: a tile that is not cached is read. False: a cached tile up to 4 levels above, if any, replaces it.
  bool reads_tiles = true;
};

/// The tiles of one file, with a cache. Thread-safe. A tile has all curves and lanes of the recording, of which a view
/// draws some: the chunks that hold these are read, and the others not.
class stored_tiles {
 public:
  /// Null if the file has no usable tiles. If some are corrupt, the snapshot's `warnings` say why.
  static std::shared_ptr<const stored_tiles> of(std::shared_ptr<const trace::snapshot> trace,
                                                std::size_t cache_bytes = std::size_t{64} << 20);

  [[nodiscard]] const std::shared_ptr<const section_list>& sections() const { return sections_; }
  [[nodiscard]] std::span<const trace::curve_row> curves() const { return curves_; }
  /// The lanes (rows of slices). Lanes of one stream, direction or thread are adjacent, the upper ones first; their numbers
  /// need not be.
  [[nodiscard]] std::span<const trace::lane_row> lanes() const { return lanes_; }

  /// The bins over `range`, of the bin length nearest to range / `width` by ratio: 0.7 to 1.5 times `width` bins, plus
  /// 2, if `range` is more than a few ns. A range much longer than the recording is clipped to its surroundings.
  [[nodiscard]] bin_grid grid_over(time_range range, std::uint32_t width) const;

  /// The greatest length (ns) of a view, `width` pixels wide, that has smaller bins than the view of `range` has.
  [[nodiscard]] time_ns longest_of_smaller(time_range range, std::uint32_t width) const;

  /// The tiles whose bins a view of `grid` draws, in order, including those that can stand in for sections.
  [[nodiscard]] std::vector<timeline::tile> tiles_under(const bin_grid& grid) const;
  /// True if the view draws some sections from their indexes, when these are available.
  [[nodiscard]] bool draws_sections(const bin_grid& grid) const;
  /// The shortest length (ns) at which a view `width` pixels wide does not draw the section at `time`. O(log sections).
  [[nodiscard]] time_ns longest_of_sections(time_ns time, std::uint32_t width) const;
  /// True if `prepare` has nothing to read.
  [[nodiscard]] bool at_hand(const timeline::tile& which) const;
  /// Reads a tile before it is drawn. Of a tile in many chunks, only those with curves and lanes that were drawn in the
  /// last seconds. Returns false at once if they are cached or being read by another thread. Errors are not reported
  /// here: drawing the tile tries again.
  bool prepare(const timeline::tile& which) const;

  /// Keeps what `before`, of an earlier summary of the same growing recording, has in memory; what changed since is read. So that the
  /// next view need not begin with wider bins. O(tiles in memory), and the tiles read.
  void take_over(const stored_tiles& before) const;

  /// Returns the bins of `curves`. Raises `detail` if bins are wider than requested. Exact: minima, maxima, and means
  /// from sections (from tiles: see `bin_detail`). O(curves * (bins + tiles)), plus sections. Errors: io, corrupt.
  [[nodiscard]] result<std::vector<std::vector<sampled_bin>>> sample(std::span<const std::uint32_t> curves,
                                                                     const bin_grid& grid, const bin_sources& from,
                                                                     bin_detail& detail) const;

  /// Replaces `into` by the slices of one stream, direction or thread, whose first lane is `lanes()[first]`. Like
  /// `slice_set::draw`, merges neighbors in a bin. Sorted by start within a lane. Errors as for `sample`.
  [[nodiscard]] result<void> draw(std::uint32_t first, const bin_grid& grid, const bin_sources& from,
                                  bin_detail& detail, std::vector<timeline::drawn_slice>& into) const;

 private:
  /// A part of a grid with the source of its bins.
  struct piece {
    std::uint32_t first = 0;  ///< First bin in the grid.
    std::uint32_t count = 0;
    timeline::tile from;                   ///< The tile that has the bins, unless
    std::shared_ptr<const index> instead;  ///< the index of a section replaces it.
    std::optional<std::size_t> section;    ///< The section at this place, if the tile's bins are too wide.
    bool outside = false;                  ///< The piece is before the first tile or after the last.
  };
  /// Curves or lanes of a tile that are read together.
  struct part_key {
    timeline::tile which;
    tile_content content{};
    owner_range owners;
    friend auto operator<=>(const part_key&, const part_key&) = default;
    [[nodiscard]] bool is_in(const part_key& other) const { return *this == other; }
  };
  /// Curves or lanes that are drawn, in ascending order, each once.
  struct drawn_owners {
    tile_content content;
    std::vector<std::uint32_t> numbers;
  };
  /// What was read of a tile: the parts with the owners that are drawn.
  struct tile_view {
    std::vector<std::shared_ptr<const tile_rows>> parts;
    /// The part that holds a curve or lane; null if the tile has no rows of it.
    [[nodiscard]] const tile_rows* of(std::uint32_t number) const;
    [[nodiscard]] stored_bins<curve_bin> curve(std::uint32_t number) const;
  };
  using kept_tiles = shared_cache<part_key, tile_rows>;

  explicit stored_tiles(std::size_t cache_bytes)
      : kept_(
            cache_bytes, [this](const part_key& one) { return read(one); },
            [](const tile_rows& rows) { return rows.bytes(); }) {}
  [[nodiscard]] bool load();
  /// True if the file has tiles of `level`. Files of older versions lack some levels.
  [[nodiscard]] bool is_level(unsigned level) const { return (levels_ >> level & 1) != 0; }
  [[nodiscard]] std::vector<piece> cut(const bin_grid& grid) const;
  [[nodiscard]] std::vector<piece> pieces_of(const bin_grid& grid, const drawn_owners& of, const bin_sources& from,
                                             bin_detail& detail) const;
  [[nodiscard]] unsigned level_to_use(time_ns time, unsigned wanted, const drawn_owners& of, bool reads_tiles) const;
  /// The chunks of a tile, by their lowest curve or lane.
  [[nodiscard]] std::vector<trace::chunk_info> chunks_of(const timeline::tile& which, tile_content content) const;
  /// The parts of a tile, in order. One part has all where its chunks do not tell what they hold, as in older files.
  [[nodiscard]] std::vector<part_key> parts_in(const timeline::tile& which, tile_content content) const;
  /// The parts of a tile that hold some of the owners; none for an owner without rows.
  [[nodiscard]] std::vector<part_key> parts_of(const timeline::tile& which, const drawn_owners& of) const;
  /// The parts of a tile that `prepare` reads.
  [[nodiscard]] std::vector<part_key> parts_to_prepare(const timeline::tile& which) const;
  /// What each piece that is drawn from a tile needs of it; nothing for other pieces.
  [[nodiscard]] result<std::vector<tile_view>> views_of(std::span<const piece> pieces, const drawn_owners& of) const;
  [[nodiscard]] drawn_owners with_stacks_of(std::span<const std::uint32_t> curves) const;
  /// Notes for `prepare` that these are drawn now.
  void note_drawn(const drawn_owners& of) const;
  void sample_section(const index& from, time_range over, std::uint32_t count, std::span<const std::uint32_t> curves,
                      std::vector<std::vector<sampled_bin>>& all) const;
  void put_peaks(const tile_view& rows, std::size_t first, std::size_t several, std::size_t count,
                 std::span<const std::uint32_t> curves, std::vector<std::vector<sampled_bin>>& all) const;
  [[nodiscard]] kept_tiles::made read(const part_key& part) const;

  std::shared_ptr<const trace::snapshot> trace_;
  std::shared_ptr<const section_list> sections_;
  std::vector<trace::curve_row> curves_;
  std::optional<curve_stacks> stacks_;  ///< Of `curves_`.
  std::vector<trace::lane_row> lanes_;
  unsigned root_level_ = 0;
  std::uint64_t levels_ = 0;  ///< One bit for each level that has tiles.

  using drawn_times = std::vector<std::atomic<std::int64_t>>;
  mutable drawn_times curves_drawn_, lanes_drawn_;  ///< For each curve and lane: the steady time of `note_drawn`, or 0.
  mutable kept_tiles kept_;
};

}  // namespace sluice::analysis
