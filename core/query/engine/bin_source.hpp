#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/index/curves.hpp"
#include "core/query/answers/answer_functions.hpp"
#include "core/summary/tiles/stored_tiles.hpp"

/// The curves and slices that the timeline draws, taken from an index of the recording or from the tiles in its file.
/// Private to core/query.
namespace sluice::query {

class bin_source {
 public:
  /// What lanes belong to: a stream, a copy direction, or the ranges or the calls of a thread.
  struct owner {
    trace::lane_row about;    ///< The row of its first lane.
    std::uint32_t lanes = 0;  ///< Number of lanes: rows of slices.
    std::uint32_t first = 0;  ///< Position of its first lane in `stored_tiles::lanes`.
  };
  /// The bins of some curves, over about the requested range.
  struct sampled {
    time_range range;                    ///< The range that the bins divide evenly.
    std::vector<std::vector<bin>> bins;  ///< A list for each curve.
  };

  /// With `categories`, there are curves by category, too. O(curves).
  bin_source(const sources& from, bool categories);

  [[nodiscard]] std::span<const trace::curve_row> curves() const { return curves_; }
  [[nodiscard]] std::span<const owner> owners() const { return owners_; }

  /// Samples the curves at `places` in `curves`. An index gives bins over exactly `range`; tiles give aligned bins,
  /// about `width` of them. O(curves * width * log events); from tiles O(curves * width).
  [[nodiscard]] result<sampled> sample(std::span<const std::uint32_t> places, time_range range,
                                       std::uint32_t width) const;

  /// Replaces `into` by the slices of `owners()[place]`: lane after lane, each lane in order of begin.
  [[nodiscard]] result<void> draw(std::size_t place, time_range range, std::uint32_t width,
                                  std::vector<timeline::drawn_slice>& into) const;

 private:
  [[nodiscard]] analysis::bin_sources bins() const;
  void say(analysis::bin_detail detail) const;

  const sources& from_;
  std::shared_ptr<const analysis::tensor_facts> facts_;
  std::vector<analysis::index_curve> of_index_;
  std::vector<analysis::index_slices> slices_;
  std::vector<trace::curve_row> curves_;
  std::vector<owner> owners_;
};

}  // namespace sluice::query
