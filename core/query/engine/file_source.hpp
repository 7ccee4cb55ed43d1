#pragma once

#include <memory>
#include <optional>

#include "core/query/answers/answer_functions.hpp"
#include "core/query/engine/long_answer.hpp"

/// Answers from what a file says of itself (core/trace/model/summary_rows.hpp), without an index of all its events. Private to core/query.
namespace sluice::query {

/// Reads the summaries of a file; null if it has none, or not all that it takes. Reads the disk; O(summaries of the whole).
/// `memory_bytes`: see engine_options.
[[nodiscard]] std::shared_ptr<stored_answers> open_summary(const std::shared_ptr<const trace::snapshot>& trace,
                                                           std::size_t memory_bytes);

/// The answer, if `from.stored` has it at once; `from.index` is not looked at. Else nothing: it takes long, or an index has to answer.
template <class Question>
[[nodiscard]] std::optional<result<typename Question::answer_type>> answer_stored(const Question& question,
                                                                                  const sources& from);

/// The answer to a question that takes long: to a search, or about more of a recording than one index should hold, which `answer_stored` does
/// not have. Null for all others.
/// What `from` names outlives it; `from.stored` may be null.
template <class Question>
[[nodiscard]] std::unique_ptr<long_answer<typename Question::answer_type>> start_long_answer(const Question& question,
                                                                                             const sources& from);

}  // namespace sluice::query
