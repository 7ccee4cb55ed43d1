#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/metrics/idle/idle_gaps.hpp"
#include "core/query/types/gap_words.hpp"

/// The gaps in a time range: times in which a device was idle between two kernels or copies.
namespace sluice::query {

struct listed_gap {
  metrics::idle_gap gap;
  gap_words host;  ///< Without samples, `place` is the line of `gap.stack`.
};

/// The gaps of one device that have the same cause and line. The metrics are those of the findings about idle devices.
struct gap_line {
  trace::device_id device{};
  metrics::gap_cause cause{};
  trace::string_id call{};     ///< The call of the longest gap.
  trace::string_id range{};    ///< The range of the longest gap: see `metrics::gap_group::range`.
  std::string place;           ///< As `gap_words::place`, of the stack of the recorded calls.
  symbols::frame_line line;    ///< The same line, in parts.
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
  std::vector<metrics::device_idle> devices;  ///< Sorted by device; the causes of each add up to its idle time.

  static constexpr std::size_t limit = 1000;
};

/// Requests the idle gaps in `range` of all devices that run kernels. Reads all device work and API calls of the range.
struct idle_gaps_query {
  time_range range;
  friend bool operator==(const idle_gaps_query&, const idle_gaps_query&) = default;
  using result_type = idle_gap_list;
};

/// The call stacks at the two ends of a gap, innermost line first. Empty if unknown.
struct gap_stacks {
  std::vector<symbols::frame_line> host;  ///< What the host did in the gap.
  std::vector<symbols::frame_line> next;  ///< The call that ended the gap, or the first call after it with a stack.
};

/// Requests the lines of two stacks of a gap: `gap_words::stack` and `idle_gap::stack`.
struct gap_stacks_query {
  trace::time_ns time = 0;  ///< Any time; the index near it is at hand.
  trace::stack_id host{};
  trace::stack_id next{};
  friend bool operator==(const gap_stacks_query&, const gap_stacks_query&) = default;
  using result_type = gap_stacks;
};

}  // namespace sluice::query
