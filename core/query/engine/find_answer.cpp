#include "core/query/engine/find_answer.hpp"

#include "core/query/engine/figure_source.hpp"

namespace sluice::query {
namespace {

/// Draws from stored bins and, below the smallest of them, from indexes of sections.
template <class Question>
std::optional<result<typename Question::answer_type>> answer_from_bins(const Question& question, const sources& from) {
  auto detail = analysis::bin_detail::exact;
  sources drawn = from;
  drawn.detail = &detail;
  auto found = answer_to(question, drawn);
  // A file that describes no sections cannot be drawn below its smallest bins.
  if (detail != analysis::bin_detail::exact && from.draws == drawn_from::sections) return std::nullopt;
  if (from.detail != nullptr) *from.detail = detail;
  return found;
}

}  // namespace

template <class Question>
std::optional<result<typename Question::answer_type>> find_answer(const Question& question, const sources& from) {
  if constexpr (draws<Question>) return answer_from_bins(question, from);
  auto found = answer_from_figures(question, from);
  return found ? std::move(found) : answer_from_rows(question, from);
}

#define SLUICE_QUESTION(Q) template std::optional<result<Q::answer_type>> find_answer<Q>(const Q&, const sources&);
SLUICE_FOR_EACH_QUESTION(SLUICE_QUESTION)
#undef SLUICE_QUESTION

}  // namespace sluice::query
