#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/metrics/idle/idle_gaps.hpp"
#include "core/symbols/frames.hpp"

/// The gaps in a time range: times in which a device was idle between two kernels or copies.
namespace sluice::query {

struct listed_gap {
  metrics::idle_gap gap;
  std::string place;         ///< The line of `gap.stack` that is shown: "train.py:12 (make_batch)"; empty if unknown.
  symbols::frame_line line;  ///< The same line, in parts.
};

/// The gaps of one device that have the same cause and line. The metrics are those of the findings about idle devices.
struct gap_line {
  trace::device_id device{};
  metrics::gap_cause cause{};
  trace::string_id call{};     ///< The call of the longest gap.
  trace::string_id range{};    ///< The range of the longest gap: see `metrics::gap_group::range`.
  std::string place;           ///< As `listed_gap::place`.
  symbols::frame_line line;    ///< As `listed_gap::line`.
  bool stack_is_next = false;  ///< The host code that caused the gaps ran before `place`.
  std::uint64_t count = 0;
  trace::time_ns total = 0;
  trace::time_ns saved = 0;  ///< See `metrics::gap_group::saved`.
  trace::time_ns longest = 0;
  time_range longest_gap;
};

struct idle_gap_list {
  time_range range;
  std::map<trace::device_id, metrics::gap_lengths> lengths;  ///< Only devices with gaps.
  std::vector<listed_gap> gaps;                              ///< The longest first; at most `limit` for each device.
  std::vector<gap_line> lines;                               ///< The line with the largest `total` first.

  static constexpr std::size_t limit = 1000;
};

/// Requests the idle gaps in `range` of all devices that run kernels. Reads all device work and API calls of the range.
struct idle_gaps_query {
  time_range range;
  friend bool operator==(const idle_gaps_query&, const idle_gaps_query&) = default;
  using result_type = idle_gap_list;
};

}  // namespace sluice::query
