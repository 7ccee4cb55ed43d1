#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/index/curves.hpp"
#include "core/query/sources/sources.hpp"
#include "core/summary/tiles/stored_tiles.hpp"
#include "core/timeline/sampled_bin.hpp"

/// Provides the curves (values over time) and slices (events as bars) that the timeline draws. Both come as bins, which
/// summarize a short time each. The source is an index of the recording, or the tiles in its file: bins that were
/// computed when the file was closed. Private to core/query.
namespace sluice::query {

class bin_source {
 public:
  /// The owner of some lanes, which are rows of slices: a stream, a copy direction, or the ranges or calls of a thread.
  struct owner {
    trace::lane_row about;    ///< Describes the owner's first lane.
    std::uint32_t lanes = 0;  ///< The number of lanes.
    std::uint32_t first = 0;  ///< The position of the owner's first lane in `stored_tiles::lanes`.
  };
  /// The bins of some curves, over approximately the requested range.
  struct sampled {
    time_range range;                                      ///< The range that the bins cover; they divide it evenly.
    std::vector<std::vector<timeline::sampled_bin>> bins;  ///< One list of bins for each curve.
  };

  /// `categories`: also provides a curve for each category of memory. O(curves).
  bin_source(const sources& source, bool categories);

  [[nodiscard]] std::span<const trace::curve_row> curves() const { return curves_; }
  [[nodiscard]] std::span<const owner> owners() const { return owners_; }

  /// Samples the curves at the positions `places` in `curves`. From an index, the bins cover exactly `range`; from
  /// tiles, there are about `width` bins, aligned to the tiles. O(curves * width * log events) from an index,
  /// O(curves * width) from tiles.
  [[nodiscard]] result<sampled> sample(std::span<const std::uint32_t> places, time_range range,
                                       std::uint32_t width) const;

  /// Replaces `into` with the slices of `owners()[place]`, lane after lane, each lane sorted by start time.
  [[nodiscard]] result<void> draw(std::size_t place, time_range range, std::uint32_t width,
                                  std::vector<timeline::drawn_slice>& into) const;

 private:
  [[nodiscard]] summary::bin_sources bins() const;
  void say(summary::bin_detail detail) const;

  const sources& from_;
  std::shared_ptr<const index::tensor_facts> facts_;
  std::vector<index::index_curve> of_index_;
  std::vector<index::index_slices> slices_;
  std::vector<trace::curve_row> curves_;
  std::vector<owner> owners_;
};

}  // namespace sluice::query
