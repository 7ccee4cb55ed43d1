#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/base/stack_use.hpp"
#include "core/symbols/attribution.hpp"

/// The memory of one layer and kind over time, divided into groups of blocks that add up to the total.
namespace sluice::query {

/// The property that the blocks of a group share.
enum class memory_grouping : std::uint8_t { line, caller, module, package, owner, stream, process };
inline constexpr std::size_t memory_grouping_count = 7;

struct memory_group {
  std::uint64_t key = 0;             ///< Identifies the group. Results for other ranges have the same keys.
  std::string label;                 ///< Empty for the group of blocks without a stack, or without a stream.
  std::uint64_t at_peak = 0;         ///< The bytes at `memory_groups::peak_time`.
  std::uint64_t highest = 0;         ///< The highest value in `bytes`.
  std::vector<std::uint64_t> bytes;  ///< The bytes at each of `memory_groups::moments`.
};

struct memory_groups {
  time_range range;
  /// The range is divided into equal parts. For each part, the time at which the total is highest; the values of a part
  /// are those at this time.
  std::vector<trace::time_ns> moments;
  std::vector<std::uint64_t> total;
  std::vector<memory_group> groups;  ///< The group with the largest `highest` first; at most `limit`.
  memory_group others;               ///< All groups beyond the limit combined; `bytes` is empty if there are none.
  std::uint64_t group_count = 0;
  std::uint64_t blocks = 0;  ///< The number of blocks live at some time in the range.
  std::uint64_t peak = 0;    ///< The highest total in the range.
  trace::time_ns peak_time = 0;

  static constexpr std::size_t limit = 12;
};

/// Requests the memory that `filter` selects over time, by group. Reads all blocks that are live in the range.
struct memory_groups_query {
  time_range range;
  std::uint32_t width = 0;  ///< The number of parts of the range.
  memory_grouping by = memory_grouping::line;
  trace::layer layer = trace::layer::driver;
  trace::device_id device{};
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::process_id process{};  ///< Only blocks of this process; none: all processes.
  friend bool operator==(const memory_groups_query&, const memory_groups_query&) = default;
  using result_type = memory_groups;

  [[nodiscard]] metrics::block_filter filter() const { return {layer, device, kind}; }
};

/// Selects groups of blocks, as a filter.
struct block_groups {
  memory_grouping by = memory_grouping::line;
  std::vector<std::uint64_t> keys;  ///< The `memory_group::key` of each selected group.
  bool except = false;              ///< True: selects all groups except those in `keys`.
  friend bool operator==(const block_groups&, const block_groups&) = default;
};

/// Returns the attribution of stacks that this grouping uses; none for streams and processes.
[[nodiscard]] constexpr std::optional<symbols::attribution> to_attribution(memory_grouping by) {
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
