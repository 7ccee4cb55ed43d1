#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/index/index.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/query/answers/memory_map.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/engine/prefetcher.hpp"
#include "core/summary/figures/stored_figures.hpp"
#include "core/summary/sections/section_cache.hpp"
#include "core/summary/tiles/stored_tiles.hpp"

/// How each question is answered: plain functions of an index and a snapshot. Private to core/query.
namespace sluice::query {

/// The axis that copies of a direction are drawn on: those over the host's link share one; those inside a device and between devices
/// are so much faster that each has its own.
[[nodiscard]] constexpr trace::direction axis_of(trace::direction way) {
  return way == trace::direction::d2d || way == trace::direction::p2p ? way : trace::direction::unknown;
}

/// What the file of a recording says by itself: no event need be taken in for it.
struct stored_answers {
  std::shared_ptr<const analysis::stored_tiles> tiles;
  std::shared_ptr<const analysis::stored_figures> stored_figures;
  std::shared_ptr<const analysis::tensor_facts> facts;  ///< The steps; no categories.
  std::shared_ptr<analysis::section_cache> parts;       ///< Of its sections; null if it does not tell enough of them.
  using section_source = decltype(analysis::bin_sources::sections);
  section_source at_hand;             ///< Those of them that need not be read, for zooms below the tiles.
  std::shared_ptr<prefetcher> ahead;  ///< Null where `parts` is.
};

/// What is read from the file for what is drawn; the rest is drawn from what is at hand.
enum class drawn_from : std::uint8_t { memory, tiles, sections };

struct sources {
  const analysis::index& index;
  const trace::snapshot& trace;
  const std::atomic<bool>& cancelled;  ///< Set when nobody wants the answer any more.
  symbols::frame_book& frames;
  symbols::frame_book::patience patience = symbols::frame_book::patience::at_once;  ///< For native symbols.
  const stored_answers* stored = nullptr;  ///< Where it answers, `index` may be empty.
  analysis::bin_detail* detail = nullptr;  ///< Raised where what is drawn says less than was asked.
  bool& provisional;  ///< Set by an answer that has frames whose symbols are still to be looked up.
  drawn_from draws = drawn_from::sections;
};

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
/// O(blocks + live blocks * log of them).
[[nodiscard]] result<memory_map> answer_to(const memory_map_question& question, const sources& from);
/// O(blocks). Of an index of a part it is right if it lies inside the part, and else no answer.
[[nodiscard]] result<memory_step> answer_to(const memory_step_question& question, const sources& from);

/// Every kind of question: X(question).
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
  X(memory_step_question)

/// Questions of the timeline, which tiles answer.
template <class Question>
inline constexpr bool draws = std::is_same_v<Question, tracks_question> || std::is_same_v<Question, slices_question> ||
                              std::is_same_v<Question, series_question>;

/// What an index of a part must know for an answer.
template <class Question>
[[nodiscard]] constexpr analysis::section_scope scope_of(const Question& question) {
  using analysis::section_scope;
  constexpr bool about_blocks = std::is_same_v<Question, blocks_question> ||
                                std::is_same_v<Question, memory_map_question> ||
                                std::is_same_v<Question, memory_step_question>;
  if constexpr (std::is_same_v<Question, stacks_question>)
    return question.measure == stack_measure::transferred ? section_scope::everything : section_scope::memory;
  if constexpr (about_blocks) return section_scope::memory;
  if constexpr (std::is_same_v<Question, statistics_question>) return section_scope::figures;
  return draws<Question> ? section_scope::timeline : section_scope::everything;
}

/// Answers that come from the file's rows alone, so that who works one out keeps nobody from the index.
template <class Question>
inline constexpr bool reads_rows = std::is_same_v<Question, search_question>;

/// No view is wider; bounds what a question can cost.
inline constexpr std::uint32_t widest_view = 16384;

/// The steps, and what blocks are for where that is known: `tensor_facts::steps` always are.
[[nodiscard]] inline std::shared_ptr<const analysis::tensor_facts> facts_of(const sources& from) {
  return from.stored != nullptr ? from.stored->facts : from.index.tensors(from.trace);
}

// --- tracks ---------------------------------------------------------------------------------------------------------

/// The id of the track that has these properties: a hash of them, so that it does not change while a trace grows.
[[nodiscard]] std::uint64_t track_id(const track& of);

/// Every track without its words, in no order.
void for_each_track(const sources& from, const std::function<void(track&&)>& visit);

/// The track of that id, without its words; not_found if there is none.
[[nodiscard]] result<track> find_track(std::uint64_t id, const sources& from);

}  // namespace sluice::query
