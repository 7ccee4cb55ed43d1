#include "app/gui/window/screen_text.hpp"

#include "core/base/printable.hpp"
#include "core/query/answers/memory_map.hpp"
#include "core/query/answers/panels/comparison.hpp"
#include "core/query/answers/panels/durations.hpp"
#include "core/query/answers/panels/generations.hpp"
#include "core/query/answers/panels/holes.hpp"
#include "core/query/answers/panels/idle_gaps.hpp"
#include "core/query/answers/panels/memory_groups.hpp"
#include "core/query/answers/panels/ranks.hpp"
#include "core/query/answers/panels/step_statistics.hpp"
#include "core/query/answers/panels/transfers.hpp"

namespace sluice::gui {
namespace {

// Each of these functions calls `visit` for every text of an answer (const or not).

template <class Line, class Visit>
void texts_of_line(Line& line, Visit&& visit) {
  visit(line.function);
  visit(line.file);
  visit(line.module);
  visit(line.missing);
  visit(line.source);
}

template <class Place, class Visit>
void texts_of_place(Place& place, Visit&& visit) {
  texts_of_line(place.line, visit);
  texts_of_line(place.caller, visit);
  visit(place.module);
}

template <class Failure, class Visit>
void texts_of_failure(Failure& of, Visit&& visit) {
  for (auto& [label, said] : of.facts) visit(said);
  for (auto& each : of.changes) visit(each.text);
  for (auto* list : {&of.lines, &of.modules, &of.unused, &of.grown, &of.pins})
    for (auto& each : list->lines) {
      texts_of_line(each.place.line, visit);
      visit(each.place.module);
    }
}

template <class Memory, class Visit>
void texts_of_difference(Memory& of, Visit&& visit) {
  visit(of.label);
  for (auto* groups : {&of.lines, &of.modules, &of.categories})
    for (auto& each : *groups) visit(each.name), visit(each.place), texts_of_line(each.line, visit);
  for (auto& line : of.flames.lines) texts_of_line(line, visit);
}

template <class Answer, class Visit>
void texts_of(Answer& answer, Visit&& visit) {
  if constexpr (requires { answer.tracks; }) {
    for (auto& each : answer.tracks) visit(each.label), visit(each.detail);
  } else if constexpr (requires { answer.bands; }) {
    for (auto& each : answer.bands) visit(each.label);
    for (auto& each : answer.limits) visit(each.label);
  } else if constexpr (requires { answer.details; }) {
    visit(answer.title);
    for (auto& each : answer.details) visit(each.label), visit(each.value);
    for (auto& each : answer.stack) texts_of_line(each, visit);
  } else if constexpr (requires { answer.asked_by; }) {
    for (auto& each : answer.names) visit(each);
  } else if constexpr (requires { answer.generations; }) {
    for (auto& each : answer.choices) visit(each.label);
    for (auto& each : answer.generations)
      for (auto& group : each.groups) visit(group.name), visit(group.place);
  } else if constexpr (requires { answer.values; }) {
    for (auto& each : answer.values) visit(each.label);
    for (auto& each : answer.memory) texts_of_difference(each, visit);
  } else if constexpr (requires { answer.choices; }) {
    for (auto& each : answer.lines) texts_of_line(each, visit);
    for (auto& each : answer.choices) visit(each.label);
  } else if constexpr (requires { answer.findings; }) {
    for (auto& each : answer.processes) visit(each.command);
    for (auto& each : answer.findings) {
      visit(each.text), visit(each.advice), visit(each.where.module);
      texts_of_line(each.where.line, visit);
    }
    for (auto& each : answer.copying)
      for (auto& use : each.uses.lines) texts_of_line(use.line, visit);
    for (auto& each : answer.unused)
      for (auto& group : each.groups) texts_of_line(group.line, visit);
    for (auto& each : answer.out_of_memory) texts_of_failure(each, visit);
  } else if constexpr (requires { answer.cells; }) {
    for (auto& each : answer.lines) texts_of_place(each.place, visit);
    for (auto& each : answer.round_trips) texts_of_place(each.down, visit), texts_of_place(each.up, visit);
  } else if constexpr (requires { answer.gaps; }) {
    for (auto& each : answer.gaps) visit(each.place), texts_of_line(each.line, visit);
    for (auto& each : answer.lines) visit(each.place), texts_of_line(each.line, visit);
  } else if constexpr (requires { answer.group_count; }) {
    for (auto& each : answer.groups) visit(each.label);
  } else if constexpr (requires { answer.name_count; }) {
    for (auto& each : answer.lines) visit(each);
  } else if constexpr (requires { answer.allocators; }) {
    for (auto& each : answer.allocators) visit(each.label);
  } else if constexpr (requires {
                         answer.step_count;
                         answer.figures;
                         answer.measured;
                       }) {
    for (auto& each : answer.processes) visit(each.label);
    for (auto& each : answer.figures) visit(each.label);
  } else if constexpr (requires { answer.begin()->severity; }) {
    for (auto& each : answer) visit(each.text);
  }
}

}  // namespace

std::string label_of(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '#' && made.ends_with('#')) made += "\xE2\x80\x8A";  // hair space
    made += c;
  }
  return made;
}

template <class Answer>
std::shared_ptr<const Answer> for_screen(std::shared_ptr<const Answer> answer) {
  if (!answer) return answer;
  bool tame = true;
  texts_of(*answer, [&](const std::string& text) { tame = tame && is_printable(text); });
  if (tame) return answer;
  auto made = std::make_shared<Answer>(*answer);
  texts_of(*made, [](std::string& text) { text = printable(text); });
  return made;
}

#define SLUICE_FOR_SCREEN(question)                                        \
  template std::shared_ptr<const query::question::answer_type> for_screen( \
      std::shared_ptr<const query::question::answer_type>);
SLUICE_FOR_SCREEN(tracks_question)
SLUICE_FOR_SCREEN(slices_question)
SLUICE_FOR_SCREEN(series_question)
SLUICE_FOR_SCREEN(blocks_question)
SLUICE_FOR_SCREEN(statistics_question)
SLUICE_FOR_SCREEN(report_question)
SLUICE_FOR_SCREEN(details_question)
SLUICE_FOR_SCREEN(stacks_question)
SLUICE_FOR_SCREEN(messages_question)
SLUICE_FOR_SCREEN(search_question)
SLUICE_FOR_SCREEN(memory_map_question)
SLUICE_FOR_SCREEN(memory_step_question)
SLUICE_FOR_SCREEN(what_if_question)
SLUICE_FOR_SCREEN(transfers_question)
SLUICE_FOR_SCREEN(idle_gaps_question)
SLUICE_FOR_SCREEN(ranks_question)
SLUICE_FOR_SCREEN(memory_groups_question)
SLUICE_FOR_SCREEN(compared_side_question)
SLUICE_FOR_SCREEN(comparison_question)
SLUICE_FOR_SCREEN(generations_question)
SLUICE_FOR_SCREEN(holes_question)
SLUICE_FOR_SCREEN(durations_question)
SLUICE_FOR_SCREEN(step_statistics_question)
#undef SLUICE_FOR_SCREEN

}  // namespace sluice::gui
