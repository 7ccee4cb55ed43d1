#pragma once

#include <optional>

#include "core/query/answers/answer_functions.hpp"

/// Which questions are answered from a file's stored figures, without an index of its events: those about the recording as a whole. Every
/// answer is the one that the index would give; nullopt where it takes the index. Of `sources` the index is not looked at, and
/// `stored->stored_figures` has to be there. Private to core/query.
namespace sluice::query {

[[nodiscard]] std::optional<result<analysis::range_statistics>> answer_from_figures(const statistics_question& question,
                                                                                    const sources& from);
[[nodiscard]] std::optional<result<analysis::report>> answer_from_figures(const report_question& question,
                                                                          const sources& from);
[[nodiscard]] std::optional<result<std::vector<message>>> answer_from_figures(const messages_question& question,
                                                                              const sources& from);
/// The biggest blocks of all, at most `stored_figures::block_limit`.
[[nodiscard]] std::optional<result<block_table>> answer_from_figures(const blocks_question& question,
                                                                     const sources& from);
/// Peaks, allocations and copies of the whole recording; not of one direction on all devices.
[[nodiscard]] std::optional<result<stack_view>> answer_from_figures(const stacks_question& question,
                                                                    const sources& from);

/// No other question is.
template <class Question>
[[nodiscard]] std::optional<result<typename Question::answer_type>> answer_from_figures(const Question& /*question*/,
                                                                                        const sources& /*from*/) {
  return std::nullopt;
}

}  // namespace sluice::query
