#pragma once

#include <optional>

#include "core/query/answers/answer_functions.hpp"
#include "core/query/engine/row_source.hpp"

namespace sluice::query {

/// Answers from what a file stores about itself: bins, figures, or the rows of some sections. nullopt if the answer
/// takes long (`start_long_answer`), or needs an index of the whole recording. `from.stored` must be set; `from.index`
/// is not used. Private to core/query.
template <class Question>
[[nodiscard]] std::optional<result<typename Question::answer_type>> find_answer(const Question& question,
                                                                                const sources& from);

}  // namespace sluice::query
