#pragma once

#include <memory>

#include "core/query/answers/answer_functions.hpp"
#include "core/query/engine/long_answer.hpp"

/// Answers of panels that take long. Private to core/query.
namespace sluice::query {

/// What `from` refers to must outlive the result; `from.stored` may be null.
[[nodiscard]] std::unique_ptr<long_answer<duration_histogram>> start_long_panel(const durations_question& question,
                                                                                const sources& from);
/// Null for a file without summaries.
[[nodiscard]] std::unique_ptr<long_answer<step_statistics>> start_long_panel(const step_statistics_question& question,
                                                                             const sources& from);

/// As `answer_to`, but measures only the steps that were not settled in the answer `before` to the same question; null: all.
[[nodiscard]] result<step_statistics> answer_after(const step_statistics* before,
                                                   const step_statistics_question& question, const sources& from);

}  // namespace sluice::query
