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

/// The values of a curve in the bins of a tile. Of most curves few bins differ from the one before.
struct curve_bins {
  struct change {
    std::uint32_t bin = 0;
    curve_bin is;
  };
  /// The bins in which the value is not, all the time, what it was before, in order. Before the first bin it is 0.
  std::vector<change> changes;

  /// Adds `is` for bin `bin`, unless it repeats the value before. Call in order of bins.
  void append(std::uint32_t bin, const curve_bin& is) {
    const double before = last();
    if (is.minimum != before || is.maximum != before) changes.push_back({bin, is});
  }
  [[nodiscard]] double last() const { return changes.empty() ? 0 : changes.back().is.last; }
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

/// The bins of a lane that are not empty. A long slice fills many alike.
struct lane_bins {
  struct run {
    std::uint32_t first = 0;  ///< The number of the first of `count` equal bins.
    std::uint32_t count = 1;
    lane_bin is;
    [[nodiscard]] std::uint32_t end() const { return first + count; }
  };
  std::vector<run> runs;  ///< In order; they do not overlap.

  /// Returns bin `bin`, which it adds if needed. O(1) if called in order of bins.
  lane_bin& at(std::uint32_t bin);
  /// Merges `is` into each bin of [first, end). O(1) if no bin from `first` on is filled.
  void append(std::uint32_t first, std::uint32_t end, const lane_bin& is);
};

/// The bins of a tile. Curves and lanes are in the order of the recording's lists of curves and lanes. Takes memory for
/// the bins in which something happens: with the lanes of hundreds of processes, these are few of all.
struct filled_tile {
  std::vector<curve_bins> curves;
  std::vector<lane_bins> lanes;
};

/// One row for each lane (row of slices). Lanes of one stream, direction or thread are adjacent, the upper ones first.
[[nodiscard]] std::vector<trace::lane_row> lane_rows(std::span<const index_slices> slices);

/// Fills a tile with bins of 2^`bin_level` ns from an index's curves and slices; the index must contain all events in
/// the tile. Wider bins than the tile's own make a share of a tile above it. Slices without an end last until
/// `end_of_all`. O(curves * log events + curves that vary * bins + slices in the tile).
[[nodiscard]] filled_tile fill_tile(const timeline::tile& where, unsigned bin_level,
                                    std::span<const index_curve> curves, const curve_stacks& stacks,
                                    std::span<const index_slices> slices, time_ns end_of_all);

/// What a tile contributes to the tile above it: its share of that tile's bins, which are as many times as wide as that
/// tile joins tiles. O(counted curves * bins + filled bins).
[[nodiscard]] filled_tile share_of_tile_above(const filled_tile& part, const curve_stacks& stacks);
/// Puts the shares of neighboring tiles, in order of time and of `bins` bins each, together to the tile above them or
/// to its share of one further above. O(filled bins).
[[nodiscard]] filled_tile join_shares(std::span<const filled_tile> shares, std::uint32_t bins);

/// Writes a tile's rows to a file. A bin that repeats the bin before it is left out.
void write_tile(trace::file_writer& to, const timeline::tile& where, const filled_tile& what);

}  // namespace sluice::analysis
