#pragma once

#include <memory>
#include <optional>

#include "core/query/answering.hpp"

/// Answers from what a file says of itself (core/trace/summary_rows.hpp), without an index of all its events. Private to core/query.
namespace sluice::query {

/// Reads the summaries of a file; null if it has none, or not all that it takes. Reads the disk; O(summaries of the whole).
/// `memory_bytes`: see engine_options.
[[nodiscard]] std::shared_ptr<stored_answers> load_stored(const std::shared_ptr<const trace::snapshot>& trace,
                                                          std::size_t memory_bytes);

/// The answer, if `from.stored` or the rows have it; `from.index` is not looked at. Else nothing, and an index has to answer.
template <class Question>
[[nodiscard]] std::optional<result<typename Question::answer_type>> answer_stored(const Question& question,
                                                                                  const sources& from);

}  // namespace sluice::query
