#pragma once

#include <optional>

#include "core/query/answers/answer_functions.hpp"

/// Answers from the figures that a file stores about the whole recording, equal to those of an index of all events;
/// nullopt for other questions. `sources::stored` must be set; `sources::index` is not used. Private to core/query.
namespace sluice::query {

[[nodiscard]] std::optional<result<analysis::range_statistics>> answer_from_figures(const statistics_question& question,
                                                                                    const sources& from);
[[nodiscard]] std::optional<result<analysis::report>> answer_from_figures(const report_question& question,
                                                                          const sources& from);
[[nodiscard]] std::optional<result<std::vector<message>>> answer_from_figures(const messages_question& question,
                                                                              const sources& from);
/// Answers for the largest blocks of the recording, at most `stored_figures::block_limit`.
[[nodiscard]] std::optional<result<block_table>> answer_from_figures(const blocks_question& question,
                                                                     const sources& from);
/// Answers for peaks, allocations and copies of the whole recording, but not copies of one direction on all devices.
[[nodiscard]] std::optional<result<stack_view>> answer_from_figures(const stacks_question& question,
                                                                    const sources& from);
/// Answers for the whole recording.
[[nodiscard]] std::optional<result<analysis::compared_side>> answer_from_figures(const compared_side_question& question,
                                                                                 const sources& from);
/// Always answers: the question brings its figures with it.
[[nodiscard]] std::optional<result<analysis::comparison>> answer_from_figures(const comparison_question& question,
                                                                              const sources& from);

/// No answer to any other question.
template <class Question>
[[nodiscard]] std::optional<result<typename Question::answer_type>> answer_from_figures(const Question& /*question*/,
                                                                                        const sources& /*from*/) {
  return std::nullopt;
}

}  // namespace sluice::query
