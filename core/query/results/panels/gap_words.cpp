#include "core/query/results/panels/gap_words.hpp"

#include <algorithm>
#include <span>

namespace sluice::query {

gap_words gap_reader::describe(const std::vector<metrics::host_share>& host, trace::stack_id stack,
                               bool stack_is_next) {
  gap_words words;
  const metrics::sampled_verdict verdict = verdicts_.judge(host);
  words.reason = verdict.reason;
  words.library = verdict.library;
  words.stack = verdict.stack;
  if (verdict.sampled > 0) words.share = static_cast<double>(verdict.time) / static_cast<double>(verdict.sampled);
  if (verdict.line) {
    metrics::code_place place;
    place.known = true;
    place.line = names_.book.describe(std::span(&*verdict.line, 1), tables_).front();
    words.place = to_text(place);
    words.line = std::move(place.line);
    return words;
  }
  const metrics::code_place& place = places_.of(stack);
  words.place = to_text(place);
  words.line = place.line;
  words.place_is_next = stack_is_next;
  return words;
}

}  // namespace sluice::query
