#pragma once

#include <memory>
#include <optional>

#include "core/query/answers/answer_functions.hpp"
#include "core/query/engine/long_answer.hpp"

/// Answers from the rows of a recording, reading only the sections that a question is about. Private to core/query.
namespace sluice::query {

/// Answers from the index of the sections that a question is about. nullopt without sections in the file, or if the
/// question is about no time or about many sections. `from.stored` must be set; `from.index` is not used.
template <class Question>
[[nodiscard]] std::optional<result<typename Question::answer_type>> answer_from_rows(const Question& question,
                                                                                     const sources& from);

/// Starts an answer that takes long: a search, or one about many sections, which are read a few at a time. Null for
/// other questions. What `from` refers to must outlive the result; `from.stored` may be null.
template <class Question>
[[nodiscard]] std::unique_ptr<long_answer<typename Question::answer_type>> start_long_answer(const Question& question,
                                                                                             const sources& from);

}  // namespace sluice::query
