#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/index/index.hpp"
#include "core/index/recording_facts.hpp"
#include "core/summary/tiles/tile_bins.hpp"
#include "core/timeline/tile_grid.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::analysis {

/// Makes the tiles of a recording and adds them to its file: those of epochs from indexes that hold them, and each tile over others as
/// soon as these are there. Not thread-safe.
class tile_maker {
 public:
  /// `epochs` are those of the recording `of` (`plan_epochs`). All outlive this.
  tile_maker(trace::file_writer& to, std::span<const trace::epoch_row> epochs, const trace::snapshot& of);

  /// Of epochs [first, last], which follow those of the call before. `from` is of these epochs, of more, or of all; whichever, what is
  /// made is the same but for the last digits of means. O(curves * bins * log events + slices) an epoch.
  /// False, and nothing more may be added, if `from` has other curves or lanes than those before it: a file may contradict itself.
  [[nodiscard]] bool add(const index& from, std::size_t first, std::size_t last);
  /// Names the curves and lanes, after the last epoch.
  void end();
  /// The highest values that the recording's curves reach, for what is kept of it as a whole. After the last epoch.
  void put_highest(whole_facts& into) const;

 private:
  void put(const summaries::tile& where, filled_tile made);

  trace::file_writer& to_;
  std::span<const trace::epoch_row> epochs_;
  const trace::snapshot& of_;
  const time_range whole_;
  unsigned root_level_ = 0;
  std::vector<trace::curve_row> curves_;  ///< With the highest values so far.
  std::vector<trace::lane_row> lanes_;
  std::vector<std::pair<summaries::tile, filled_tile>> waiting_;  ///< For those beside them, under the same tile.
};

}  // namespace sluice::analysis
