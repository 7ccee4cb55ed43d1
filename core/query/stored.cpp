#include "core/query/stored.hpp"

#include "core/query/answers_from_digest.hpp"

namespace sluice::query {

std::shared_ptr<stored_answers> load_stored(const std::shared_ptr<const trace::snapshot>& trace) {
  auto made = std::make_shared<stored_answers>();
  made->tiles = analysis::stored_tiles::of(trace);
  if (!made->tiles) return nullptr;
  made->digest = analysis::find_digest(*trace);
  if (!made->digest) return nullptr;
  auto facts = std::make_shared<analysis::tensor_facts>();
  for (const analysis::process_steps& each : made->digest->steps) {
    facts->steps.emplace(each.process, each.steps);
    facts->step_slices.emplace(each.process, analysis::step_slices_of(each.steps));
  }
  made->facts = std::move(facts);
  return made;
}

template <class Question>
std::optional<result<typename Question::answer_type>> answer_stored(const Question& question, const sources& from) {
  constexpr bool drawn = std::is_same_v<Question, tracks_question> || std::is_same_v<Question, slices_question> ||
                         std::is_same_v<Question, series_question>;
  if constexpr (reads_rows<Question>) {
    return answer_to(question, from);
  } else if constexpr (drawn) {
    bool coarse = false;
    sources by_tiles = from;
    by_tiles.coarse = &coarse;
    auto found = answer_to(question, by_tiles);
    if (coarse) return std::nullopt;
    return found;
  } else {
    return answer_from_digest(question, from);
  }
}

#define SLUICE_QUESTION(Q) template std::optional<result<Q::answer_type>> answer_stored<Q>(const Q&, const sources&);
SLUICE_FOR_EACH_QUESTION(SLUICE_QUESTION)
#undef SLUICE_QUESTION

}  // namespace sluice::query
