#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/index/index.hpp"
#include "core/index/tensor_facts.hpp"
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
#include "core/query/engine/engine.hpp"
#include "core/query/engine/stored_sources.hpp"

/// The functions that answer each question from an index and a snapshot. Private to core/query.
namespace sluice::query {

/// The axis for drawing copies of a direction. Copies over the host's link share one axis; copies within a device and
/// copies between devices are so much faster that each of the two has its own.
[[nodiscard]] constexpr trace::direction axis_of(trace::direction way) {
  return way == trace::direction::d2d || way == trace::direction::p2p ? way : trace::direction::unknown;
}

/// What a drawing may read from the file. The rest is drawn, less exactly, from data in memory.
enum class drawn_from : std::uint8_t { memory, tiles, sections };

/// The data that one answer is made from.
struct sources {
  const analysis::index& index;  ///< Of the whole recording, or of the sections that the question is about.
  const trace::snapshot& trace;
  const std::atomic<bool>& cancelled;  ///< Set when the answer is no longer wanted.
  symbols::frame_book& frames;
  symbols::frame_book::lookup lookup = symbols::frame_book::lookup::at_once;  ///< For native symbols.
  const stored_sources* stored = nullptr;  ///< The file's summaries, or null. If these answer, `index` may be empty.
  analysis::bin_detail* detail = nullptr;  ///< Raised if a drawing is coarser than requested.
  bool& provisional;  ///< Set to true if symbols of some frames in the answer are not resolved yet.
  drawn_from draws = drawn_from::sections;
};

/// True if `from.stored` has the figures of `range`: the whole recording, or, while that grows, all that it had a little earlier and
/// maybe what came since.
[[nodiscard]] bool has_figures_of(time_range range, const sources& from);

[[nodiscard]] result<track_list> answer_to(const tracks_question& question, const sources& from);
[[nodiscard]] result<slice_list> answer_to(const slices_question& question, const sources& from);
[[nodiscard]] result<series> answer_to(const series_question& question, const sources& from);
[[nodiscard]] result<block_table> answer_to(const blocks_question& question, const sources& from);
[[nodiscard]] result<analysis::range_statistics> answer_to(const statistics_question& question, const sources& from);
[[nodiscard]] result<analysis::report> answer_to(const report_question& question, const sources& from);
[[nodiscard]] result<event_details> answer_to(const details_question& question, const sources& from);
[[nodiscard]] result<stack_view> answer_to(const stacks_question& question, const sources& from);
[[nodiscard]] result<std::vector<message>> answer_to(const messages_question& question, const sources& from);
[[nodiscard]] result<search_results> answer_to(const search_question& question, const sources& from);
/// O(blocks + live blocks * log(live blocks)).
[[nodiscard]] result<memory_map> answer_to(const memory_map_question& question, const sources& from);
/// O(blocks). From the index of a section the step is only valid if it lies inside the section.
[[nodiscard]] result<memory_step> answer_to(const memory_step_question& question, const sources& from);
[[nodiscard]] result<what_if_curves> answer_to(const what_if_question& question, const sources& from);
[[nodiscard]] result<analysis::copy_table> answer_to(const transfers_question& question, const sources& from);
[[nodiscard]] result<idle_gap_list> answer_to(const idle_gaps_question& question, const sources& from);
[[nodiscard]] result<rank_rows> answer_to(const ranks_question& question, const sources& from);
/// O(blocks * log blocks).
[[nodiscard]] result<memory_groups> answer_to(const memory_groups_question& question, const sources& from);
[[nodiscard]] result<analysis::compared_side> answer_to(const compared_side_question& question, const sources& from);
/// Uses neither the index nor the file: see comparison_question.
[[nodiscard]] result<analysis::comparison> answer_to(const comparison_question& question, const sources& from);
[[nodiscard]] result<generation_list> answer_to(const generations_question& question, const sources& from);
[[nodiscard]] result<hole_curve> answer_to(const holes_question& question, const sources& from);
[[nodiscard]] result<duration_histogram> answer_to(const durations_question& question, const sources& from);
[[nodiscard]] result<step_statistics> answer_to(const step_statistics_question& question, const sources& from);

/// Applies X to every type of question.
#define SLUICE_FOR_EACH_QUESTION(X) \
  X(tracks_question)                \
  X(slices_question)                \
  X(series_question)                \
  X(blocks_question)                \
  X(statistics_question)            \
  X(report_question)                \
  X(details_question)               \
  X(stacks_question)                \
  X(messages_question)              \
  X(search_question)                \
  X(memory_map_question)            \
  X(memory_step_question)           \
  X(what_if_question)               \
  X(transfers_question)             \
  X(idle_gaps_question)             \
  X(ranks_question)                 \
  X(memory_groups_question)         \
  X(compared_side_question)         \
  X(comparison_question)            \
  X(generations_question)           \
  X(holes_question)                 \
  X(durations_question)             \
  X(step_statistics_question)

/// True for the questions of the timeline, which are answered from bins.
template <class Question>
inline constexpr bool draws = std::is_same_v<Question, tracks_question> || std::is_same_v<Question, slices_question> ||
                              std::is_same_v<Question, series_question> || std::is_same_v<Question, ranks_question>;

/// What the index of a section must hold for the answer.
template <class Question>
[[nodiscard]] constexpr analysis::section_scope scope_of(const Question& question) {
  using analysis::section_scope;
  constexpr bool about_blocks =
      std::is_same_v<Question, memory_map_question> || std::is_same_v<Question, memory_step_question> ||
      std::is_same_v<Question, what_if_question> || std::is_same_v<Question, memory_groups_question> ||
      std::is_same_v<Question, generations_question> || std::is_same_v<Question, holes_question>;
  if constexpr (std::is_same_v<Question, stacks_question>)
    return question.measure == stack_measure::transferred ? section_scope::everything : section_scope::memory;
  if constexpr (std::is_same_v<Question, blocks_question>)
    return question.needs_uses() ? section_scope::everything : section_scope::memory;
  if constexpr (about_blocks) return section_scope::memory;
  if constexpr (std::is_same_v<Question, statistics_question>) return section_scope::figures;
  return draws<Question> ? section_scope::timeline : section_scope::everything;
}

/// True for questions that are answered by reading the file's rows one after another, without an index.
template <class Question>
inline constexpr bool reads_rows = std::is_same_v<Question, search_question>;

/// The largest `width` of a question, in pixels, which bounds its cost. No view is wider.
inline constexpr std::uint32_t widest_view = 16384;

/// The steps, and categories if known: `tensor_facts::steps` is always set.
[[nodiscard]] inline std::shared_ptr<const analysis::tensor_facts> facts_of(const sources& from) {
  return from.stored != nullptr ? from.stored->facts : from.index.tensors(from.trace);
}

// --- tracks ---------------------------------------------------------------------------------------------------------

/// The id of a track: a hash of the properties in `of`, so it does not change while a trace grows.
[[nodiscard]] std::uint64_t track_id(const track& of);

/// Visits every track, without labels, in no order.
void for_each_track(const sources& from, const std::function<void(track&&)>& visit);

/// The track with that id, without labels; not_found if there is none.
[[nodiscard]] result<track> find_track(std::uint64_t id, const sources& from);

}  // namespace sluice::query
