#pragma once

#include <span>
#include <vector>

#include "core/index/curve_stacks.hpp"
#include "core/timeline/tile_grid.hpp"
#include "core/trace/file/writer.hpp"

/// Computes the bins of tiles from the curves and slices of an index.
namespace sluice::analysis {

/// The values of a curve in one bin.
struct curve_bin {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  double last = 0;
  double at_peak = 0;  ///< As in `sampled_bin`.
};

/// The values of a curve in all bins of a tile.
struct curve_bins {
  std::vector<curve_bin> bins;  ///< `trace::tile_bins` bins; if empty, the curve is `constant`.
  double constant = 0;
  [[nodiscard]] curve_bin at(std::size_t bin) const {
    return bins.empty() ? curve_bin{constant, constant, constant, constant, constant} : bins[bin];
  }
};

/// The slices in one bin of a lane. See trace::lane_bin_row.
struct lane_bin {
  std::uint32_t count = 0;
  std::uint8_t kind = 0;
  std::uint8_t tag = 0;
  time_ns busy = 0;
  std::uint64_t bytes = 0;
  time_ns length = -1;  ///< In ns, of the longest slice that overlaps the bin; -1 if there is none.
  trace::event_id event{};
  trace::string_id name{};
  [[nodiscard]] bool empty() const { return length < 0; }
  /// Merges `later`, a bin later in time, into this bin.
  void append(const lane_bin& later);
};
using lane_bins = std::vector<lane_bin>;  ///< `trace::tile_bins` bins; empty if the lane is empty.

/// The bins of a tile. Curves and lanes are in the order of the recording's lists of curves and lanes.
struct filled_tile {
  std::vector<curve_bins> curves;
  std::vector<lane_bins> lanes;
};

/// One row for each lane (row of slices). Lanes of one stream, direction or thread are adjacent, the upper ones first.
[[nodiscard]] std::vector<trace::lane_row> lane_rows(std::span<const index_slices> slices);

/// Fills a tile with the bins of an index's curves and slices; the index must contain all events in the tile. Slices
/// without an end last until `end_of_all`. O(curves * bins * log events + slices in the tile).
[[nodiscard]] filled_tile fill_tile(const timeline::tile& where, std::span<const index_curve> curves,
                                    const curve_stacks& stacks, std::span<const index_slices> slices,
                                    time_ns end_of_all);

/// Merges neighboring tiles, in order of time, into one tile with wider bins. O(bins).
[[nodiscard]] filled_tile join_tiles(std::span<const filled_tile> parts, const curve_stacks& stacks);

/// Writes a tile's rows to a file. A bin that repeats the bin before it is left out.
void write_tile(trace::file_writer& to, const timeline::tile& where, const filled_tile& what);

}  // namespace sluice::analysis
