#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/index/index.hpp"
#include "core/index/recording_facts.hpp"
#include "core/summary/tiles/tile_bins.hpp"
#include "core/timeline/tile_grid.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::analysis {

/// Makes the tiles of a recording and writes them to its file: tiles of sections from indexes, and each tile with wider
/// bins as soon as the tiles that it joins are complete. With the lanes of hundreds of processes, a section's tile has
/// more bins than events: then the lowest levels are left out. Not thread-safe.
class tile_maker {
 public:
  /// Call first, and again when the recording `of` has grown; the sections that were added must be the first of `sections`, which
  /// come from `plan_sections`, as before. All arguments must outlive the calls that follow. Without `ends`, only tiles are made
  /// whose sections were all added, however far the recording goes on; copies of this may go on to the end.
  void go_on(trace::file_writer& to, std::span<const trace::section_row> sections, const trace::snapshot& of,
             bool ends);

  /// Adds sections [first, last], which follow those of the last call. If `from` contains more than these sections,
  /// only the last digits of means differ. O(curves * bins * log events + slices) per section. Returns false if `from`
  /// lacks a curve or lane that was there before, as in a contradictory file, or if sections of a recording that grows have become
  /// too short for the levels that are left out. Then nothing more may be added.
  [[nodiscard]] bool add(const index& from, std::size_t first, std::size_t last);
  /// The curves so far.
  [[nodiscard]] std::span<const trace::curve_row> curves() const { return curves_; }
  /// The number of sections that were added.
  [[nodiscard]] std::size_t added() const { return added_; }
  /// Writes the lists of curves and lanes. Call after the last section.
  void end();
  /// Sets the highest bytes of memories, categories and pools, and the highest copy rates. Call after the last section.
  void put_highest(recording_facts& into) const;

 private:
  void choose_levels();
  /// Puts the curves of an index in the order of their numbers; those that are new get the next ones. False: one is missing.
  [[nodiscard]] bool number_curves(std::vector<index_curve>& curves);
  /// Finds the numbers of an index's lanes in the same way.
  [[nodiscard]] bool number_lanes(std::span<const trace::lane_row> lanes);
  [[nodiscard]] bool take_numbers(std::vector<index_curve>& curves, std::span<const trace::lane_row> lanes);
  [[nodiscard]] bool is_written(const timeline::tile& which) const { return which.level >= lowest_level_; }
  void put(const timeline::tile& where, filled_tile made);

  trace::file_writer* to_ = nullptr;
  std::span<const trace::section_row> sections_;
  const trace::snapshot* of_ = nullptr;
  time_range whole_;
  unsigned root_level_ = 0;
  std::size_t added_ = 0;
  unsigned lowest_level_ = 0;             ///< Tiles below it are not written.
  bool leaves_out_ = false;               ///< Some are below it.
  std::vector<trace::curve_row> curves_;  ///< `maximum` is the highest value so far.
  std::optional<curve_stacks> stacks_;    ///< Of `curves_`; nothing before the first section.
  std::vector<trace::lane_row> lanes_;
  std::vector<trace::lane_row> listed_;  ///< The lanes of the last index,
  std::vector<std::uint32_t> numbers_;   ///< and which these are of `lanes_`.
  /// What tiles contribute to those above them, until their neighbors exist: at most one of each level.
  std::vector<std::pair<timeline::tile, filled_tile>> shares_;
};

}  // namespace sluice::analysis
