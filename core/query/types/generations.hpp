#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/metrics/base/stack_use.hpp"
#include "core/query/types/result_types.hpp"
#include "core/symbols/attribution.hpp"
#include "core/trace/model/model.hpp"

/// Generations of memory, as in Apple's Instruments: the memory that was allocated between marks and is still live.
namespace sluice::query {

/// The blocks of a generation that the same line (or module, ...) allocated.
struct generation_group {
  std::string name;   ///< "forward", or "no stack recorded".
  std::string place;  ///< "model.py:70"; empty if unknown.
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
};

/// The blocks allocated between two marks that are live at the query's time.
struct generation {
  trace::time_ns begin = 0;  ///< The blocks were allocated at or after this time.
  trace::time_ns end = 0;    ///< The blocks were allocated before this time.
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::vector<generation_group> groups;  ///< Sorted by descending bytes, at most `group_limit`.
  std::uint64_t other_bytes = 0;         ///< Bytes of groups beyond the limit.

  static constexpr std::size_t group_limit = 200;
};

struct generation_list {
  trace::time_ns at = 0;
  std::vector<generation> generations;  ///< The blocks from before the first mark, then one generation for each mark.
  std::vector<memory_choice> choices;   ///< Sorted by descending peak.
  std::optional<std::size_t> choice;    ///< The index in `choices` of the counted memory; none if it is empty.
};

/// Requests the generations of one kind of memory. A block counts in the generation in which it was allocated, so the
/// sum of all generations is the memory that is live at `at`. Marks after `at` are ignored. O(blocks).
struct generations_query {
  std::vector<trace::time_ns> marks;  ///< Sorted by time.
  trace::time_ns at = 0;
  std::optional<trace::layer> layer{};  ///< None: the engine chooses; `generation_list::choice` is its choice.
  std::optional<trace::device_id> device{};
  std::optional<trace::memory_kind> kind{};
  symbols::attribution by = symbols::attribution::line;
  friend bool operator==(const generations_query&, const generations_query&) = default;
  using result_type = generation_list;
};

}  // namespace sluice::query
