#include "core/query/results/panels/gap_reader.hpp"

#include <span>
#include <utility>

namespace sluice::query {

std::optional<symbols::line_id> gap_reader::find_line(const metrics::host_cause& cause) {
  if (cause.line == 0) return std::nullopt;
  const auto lines = names_.book.get_lines(trace::frame_id{cause.line}, tables_, names_.lookup);
  if (names_.provisional != nullptr) *names_.provisional |= lines.provisional;
  return lines.ids.empty() ? std::nullopt : std::optional(lines.ids.front());
}

gap_words gap_reader::describe(const metrics::work_times& host, trace::stack_id stack, bool stack_is_next) {
  metrics::sampled_causes causes;
  for (const auto& [work, time] : host) causes.add(reasons_.find(work, tables_), work.stack, time);
  metrics::sampled_verdict verdict = causes.judge();
  gap_words words;
  words.reason = verdict.cause.reason;
  words.stack = verdict.stack;
  if (causes.total() > 0) words.share = static_cast<double>(verdict.time) / static_cast<double>(causes.total());
  const std::optional<symbols::line_id> line = find_line(verdict.cause);
  words.library = std::move(verdict.cause.library);
  if (line) {
    metrics::code_place place;
    place.known = true;
    place.line = names_.book.describe(std::span(&*line, 1), tables_).front();
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
