#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/figures/waste/idle_gaps.hpp"
#include "core/symbols/frames.hpp"

/// The times in a range in which devices had nothing to do.
namespace sluice::query {

struct listed_gap {
  analysis::idle_gap gap;
  std::string place;         ///< "train.py:12 (make_batch)" of `gap.stack`; empty if unknown.
  symbols::frame_line line;  ///< Of `place`.
};

/// The gaps of one device with one cause at one line: the figures of the findings about an idle device.
struct gap_line {
  trace::device_id device{};
  analysis::gap_cause cause{};
  trace::string_id call{};     ///< Of the longest gap.
  trace::string_id range{};    ///< Of the longest gap; see `analysis::gap_group::range`.
  std::string place;           ///< Empty if unknown.
  symbols::frame_line line;    ///< Of `place`.
  bool stack_is_next = false;  ///< What ran is before `place`.
  std::uint64_t count = 0;
  trace::time_ns total = 0;
  trace::time_ns saved = 0;  ///< See `analysis::gap_group::saved`.
  trace::time_ns longest = 0;
  analysis::time_range longest_gap;
};

struct idle_gap_list {
  analysis::time_range range;
  std::map<trace::device_id, analysis::gap_lengths> lengths;  ///< Only devices with gaps.
  std::vector<listed_gap> gaps;                               ///< Longest first, at most `limit` of each device.
  std::vector<gap_line> lines;                                ///< Longest total first.

  static constexpr std::size_t limit = 1000;
};

/// Asks for the idle gaps in `range` of devices that run kernels. Reads all device work and API calls.
struct idle_gaps_question {
  analysis::time_range range;
  friend bool operator==(const idle_gaps_question&, const idle_gaps_question&) = default;
  using answer_type = idle_gap_list;
};

}  // namespace sluice::query
