#pragma once

#include <memory>

#include "core/query/answers/answer_functions.hpp"

/// Answers about more of a recording than an index should hold: gathered from indexes of parts of the range, one after another. Private to
/// core/query.
namespace sluice::query {

template <class Answer>
class section_source {
 public:
  section_source() = default;
  virtual ~section_source() = default;
  section_source(const section_source&) = delete;
  section_source& operator=(const section_source&) = delete;

  /// What `from.index` tells of `part`, which begins where the one before ended, the first with the range of the question.
  virtual result<void> add(const sources& from, time_range part) = 0;
  /// The answer, as far as it is known. May be called again after more was added.
  virtual result<Answer> tell(const sources& from) = 0;
};

template <class Question>
using gathered_answer = std::unique_ptr<section_source<typename Question::answer_type>>;

[[nodiscard]] gathered_answer<blocks_question> gather(const blocks_question& question);
[[nodiscard]] gathered_answer<statistics_question> gather(const statistics_question& question);
/// Not for `live`, which is about a moment.
[[nodiscard]] gathered_answer<stacks_question> gather(const stacks_question& question);

template <class Question>
inline constexpr bool reads_sections =
    std::is_same_v<Question, blocks_question> || std::is_same_v<Question, statistics_question> ||
    std::is_same_v<Question, stacks_question>;

}  // namespace sluice::query
