#include "app/gui/shell/screen_text.hpp"

#include "core/base/printable.hpp"
#include "core/query/types/block_uses.hpp"
#include "core/query/types/comparison.hpp"
#include "core/query/types/durations.hpp"
#include "core/query/types/generations.hpp"
#include "core/query/types/holes.hpp"
#include "core/query/types/host_stacks.hpp"
#include "core/query/types/idle_gaps.hpp"
#include "core/query/types/idle_lanes.hpp"
#include "core/query/types/memory_groups.hpp"
#include "core/query/types/memory_map.hpp"
#include "core/query/types/ranks.hpp"
#include "core/query/types/step_statistics.hpp"
#include "core/query/types/transfers.hpp"

namespace sluice::gui {
namespace {

// Each of the following functions calls `visit` for every text of a result, which may be const.

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

template <class Words, class Visit>
void texts_of_gap(Words& words, Visit&& visit) {
  visit(words.library);
  visit(words.place);
  texts_of_line(words.line, visit);
}

template <class Failure, class Visit>
void texts_of_failure(Failure& subject, Visit&& visit) {
  for (auto& [label, said] : subject.facts) visit(said);
  for (auto& each : subject.changes) visit(each.text);
  for (auto* list : {&subject.lines, &subject.modules, &subject.unused, &subject.grown, &subject.pins})
    for (auto& each : list->lines) {
      texts_of_line(each.place.line, visit);
      visit(each.place.module);
    }
}

template <class Memory, class Visit>
void texts_of_difference(Memory& subject, Visit&& visit) {
  visit(subject.label);
  for (auto* groups : {&subject.lines, &subject.modules, &subject.categories})
    for (auto& each : *groups) visit(each.name), visit(each.place), texts_of_line(each.line, visit);
  for (auto& line : subject.flames.lines) texts_of_line(line, visit);
}

/// True for types of results that contain no text.
template <class Result>
constexpr bool has_no_text = false;
#define SLUICE_WITHOUT_TEXT(type) \
  template <>                     \
  constexpr bool has_no_text<type> = true;
SLUICE_WITHOUT_TEXT(metrics::compared_side)
SLUICE_WITHOUT_TEXT(metrics::range_statistics)
SLUICE_WITHOUT_TEXT(query::duration_histogram)
SLUICE_WITHOUT_TEXT(query::hole_curve)
SLUICE_WITHOUT_TEXT(query::memory_map)
SLUICE_WITHOUT_TEXT(query::memory_step)
SLUICE_WITHOUT_TEXT(query::rank_rows)
SLUICE_WITHOUT_TEXT(query::slice_list)
#undef SLUICE_WITHOUT_TEXT

template <class Result, class Visit>
void get_texts(Result& result, Visit&& visit) {
  if constexpr (requires { result.tracks; }) {
    for (auto& each : result.tracks) visit(each.label), visit(each.detail);
  } else if constexpr (requires { result.bands; }) {
    for (auto& each : result.bands) visit(each.label);
    for (auto& each : result.limits) visit(each.label);
  } else if constexpr (requires { result.details; }) {
    visit(result.title);
    for (auto& each : result.details) visit(each.label), visit(each.value);
    for (auto& each : result.stack) texts_of_line(each, visit);
  } else if constexpr (requires { result.asked_by; }) {
    for (auto& each : result.names) visit(each);
  } else if constexpr (requires { result.generations; }) {
    for (auto& each : result.choices) visit(each.label);
    for (auto& each : result.generations)
      for (auto& group : each.groups) visit(group.name), visit(group.place);
  } else if constexpr (requires { result.values; }) {
    for (auto& each : result.values) visit(each.label);
    for (auto& each : result.memory) texts_of_difference(each, visit);
  } else if constexpr (requires { result.choices; }) {
    for (auto& each : result.lines) texts_of_line(each, visit);
    for (auto& each : result.choices) visit(each.label);
  } else if constexpr (requires { result.findings; }) {
    visit(result.verdict.text), visit(result.verdict.headline), visit(result.verdict.opportunity);
    for (auto& each : result.processes) visit(each.command);
    for (auto& each : result.findings) {
      visit(each.text), visit(each.advice), visit(each.detail);
      texts_of_place(each.where, visit);
    }
    for (auto& each : result.copying)
      for (auto& use : each.uses.lines) texts_of_line(use.line, visit);
    for (auto& each : result.unused)
      for (auto& group : each.groups) texts_of_line(group.line, visit);
    for (auto& each : result.out_of_memory) texts_of_failure(each, visit);
  } else if constexpr (requires { result.cells; }) {
    for (auto& each : result.lines) texts_of_place(each.place, visit);
    for (auto& each : result.round_trips) texts_of_place(each.down, visit), texts_of_place(each.up, visit);
  } else if constexpr (requires { result.gaps; }) {
    for (auto& each : result.gaps) texts_of_gap(each.host, visit);
    for (auto& each : result.lines) visit(each.place), texts_of_line(each.line, visit);
  } else if constexpr (requires { result.lanes; }) {
    for (auto& each : result.words) texts_of_gap(each, visit);
  } else if constexpr (requires { result.next.begin(); }) {
    for (auto& each : result.host) texts_of_line(each, visit);
    for (auto& each : result.next) texts_of_line(each, visit);
  } else if constexpr (requires { result.states; }) {
    for (auto& each : result.view.lines) texts_of_line(each, visit);
  } else if constexpr (requires { result.group_count; }) {
    for (auto& each : result.groups) visit(each.label);
  } else if constexpr (requires { result.name_count; }) {
    for (auto& each : result.lines) visit(each);
  } else if constexpr (requires { result.allocators; }) {
    for (auto& each : result.allocators) visit(each.label);
  } else if constexpr (requires {
                         result.step_count;
                         result.metrics;
                         result.measured;
                       }) {
    for (auto& each : result.processes) visit(each.label);
    for (auto& each : result.metrics) visit(each.label);
  } else if constexpr (requires {
                         result.kernels_known;
                         result.uses;
                       }) {
    for (auto& each : result.uses) visit(each.name), visit(each.line), visit(each.stream);
  } else if constexpr (requires { result.begin()->severity; }) {
    for (auto& each : result) visit(each.text);
  } else {
    static_assert(has_no_text<std::remove_const_t<Result>>,
                  "visit the texts of this result, or list it with SLUICE_WITHOUT_TEXT");
  }
}

}  // namespace

std::string make_label(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '#' && line.ends_with('#')) line += "\xE2\x80\x8A";  // hair space
    line += c;
  }
  return line;
}

