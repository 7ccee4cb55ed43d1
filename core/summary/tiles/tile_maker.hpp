#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/index/event_store.hpp"
#include "core/index/recording_facts.hpp"
#include "core/summary/tiles/tile_bins.hpp"
#include "core/timeline/tile_grid.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::summary {

/// Builds the tiles of a recording and writes them to its file. Tiles of sections are built from event stores. Each
/// tile with wider bins is built as soon as the tiles below it are complete. With the lanes of hundreds of processes,
/// the tile of a section has more bins than the section has events. In this case, the lowest levels are omitted. Not
/// thread-safe.
class tile_maker {
 public:
  /// Sets the recording. Must be called first, and again when the recording `recording` has grown. `sections` come from
  /// `plan_sections`, and must start with the sections added before. All arguments must outlive the calls that follow.
  /// Without `ends`, a tile is built only if all its sections were added, however far the recording continues. Copies
  /// of this object may continue to the end.
  void go_on(trace::file_writer& to, std::span<const trace::section_row> sections, const trace::snapshot& recording,
             bool ends);

  /// Adds the sections [first, last], which follow the sections of the last call. If `store` contains more than these
  /// sections, only the last digits of means differ. O(curves * bins * log events + slices) per section. Returns false
  /// if `store` lacks a curve or lane that existed before, as in a contradictory file, or if sections of a growing
  /// recording have become too short for levels to be omitted. After that, nothing more may be added.
  [[nodiscard]] bool add(const index::event_store& store, std::size_t first, std::size_t last);
  /// The curves found so far.
  [[nodiscard]] std::span<const trace::curve_row> curves() const { return curves_; }
  /// The number of sections added so far.
  [[nodiscard]] std::size_t added() const { return added_; }
  /// Writes the lists of curves and lanes. Must be called after the last section.
  void end();
  /// Sets the maximum bytes of memories, categories and pools, and the maximum copy rates. Must be called after the
  /// last section.
  void put_highest(index::recording_facts& into) const;

 private:
  void choose_levels();
  /// Sorts the curves of an event store by their numbers, and gives new curves the next numbers. Returns false if a
  /// curve that has a number is missing.
  [[nodiscard]] bool number_curves(std::vector<index::index_curve>& curves);
  /// Numbers the lanes of an event store in the same way.
  [[nodiscard]] bool number_lanes(std::span<const trace::lane_row> lanes);
  [[nodiscard]] bool take_numbers(std::vector<index::index_curve>& curves, std::span<const trace::lane_row> lanes);
  [[nodiscard]] bool is_written(const timeline::tile& which) const { return which.level >= lowest_level_; }
  void put(const timeline::tile& where, filled_tile output);

  trace::file_writer* to_ = nullptr;
  std::span<const trace::section_row> sections_;
  const trace::snapshot* of_ = nullptr;
  time_range whole_;
  unsigned root_level_ = 0;
  std::size_t added_ = 0;
  unsigned lowest_level_ = 0;                  ///< Tiles of lower levels are not written.
  bool leaves_out_ = false;                    ///< True if there are lower levels that are not written.
  std::vector<trace::curve_row> curves_;       ///< In each row, `maximum` is the highest value so far.
  std::optional<index::curve_stacks> stacks_;  ///< The stacks of `curves_`; not set before the first section.
  std::vector<trace::lane_row> lanes_;
  std::vector<trace::lane_row> listed_;  ///< The lanes of the last event store.
  std::vector<std::uint32_t> numbers_;   ///< The positions in `lanes_` of the lanes in `listed_`.
  /// Shares of tiles that are not complete yet. A share is kept until the neighbouring tiles exist. There is at most
  /// one per level.
  std::vector<std::pair<timeline::tile, filled_tile>> shares_;
};

}  // namespace sluice::summary
