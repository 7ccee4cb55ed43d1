#pragma once

#include <span>
#include <vector>

#include "core/index/curves.hpp"
#include "core/timeline/tile_grid.hpp"
#include "core/trace/file/writer.hpp"

/// The bins of tiles, from the curves and slices of an index.
namespace sluice::analysis {

/// What a curve does in one bin.
struct curve_bin {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  double last = 0;
};

/// A curve in all bins of a tile.
struct curve_bins {
  std::vector<curve_bin> bins;  ///< `trace::tile_bins` of them; none: `constant` throughout.
  double constant = 0;
  [[nodiscard]] curve_bin at(std::size_t bin) const {
    return bins.empty() ? curve_bin{constant, constant, constant, constant} : bins[bin];
  }
};

/// What slices do in one bin of a lane. See trace::lane_bin_row.
struct lane_bin {
  std::uint32_t count = 0;
  std::uint8_t kind = 0;
  std::uint8_t tag = 0;
  time_ns busy = 0;
  std::uint64_t bytes = 0;
  time_ns length = -1;  ///< Of the longest slice with a part in it; -1: there is none.
  trace::event_id event{};
  trace::string_id name{};
  [[nodiscard]] bool empty() const { return length < 0; }
  /// Takes in what comes after it, in a bin beside this one.
  void append(const lane_bin& later);
};
using lane_bins = std::vector<lane_bin>;  ///< `trace::tile_bins` of them, or none where the lane is empty.

/// A tile with all that is drawn: by place in the lists of curves and lanes.
struct filled_tile {
  std::vector<curve_bins> curves;
  std::vector<lane_bins> lanes;
};

/// The rows that name every lane, those of one owner together, the upper ones first.
[[nodiscard]] std::vector<trace::lane_row> lane_rows(std::span<const index_slices> slices);

/// Fills a tile from the curves and slices of an index that has all that happened in it; slices without an end last until
/// `end_of_all`. O(curves * bins * log events + slices in it).
[[nodiscard]] filled_tile fill_tile(const timeline::tile& where, std::span<const index_curve> curves,
                                    std::span<const index_slices> slices, time_ns end_of_all);

/// The tile over two neighbours, given in order of time. O(bins).
[[nodiscard]] filled_tile join_tiles(std::span<const filled_tile> parts);

/// Adds a tile's rows to a file: only bins that say something new.
void write_tile(trace::file_writer& to, const timeline::tile& where, const filled_tile& what);

}  // namespace sluice::analysis
