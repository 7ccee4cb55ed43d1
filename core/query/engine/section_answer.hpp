#pragma once

#include <memory>

#include "core/query/answers/answer_functions.hpp"

/// Answers questions about a time range too long for one index, from indexes of a few sections at a time. Private to
/// core/query.
namespace sluice::query {

template <class Answer>
class section_answer {
 public:
  section_answer() = default;
  virtual ~section_answer() = default;
  section_answer(const section_answer&) = delete;
  section_answer& operator=(const section_answer&) = delete;

  /// Adds what `from.index` knows about `part`. Parts follow one another; the first begins with the question's range.
  virtual result<void> add(const sources& from, time_range part) = 0;
  /// Returns the answer from the parts so far. May be called again after more parts.
  virtual result<Answer> answer(const sources& from) = 0;
};

template <class Question>
using section_answer_for = std::unique_ptr<section_answer<typename Question::answer_type>>;

[[nodiscard]] section_answer_for<blocks_question> gather(const blocks_question& question);
[[nodiscard]] section_answer_for<statistics_question> gather(const statistics_question& question);
[[nodiscard]] section_answer_for<compared_side_question> gather(const compared_side_question& question);
/// Not for the measure `live`, which is about a moment.
[[nodiscard]] section_answer_for<stacks_question> gather(const stacks_question& question);
[[nodiscard]] section_answer_for<transfers_question> gather(const transfers_question& question);
[[nodiscard]] section_answer_for<idle_gaps_question> gather(const idle_gaps_question& question);
[[nodiscard]] section_answer_for<memory_groups_question> gather(const memory_groups_question& question);

template <class Question>
inline constexpr bool reads_sections =
    std::is_same_v<Question, blocks_question> || std::is_same_v<Question, statistics_question> ||
    std::is_same_v<Question, stacks_question> || std::is_same_v<Question, compared_side_question> ||
    std::is_same_v<Question, transfers_question> || std::is_same_v<Question, idle_gaps_question> ||
    std::is_same_v<Question, memory_groups_question>;

}  // namespace sluice::query