template <class Result>
std::shared_ptr<const Result> for_screen(std::shared_ptr<const Result> result) {
  if (!result) return result;
  bool tame = true;
  get_texts(*result, [&](const std::string& text) { tame = tame && is_printable(text); });
  if (tame) return result;
  auto output = std::make_shared<Result>(*result);
  get_texts(*output, [](std::string& text) { text = printable(text); });
  return output;
}

#define SLUICE_FOR_SCREEN(type) \
  template std::shared_ptr<const query::type::result_type> for_screen(std::shared_ptr<const query::type::result_type>);
SLUICE_FOR_SCREEN(tracks_query)
SLUICE_FOR_SCREEN(slices_query)
SLUICE_FOR_SCREEN(series_query)
SLUICE_FOR_SCREEN(blocks_query)
SLUICE_FOR_SCREEN(statistics_query)
SLUICE_FOR_SCREEN(report_query)
SLUICE_FOR_SCREEN(details_query)
SLUICE_FOR_SCREEN(stacks_query)
SLUICE_FOR_SCREEN(messages_query)
SLUICE_FOR_SCREEN(search_query)
SLUICE_FOR_SCREEN(memory_map_query)
SLUICE_FOR_SCREEN(memory_step_query)
SLUICE_FOR_SCREEN(what_if_query)
SLUICE_FOR_SCREEN(transfers_query)
SLUICE_FOR_SCREEN(idle_gaps_query)
SLUICE_FOR_SCREEN(host_stacks_query)
SLUICE_FOR_SCREEN(idle_lanes_query)
SLUICE_FOR_SCREEN(gap_stacks_query)
SLUICE_FOR_SCREEN(ranks_query)
SLUICE_FOR_SCREEN(memory_groups_query)
SLUICE_FOR_SCREEN(compared_side_query)
SLUICE_FOR_SCREEN(comparison_query)
SLUICE_FOR_SCREEN(generations_query)
SLUICE_FOR_SCREEN(holes_query)
SLUICE_FOR_SCREEN(durations_query)
SLUICE_FOR_SCREEN(step_statistics_query)
SLUICE_FOR_SCREEN(block_uses_query)
#undef SLUICE_FOR_SCREEN

}  // namespace sluice::gui
