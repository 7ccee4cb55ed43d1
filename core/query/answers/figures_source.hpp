#pragma once

#include <optional>

#include "core/query/answers/answer_functions.hpp"

/// Answers questions about the whole recording from a file's stored figures, with the result that an index would give.
/// Returns nullopt if the index is needed. Does not use the index in `sources`; `stored->stored_figures` must be set.
/// Private to core/query.
namespace sluice::query {

[[nodiscard]] std::optional<result<analysis::range_statistics>> answer_from_figures(const statistics_question& question,
                                                                                    const sources& from);
[[nodiscard]] std::optional<result<analysis::report>> answer_from_figures(const report_question& question,
                                                                          const sources& from);
[[nodiscard]] std::optional<result<std::vector<message>>> answer_from_figures(const messages_question& question,
                                                                              const sources& from);
/// For the largest blocks of all, at most `stored_figures::block_limit`.
[[nodiscard]] std::optional<result<block_table>> answer_from_figures(const blocks_question& question,
                                                                     const sources& from);
/// For peaks, allocations and copies of the whole recording, but not for one direction on all devices.
[[nodiscard]] std::optional<result<stack_view>> answer_from_figures(const stacks_question& question,
                                                                    const sources& from);

/// All other questions need the index.
template <class Question>
[[nodiscard]] std::optional<result<typename Question::answer_type>> answer_from_figures(const Question& /*question*/,
                                                                                        const sources& /*from*/) {
  return std::nullopt;
}

}  // namespace sluice::query
