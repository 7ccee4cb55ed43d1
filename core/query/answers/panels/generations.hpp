#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figures/stack_use.hpp"
#include "core/query/answers/memory_choices.hpp"
#include "core/symbols/attribution.hpp"
#include "core/trace/model/model.hpp"

/// What was allocated after each of several marks and still lives: generations of memory, as in Apple's Instruments.
namespace sluice::query {

/// The blocks of a generation that one line (or module, ...) asked for.
struct generation_group {
  std::string name;   ///< "forward"; "no stack recorded".
  std::string place;  ///< "model.py:70"; empty if there is none.
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
};

/// The blocks born from one mark to the next that live at the moment of the question.
struct generation {
  trace::time_ns begin = 0;  ///< Blocks are born at or after this,
  trace::time_ns end = 0;    ///< and before this.
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::vector<generation_group> groups;  ///< Most bytes first, at most `group_limit`.
  std::uint64_t other_bytes = 0;         ///< Beyond the limit.

  static constexpr std::size_t group_limit = 200;
};

struct generation_list {
  trace::time_ns at = 0;
  std::vector<generation> generations;  ///< First what was born before the first mark, then one for each mark.
  std::vector<memory_choice> choices;   ///< Most bytes first.
  std::optional<std::size_t> choice;    ///< Index in `choices` of the one counted; none without memory.
};

/// Asks for the generations of one memory. A block counts in the generation in which it was born, so that the sum of all
/// is what lives at `at`. Later marks than `at` are ignored. O(blocks).
struct generations_question {
  std::vector<trace::time_ns> marks;  ///< In order of time.
  trace::time_ns at = 0;
  std::optional<trace::layer> layer{};  ///< None: one is chosen, see `generation_list::choice`.
  std::optional<trace::device_id> device{};
  std::optional<trace::memory_kind> kind{};
  symbols::attribution by = symbols::attribution::line;
  friend bool operator==(const generations_question&, const generations_question&) = default;
  using answer_type = generation_list;
};

}  // namespace sluice::query
