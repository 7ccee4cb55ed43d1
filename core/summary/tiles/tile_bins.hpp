#pragma once

#include <span>
#include <vector>

#include "core/index/curve_stacks.hpp"
#include "core/timeline/tile_grid.hpp"
#include "core/trace/file/writer.hpp"

/// Computes the bins of tiles from the curves and slices of an event store.
namespace sluice::summary {

/// The values of a curve in one bin.
struct curve_bin {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  double last = 0;
  double at_peak = 0;  ///< See `sampled_bin`.
};

/// The values of a curve in the bins of a tile. In most curves, only few bins differ from the bin before.
struct curve_bins {
  struct change {
    std::uint32_t bin = 0;
    curve_bin value;
  };
  /// The bins in which the curve is not constantly equal to its last value in the bin before, sorted by bin. Before the
  /// tile's first bin, the curve counts as 0.
  std::vector<change> changes;

  /// Adds `current` for bin `bin`, unless the curve stays at its last value. Bins must be added in order.
  void append(std::uint32_t bin, const curve_bin& current) {
    const double before = last();
    if (current.minimum != before || current.maximum != before) changes.push_back({bin, current});
  }
  /// The curve's value at the end of the last bin added.
  [[nodiscard]] double last() const { return changes.empty() ? 0 : changes.back().value.last; }
};

/// The slices in one bin of a lane. See `trace::lane_bin_row`.
struct lane_bin {
  std::uint32_t count = 0;
  std::uint8_t kind = 0;
  std::uint8_t tag = 0;
  time_ns busy = 0;
  std::uint64_t bytes = 0;
  time_ns length = -1;  ///< The length in ns of the longest slice that overlaps the bin; -1 if no slice does.
  trace::event_id event{};
  trace::string_id name{};
  [[nodiscard]] bool empty() const { return length < 0; }
  /// Merges `later`, a bin that is later in time, into this bin.
  void append(const lane_bin& later);
};

/// The non-empty bins of a lane. A long slice fills many equal bins.
struct lane_bins {
  struct run {
    std::uint32_t first = 0;  ///< The number of the first of `count` consecutive equal bins.
    std::uint32_t count = 1;
    lane_bin value;
    [[nodiscard]] std::uint32_t end() const { return first + count; }
  };
  std::vector<run> runs;  ///< Sorted by bin; the runs do not overlap.

  /// Returns bin `bin`, adding it if it is empty. O(1) if the calls are in order of bins.
  lane_bin& at(std::uint32_t bin);
  /// Merges `bin` into each of the bins [first, end). O(1) if all bins from `first` on are empty.
  void append(std::uint32_t first, std::uint32_t end, const lane_bin& bin);
};

/// The bins of a tile. Curves and lanes are in the order of the recording's lists of curves and lanes. Only bins in
/// which something happens are stored. With the lanes of hundreds of processes, these are a small share of all bins.
struct filled_tile {
  std::vector<curve_bins> curves;
  std::vector<lane_bins> lanes;
};

/// Returns one row per lane (row of slices). Lanes of one stream, direction or thread are adjacent, upper lanes first.
[[nodiscard]] std::vector<trace::lane_row> lane_rows(std::span<const index::index_slices> slices);

/// Fills the tile `where` with bins of 2^`bin_level` ns from the curves and slices of an event store that contains all
/// events in the tile. If these bins are wider than the tile's own bins, the result is the tile's share of a tile above
/// it. Slices without an end last until `end_of_all`. O(curves * log events + curves that vary * bins + slices in the
/// tile).
[[nodiscard]] filled_tile fill_tile(const timeline::tile& where, unsigned bin_level,
                                    std::span<const index::index_curve> curves, const index::curve_stacks& stacks,
                                    std::span<const index::index_slices> slices, time_ns end_of_all);

/// Returns a tile's share of the tile directly above it. Each bin of the share merges 2^`tile_fan_out_log2` bins of
/// `part`, because the bins of the tile above are that many times as wide. O(counted curves * bins + filled bins).
[[nodiscard]] filled_tile share_of_tile_above(const filled_tile& part, const index::curve_stacks& stacks);
/// Joins the shares of neighbouring tiles, which are in order of time and have `bins` bins each. The result is the tile
/// above these tiles, or the share of that tile in a tile further above. O(filled bins).
[[nodiscard]] filled_tile join_shares(std::span<const filled_tile> shares, std::uint32_t bins);

/// Writes the rows of a tile to a file. Omits each bin that repeats the bin before.
void write_tile(trace::file_writer& to, const timeline::tile& where, const filled_tile& tile);

}  // namespace sluice::summary
