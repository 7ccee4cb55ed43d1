#pragma once

#include <memory>

#include "core/query/answers/answer_functions.hpp"

/// Answers about a time so long that no single index should hold it: collected from the indexes of a few sections at a time. Private to
/// core/query.
namespace sluice::query {

template <class Answer>
class section_answer {
 public:
  section_answer() = default;
  virtual ~section_answer() = default;
  section_answer(const section_answer&) = delete;
  section_answer& operator=(const section_answer&) = delete;

  /// Adds what `from.index` knows about `part`. Parts follow one another; the first begins where the question's range does.
  virtual result<void> add(const sources& from, time_range part) = 0;
  /// The answer from the parts so far. May be called again after more parts.
  virtual result<Answer> tell(const sources& from) = 0;
};

template <class Question>
using section_answer_for = std::unique_ptr<section_answer<typename Question::answer_type>>;

[[nodiscard]] section_answer_for<blocks_question> gather(const blocks_question& question);
[[nodiscard]] section_answer_for<statistics_question> gather(const statistics_question& question);
/// Not for `live`, which is about a moment.
[[nodiscard]] section_answer_for<stacks_question> gather(const stacks_question& question);

template <class Question>
inline constexpr bool reads_sections =
    std::is_same_v<Question, blocks_question> || std::is_same_v<Question, statistics_question> ||
    std::is_same_v<Question, stacks_question>;

}  // namespace sluice::query
