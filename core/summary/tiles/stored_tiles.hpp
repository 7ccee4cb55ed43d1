#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/shared_cache.hpp"
#include "core/index/curves.hpp"
#include "core/summary/tiles/tile_rows.hpp"
#include "core/timeline/sampled_bin.hpp"
#include "core/timeline/tile_grid.hpp"
#include "core/trace/file/reader.hpp"

/// The curves and slices of a recording at any zoom, from the tiles in its file: what a view draws costs some tiles, not events.
namespace sluice::analysis {

/// Bins of 2^level ns, one after another.
struct bin_grid {
  time_ns begin = 0;  ///< A multiple of a bin.
  unsigned level = 0;
  std::uint32_t count = 0;
  [[nodiscard]] time_ns bin() const { return time_ns{1} << level; }
  [[nodiscard]] time_range range() const { return {begin, begin + (static_cast<time_ns>(count) << level)}; }
};

/// How narrow bins are beside those that were asked for.
enum class bin_detail : std::uint8_t {
  exact,  ///< As asked; of tiles means to a millionth, or a 2048th of their height above the minimum, and busy time to a 1024th of a bin: no figure is made of them.
  of_tiles,      ///< The narrowest that the file has: what lies below them would take a section's events.
  of_kept_tiles  ///< Those of tiles at hand: narrower ones are still to be read.
};

/// Where bins may come from.
struct bin_sources {
  /// Of each of some sections, by their places, an index that has all that happened in it; null if there is none at hand: then the section's
  /// own bins, which are wider than those asked for, stand for it. None: of no section.
  std::function<std::vector<std::shared_ptr<const index>>(std::span<const std::size_t> sections)> sections{};
  /// Tiles are read. Else, where one is not at hand but one of the two over it is, that one stands for it.
  bool reads_tiles = true;
};

/// Thread-safe.
class stored_tiles {
 public:
  /// Null if the file has none that can be used; what is wrong with some is in its `warnings` then.
  static std::shared_ptr<const stored_tiles> of(std::shared_ptr<const trace::snapshot> trace,
                                                std::size_t cache_bytes = std::size_t{64} << 20);

  [[nodiscard]] std::span<const trace::section_row> sections() const { return sections_; }
  [[nodiscard]] std::span<const trace::curve_row> curves() const { return curves_; }
  /// Those of one owner together, the upper ones first.
  [[nodiscard]] std::span<const trace::lane_row> lanes() const { return lanes_; }

  /// The bins over `range` whose length is nearest to a `width`-th of it: between 0.7 and 1.5 times `width`, plus 2, of them, but for
  /// ranges of so few ns that these are counted. Of a range far longer than the recording, only as much as is about it.
  [[nodiscard]] bin_grid grid_over(time_range range, std::uint32_t width) const;

  /// No view that is longer, in ns, has smaller bins than that of `range` has on `width` pixels; one of that length has.
  [[nodiscard]] time_ns longest_of_smaller(time_range range, std::uint32_t width) const;

  /// The tiles whose bins a view of `grid` draws, in order; those that stand for sections included.
  [[nodiscard]] std::vector<timeline::tile> tiles_under(const bin_grid& grid) const;
  /// Whether it draws some sections from their indexes, where these are at hand or may be read.
  [[nodiscard]] bool draws_sections(const bin_grid& grid) const;
  /// No view that is `width` pixels wide and as long as that, in ns, or longer draws the section at `time`. O(log sections).
  [[nodiscard]] time_ns longest_of_sections(time_ns time, std::uint32_t width) const;
  [[nodiscard]] bool at_hand(const timeline::tile& which) const { return kept_.at_hand({which}) != nullptr; }
  /// Reads a tile before it is drawn; false if it is at hand, or somebody reads it: never waits for that. What cannot be read is told to
  /// whoever draws it.
  bool prepare(const timeline::tile& which) const;

  /// The bins of some curves, by their numbers; a list for each. Raises `detail` where some bins are wider than asked. Exact: minimum
  /// and maximum of each bin, and from sections its mean; from tiles that is so to a 2048th of its height above the minimum, or to a millionth. O(curves * (bins + tiles)), and what sections cost. Errors: io, corrupt.
  [[nodiscard]] result<std::vector<std::vector<sampled_bin>>> sample(std::span<const std::uint32_t> curves,
                                                                     const bin_grid& grid, const bin_sources& from,
                                                                     bin_detail& detail) const;

  /// Replaces `into` by what to draw of the lanes of one owner, `first` and those after it, as slice_set::draw does: neighbours in a bin
  /// are merged. Sorted by begin within a lane. Errors as of `sample`.
  [[nodiscard]] result<void> draw(std::uint32_t first, const bin_grid& grid, const bin_sources& from,
                                  bin_detail& detail, std::vector<timeline::drawn_slice>& into) const;

 private:
  /// A part of a grid, and where its bins come from.
  struct piece {
    std::uint32_t first = 0;  ///< Bin of the grid.
    std::uint32_t count = 0;
    timeline::tile from;                   ///< Its bins, unless there is an
    std::shared_ptr<const index> instead;  ///< section's index.
    std::optional<std::size_t> section;    ///< That has them; none: the tile's are as asked.
    bool outside = false;                  ///< No tile is there: before the first or behind the last.
  };
  /// A chunk of a tile.
  struct tile_chunk {
    std::uint64_t tile;   ///< `key_of` it.
    std::uint32_t chunk;  ///< Among the summaries.
  };

  struct tile_key {
    timeline::tile which;
    friend auto operator<=>(const tile_key&, const tile_key&) = default;
    [[nodiscard]] bool is_in(const tile_key& other) const { return *this == other; }
  };
  using kept_tiles = shared_cache<tile_key, tile_rows>;

  explicit stored_tiles(std::size_t cache_bytes)
      : kept_(
            cache_bytes, [this](const tile_key& one) { return read(one.which); },
            [](const tile_rows& rows) { return rows.bytes(); }) {}
  [[nodiscard]] bool load();
  [[nodiscard]] bool find_tiles();
  [[nodiscard]] bool claims_too_many_rows() const;
  /// Whether the file has tiles of that level: not of all, if it is an old one.
  [[nodiscard]] bool is_level(unsigned level) const { return (levels_ >> level & 1) != 0; }
  /// The one at `time`, or the nearest.
  [[nodiscard]] std::size_t section_at(time_ns time) const;
  [[nodiscard]] std::vector<piece> cut(const bin_grid& grid) const;
  [[nodiscard]] std::vector<piece> pieces_of(const bin_grid& grid, const bin_sources& from, bin_detail& detail) const;
  [[nodiscard]] unsigned level_to_use(time_ns time, unsigned wanted, bool reads_tiles) const;
  /// The rows of each piece that is drawn from a tile; null for the others.
  [[nodiscard]] result<std::vector<std::shared_ptr<const tile_rows>>> rows_of(std::span<const piece> pieces) const;
  [[nodiscard]] kept_tiles::made read(const timeline::tile& which) const;
  [[nodiscard]] static std::uint64_t key_of(const timeline::tile& which);

  std::shared_ptr<const trace::snapshot> trace_;
  std::vector<trace::section_row> sections_;
  std::vector<trace::curve_row> curves_;
  std::vector<trace::lane_row> lanes_;
  unsigned root_level_ = 0;
  std::uint64_t levels_ = 0;        ///< A bit for each that tiles have.
  std::vector<tile_chunk> places_;  ///< By tile.

  mutable kept_tiles kept_;
};

}  // namespace sluice::analysis
