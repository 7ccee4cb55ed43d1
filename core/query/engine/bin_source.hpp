#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/index/curves.hpp"
#include "core/query/answers/answer_functions.hpp"
#include "core/summary/tiles/stored_tiles.hpp"

/// What the timeline draws, wherever it comes from: an index that has taken in the recording, or the tiles in its file. Private
/// to core/query.
namespace sluice::query {

class bin_source {
 public:
  /// A stream, a direction, the ranges or the calls of a thread.
  struct owner {
    trace::lane_row about;    ///< Of its first lane.
    std::uint32_t lanes = 0;  ///< Rows of slices.
  };
  /// The bins of some curves, over nearly the range that was asked for.
  struct sampled {
    time_range range;                    ///< What the bins divide evenly.
    std::vector<std::vector<bin>> bins;  ///< A list for each curve.
  };

  /// `categories`: curves by category too. O(curves).
  bin_source(const sources& from, bool categories);

  [[nodiscard]] std::span<const trace::curve_row> curves() const { return curves_; }
  [[nodiscard]] std::span<const owner> owners() const { return owners_; }

  /// Curves by their places in `curves`. An index is exact about the range; tiles have bins that are aligned, about as many as
  /// asked for. O(curves * width * log events); of tiles O(curves * width).
  [[nodiscard]] result<sampled> sample(std::span<const std::uint32_t> places, time_range range,
                                       std::uint32_t width) const;

  /// Replaces `into` by the slices of an owner, by its place in `owners`. Lane after lane, each in order of begin.
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
