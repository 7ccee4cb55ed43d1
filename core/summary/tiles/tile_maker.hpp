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

/// Makes the tiles of a recording and adds them to its file: those of sections from indexes that hold them, and each tile over others as
/// soon as these are there. Not thread-safe.
class tile_maker {
 public:
  /// `sections` are those of the recording `of` (`plan_sections`). All outlive this.
  tile_maker(trace::file_writer& to, std::span<const trace::section_row> sections, const trace::snapshot& of);

  /// Of sections [first, last], which follow those of the call before. `from` is of these sections, of more, or of all; whichever, what is
  /// made is the same but for the last digits of means. O(curves * bins * log events + slices) a section.
  /// False, and nothing more may be added, if `from` has other curves or lanes than those before it: a file may contradict itself.
  [[nodiscard]] bool add(const index& from, std::size_t first, std::size_t last);
  /// Names the curves and lanes, after the last section.
  void end();
  /// The highest values that the recording's curves reach, for what is kept of it as a whole. After the last section.
  void put_highest(recording_facts& into) const;

 private:
  void put(const timeline::tile& where, filled_tile made);

  trace::file_writer& to_;
  std::span<const trace::section_row> sections_;
  const trace::snapshot& of_;
  const time_range whole_;
  unsigned root_level_ = 0;
  std::vector<trace::curve_row> curves_;  ///< With the highest values so far.
  std::vector<trace::lane_row> lanes_;
  std::vector<std::pair<timeline::tile, filled_tile>> waiting_;  ///< For those beside them, under the same tile.
};

}  // namespace sluice::analysis
