#include "core/query/stored.hpp"

#include <algorithm>

#include "core/query/answers_from_digest.hpp"

namespace sluice::query {
namespace {

/// What the program takes beside indexes of parts: itself, the window, caches of tiles and chunks.
constexpr std::size_t taken_otherwise = 150'000'000;
/// Some two epochs.
constexpr std::size_t least_for_parts = 40'000'000;
/// A question about more epochs than these is one for an index of all.
constexpr std::size_t most_epochs = 8;

// --- when a question is about ---------------------------------------------------------------------------------------

std::optional<time_range> time_of(const blocks_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const statistics_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const stacks_question& question, const sources&) {
  if (question.measure == stack_measure::live) return time_range{question.at, question.at};
  return question.range;
}

std::optional<time_range> time_of(const address_map_question& question, const sources&) {
  return time_range{question.time, question.time};
}

/// The time of the row in `chunk` whose `key` column holds `id`.
template <class Row, class Key, class Id>
std::optional<time_ns> find_row(const trace::snapshot& trace, std::size_t chunk, Key key, Id id) {
  std::vector<Id> ids;
  std::vector<time_ns> times;
  if (!trace.read_column<Row>(chunk, key, ids)) return std::nullopt;
  const auto found = std::find(ids.begin(), ids.end(), id);
  if (found == ids.end() || !trace.read_column<Row>(chunk, &Row::time, times)) return std::nullopt;
  return times[static_cast<std::size_t>(found - ids.begin())];
}

std::optional<time_ns> find_event(const trace::snapshot& trace, std::size_t chunk, trace::event_id id) {
  const trace::row_type type = trace.chunks()[chunk].type;
  if (type == trace::row_type::attribute || type == trace::row_type::link) return std::nullopt;  // About other events.
  switch (type) {
#define SLUICE_FIND(row, kind)                                                                                     \
  case trace::row_type::kind:                                                                                      \
    if constexpr (trace::is_event_row<trace::row>) return find_row<trace::row>(trace, chunk, &trace::row::id, id); \
    return std::nullopt;
    SLUICE_FOR_EACH_ROW(SLUICE_FIND)
#undef SLUICE_FIND
    default:
      return std::nullopt;
  }
}

/// Of an event, its own time; of a block, that of its birth.
std::optional<time_range> time_of(const details_question& question, const sources& from) {
  for (const analysis::chunk_reach& reach : from.stored->parts->store().whole()->chunks) {
    if (reach.chunk >= from.trace.chunks().size()) continue;
    std::optional<time_ns> found;
    if (question.event != trace::event_id::none) {
      if (raw(question.event) < reach.lowest || raw(question.event) > reach.highest) continue;
      found = find_event(from.trace, reach.chunk, question.event);
    } else if (raw(question.block) >= reach.lowest_block && raw(question.block) <= reach.highest_block) {
      const trace::row_type type = from.trace.chunks()[reach.chunk].type;
      if (type == trace::row_type::alloc)
        found = find_row<trace::alloc_event>(from.trace, reach.chunk, &trace::alloc_event::block, question.block);
      if (type == trace::row_type::live_block)
        found = find_row<trace::live_block_event>(from.trace, reach.chunk, &trace::alloc_event::block, question.block);
    }
    if (found) return time_range{*found, *found};
  }
  return std::nullopt;
}

/// No other question is about a short time.
template <class Question>
std::optional<time_range> time_of(const Question& /*question*/, const sources& /*from*/) {
  return std::nullopt;
}

/// The answer of an index of the epochs that the question is about, if they are few.
template <class Question>
std::optional<result<typename Question::answer_type>> answer_by_part(const Question& question, const sources& from) {
  if (!from.stored->parts) return std::nullopt;
  const std::optional<time_range> about = time_of(question, from);
  if (!about) return std::nullopt;
  const time_range range = analysis::bounded(*about);
  analysis::part_cache& parts = *from.stored->parts;
  const std::size_t first = parts.store().epoch_at(range.begin);
  const std::size_t last = parts.store().epoch_at(std::max(range.begin, range.end - 1));
  if (last - first >= most_epochs) return std::nullopt;
  const auto part = parts.get(first, last);
  if (!part) return std::nullopt;
  return answer_to(question, sources{**part, from.trace, from.cancelled, from.frames, from.patience, nullptr, nullptr,
                                     from.provisional});
}

/// Whether a block may be born or die in `run`.
bool has_memory(const trace::snapshot& trace, time_range run) {
  return std::any_of(trace.chunks().begin(), trace.chunks().end(), [&](const trace::chunk_info& chunk) {
    const bool tells = chunk.type == trace::row_type::alloc || chunk.type == trace::row_type::free ||
                       chunk.type == trace::row_type::live_block || chunk.type == trace::row_type::checkpoint;
    return tells && chunk.min_time < run.end && chunk.max_time >= run.begin;
  });
}

/// Goes from epoch to epoch until there is a step.
std::optional<result<memory_step>> step_by_parts(const memory_step_question& question, const sources& from) {
  if (!from.stored->parts) return std::nullopt;
  analysis::part_cache& parts = *from.stored->parts;
  const std::size_t last = parts.store().epochs().size() - 1;
  for (std::size_t epoch = parts.store().epoch_at(analysis::bounded(question.time));;
       question.forward ? ++epoch : --epoch) {
    if (from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
    const time_range run = parts.store().run_of(epoch, epoch);
    memory_step found{.since = question.time, .forward = question.forward};
    if (has_memory(from.trace, run)) {
      const auto part = parts.get(epoch, epoch);
      if (!part) return std::nullopt;
      auto step = answer_to(question, sources{**part, from.trace, from.cancelled, from.frames, from.patience, nullptr,
                                              nullptr, from.provisional});
      if (!step) return step;
      // What it knows of other epochs are only the blocks that live in this one too.
      if (step->time != trace::unknown_time && step->time >= run.begin && step->time < run.end) found = *step;
    }
    if (found.time != trace::unknown_time || epoch == (question.forward ? last : 0)) return found;
  }
}

}  // namespace

std::shared_ptr<stored_answers> load_stored(const std::shared_ptr<const trace::snapshot>& trace,
                                            std::size_t memory_bytes) {
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
  if (auto parts = analysis::part_store::open(trace, facts->steps)) {
    const std::size_t left = memory_bytes > taken_otherwise ? memory_bytes - taken_otherwise : 0;
    made->parts = std::make_shared<analysis::part_cache>(std::move(*parts), std::max(left, least_for_parts));
    made->epochs = [parts = made->parts](std::size_t epoch) {
      auto part = parts->get(epoch, epoch);
      return part ? std::move(*part) : nullptr;
    };
    made->at_hand = [parts = made->parts](std::size_t epoch) { return parts->at_hand(epoch, epoch); };
  }
  made->facts = std::move(facts);
  return made;
}

template <class Question>
std::optional<result<typename Question::answer_type>> answer_stored(const Question& question, const sources& from) {
  if constexpr (reads_rows<Question>) {
    return answer_to(question, from);
  } else if constexpr (draws<Question>) {
    bool coarse = false;
    sources by_tiles = from;
    by_tiles.coarse = &coarse;
    auto found = answer_to(question, by_tiles);
    if (coarse && !from.in_haste) return std::nullopt;
    if (from.coarse != nullptr) *from.coarse = coarse;
    return found;
  } else if constexpr (std::is_same_v<Question, memory_step_question>) {
    return step_by_parts(question, from);
  } else {
    auto found = answer_from_digest(question, from);
    return found ? std::move(found) : answer_by_part(question, from);
  }
}

#define SLUICE_QUESTION(Q) template std::optional<result<Q::answer_type>> answer_stored<Q>(const Q&, const sources&);
SLUICE_FOR_EACH_QUESTION(SLUICE_QUESTION)
#undef SLUICE_QUESTION

}  // namespace sluice::query
