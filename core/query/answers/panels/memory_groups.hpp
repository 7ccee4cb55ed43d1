#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figures/stack_use.hpp"
#include "core/symbols/attribution.hpp"
#include "core/timeline/time_range.hpp"

/// The memory of one layer and kind over time, in groups that add up to its total.
namespace sluice::query {

/// What the blocks of a group have in common.
enum class memory_grouping : std::uint8_t { line, caller, module, package, owner, stream, process };
inline constexpr std::size_t memory_grouping_count = 7;

struct memory_group {
  std::uint64_t key = 0;             ///< Names the group; the same in answers to other ranges.
  std::string label;                 ///< Empty for what has no stack, or no stream.
  std::uint64_t at_peak = 0;         ///< Bytes at `memory_groups::peak_time`.
  std::uint64_t highest = 0;         ///< The most bytes in any part.
  std::vector<std::uint64_t> bytes;  ///< In each part of the range.
};

struct memory_groups {
  analysis::time_range range;
  /// For each equal part of the range, the moment at which the memory's total is highest; all values are of then.
  std::vector<trace::time_ns> moments;
  std::vector<std::uint64_t> total;
  std::vector<memory_group> groups;  ///< Highest first, at most `limit`.
  memory_group others;               ///< All groups beyond the limit; its `bytes` are empty if there are none.
  std::uint64_t group_count = 0;
  std::uint64_t blocks = 0;  ///< That were live at some time in the range.
  std::uint64_t peak = 0;    ///< The highest total in the range, and when it is first reached.
  trace::time_ns peak_time = 0;

  static constexpr std::size_t limit = 12;
};

/// Asks who holds the memory that `filter` selects, over time. Reads all blocks that are live in the range.
struct memory_groups_question {
  analysis::time_range range;
  std::uint32_t width = 0;  ///< Parts of the range.
  memory_grouping by = memory_grouping::line;
  trace::layer layer = trace::layer::driver;
  trace::device_id device{};
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::process_id process{};  ///< Only blocks of this process; none: of all.
  friend bool operator==(const memory_groups_question&, const memory_groups_question&) = default;
  using answer_type = memory_groups;

  [[nodiscard]] analysis::block_filter filter() const { return {layer, device, kind}; }
};

/// Some of the groups, to select their blocks.
struct block_groups {
  memory_grouping by = memory_grouping::line;
  std::vector<std::uint64_t> keys;  ///< As of `memory_group::key`.
  bool except = false;              ///< Not these groups, but all others.
  friend bool operator==(const block_groups&, const block_groups&) = default;
};

/// What stacks are named by in this grouping; none for streams and processes.
[[nodiscard]] constexpr std::optional<symbols::attribution> attribution_of(memory_grouping by) {
  switch (by) {
    case memory_grouping::line:
      return symbols::attribution::line;
    case memory_grouping::caller:
      return symbols::attribution::caller;
    case memory_grouping::module:
      return symbols::attribution::module;
    case memory_grouping::package:
      return symbols::attribution::package;
    case memory_grouping::owner:
      return symbols::attribution::owner;
    case memory_grouping::stream:
    case memory_grouping::process:
      break;
  }
  return std::nullopt;
}

}  // namespace sluice::query
