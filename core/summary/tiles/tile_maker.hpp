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

/// Makes the tiles of a recording and writes them to its file: section tiles from indexes, and each higher tile as soon
/// as the tiles below it are complete. Not thread-safe.
class tile_maker {
 public:
  /// `sections` come from `plan_sections` for the recording `of`. All arguments must outlive this.
  tile_maker(trace::file_writer& to, std::span<const trace::section_row> sections, const trace::snapshot& of);

  /// Adds sections [first, last], which follow those of the last call. Whether `from` contains just these, more or all
  /// of them only affects the last digits of means. O(curves * bins * log events + slices) per section. Returns false
  /// if `from` has other curves or lanes than before, as in a contradictory file: then nothing more may be added.
  [[nodiscard]] bool add(const index& from, std::size_t first, std::size_t last);
  /// Writes the lists of curves and lanes. Call after the last section.
  void end();
  /// Sets the maxima of curves, categories, pools and rates in `into`. Call after the last section.
  void put_highest(recording_facts& into) const;

 private:
  void put(const timeline::tile& where, filled_tile made);

  trace::file_writer& to_;
  std::span<const trace::section_row> sections_;
  const trace::snapshot& of_;
  const time_range whole_;
  unsigned root_level_ = 0;
  std::vector<trace::curve_row> curves_;  ///< `maximum` is the highest so far.
  std::vector<trace::lane_row> lanes_;
  std::vector<std::pair<timeline::tile, filled_tile>> waiting_;  ///< Until their neighbors under the same tile exist.
};

}  // namespace sluice::analysis
