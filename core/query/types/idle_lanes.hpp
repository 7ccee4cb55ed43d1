#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/metrics/idle/idle_spans.hpp"
#include "core/query/types/gap_words.hpp"

/// The idle time of each device by cause, as lanes of the timeline.
namespace sluice::query {

/// A part of a gap, or several small parts that share a pixel.
struct drawn_gap {
  time_range span;
  metrics::gap_cause cause{};
  std::uint32_t parts = 1;  ///< As in `metrics::idle_span`.
  time_ns idle = 0;         ///< As in `metrics::idle_span`.
  time_range gap;           ///< The gap of the longest part.
  time_ns length = 0;       ///< The length of that part.
  trace::string_id call{};  ///< As in `metrics::gap_group`.
  std::uint32_t words = 0;  ///< An index into `idle_lanes::words`.
};

struct idle_lane {
  trace::device_id device{};
  std::vector<drawn_gap> gaps;  ///< In order of time, not overlapping.
};

struct idle_lanes {
  time_range range;              ///< The range of the query that was answered.
  std::vector<idle_lane> lanes;  ///< The devices with gaps in the range.
  std::vector<gap_words> words;
  bool too_long = false;  ///< Nothing was read, because the range has more than `max_sections` sections.

  /// A section has some 50,000 events. Reading this many takes a few seconds.
  static constexpr std::size_t max_sections = 64;
};

/// Requests the idle time of all devices that ran kernels, by cause. A gap is idle time between two pieces of work. A gap
/// that crosses the edge of `range` is found if it ends, or begins, at most `max_searched` sections outside.
struct idle_lanes_query {
  time_range range;
  std::uint32_t width = 0;  ///< In pixels; parts of gaps narrower than one pixel are merged.
  friend bool operator==(const idle_lanes_query&, const idle_lanes_query&) = default;
  using result_type = idle_lanes;
  static constexpr std::size_t max_searched = 8;
};

}  // namespace sluice::query
