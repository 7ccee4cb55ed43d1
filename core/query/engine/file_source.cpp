#include "core/query/engine/file_source.hpp"

#include <algorithm>

#include "core/query/answers/figures_source.hpp"
#include "core/query/answers/search.hpp"
#include "core/query/engine/section_source.hpp"

namespace sluice::query {
namespace {

/// What the program takes beside the indexes of parts that it keeps: itself, the window, caches of tiles and chunks, and an index of
/// some sections while a question about a long time goes through them.
constexpr std::size_t taken_otherwise = 260'000'000;
/// Some eight sections.
constexpr std::size_t least_for_parts = 40'000'000;
/// A question about more sections than these is answered from them some at a time.
constexpr std::size_t most_sections = 16;
constexpr std::size_t sections_a_run = 6;

// --- when a question is about ---------------------------------------------------------------------------------------

std::optional<time_range> time_of(const blocks_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const statistics_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const stacks_question& question, const sources&) {
  if (question.measure == stack_measure::live) return time_range{question.at, question.at};
  return question.range;
}

std::optional<time_range> time_of(const memory_map_question& question, const sources&) {
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
  const bool by_event = question.event != trace::event_id::none;
  const auto chunks = from.stored->parts->store().whole()->chunks->find([&](const analysis::chunk_reach& reach) {
    return by_event ? raw(question.event) >= reach.lowest_event && raw(question.event) <= reach.highest_event
                    : raw(question.block) >= reach.lowest_block && raw(question.block) <= reach.highest_block;
  });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (from.cancelled) return std::nullopt;
    std::optional<time_ns> found;
    if (by_event) {
      found = find_event(from.trace, chunk, question.event);
    } else {
      const trace::row_type type = from.trace.chunks()[chunk].type;
      if (type == trace::row_type::alloc)
        found = find_row<trace::alloc_event>(from.trace, chunk, &trace::alloc_event::block, question.block);
      if (type == trace::row_type::live_block)
        found = find_row<trace::live_block_event>(from.trace, chunk, &trace::alloc_event::block, question.block);
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

struct section_run {
  std::size_t first = 0;
  std::size_t last = 0;
};

section_run sections_of(time_range range, const analysis::section_reader& store) {
  return {store.section_at(range.begin), store.section_at(std::max(range.begin, range.end - 1))};
}

/// Whether somebody still wants the answer.
std::function<bool()> wanted_still(const sources& from) {
  return [&cancelled = from.cancelled] { return !cancelled; };
}

sources about_part(const sources& from, const analysis::index& part, bool& provisional) {
  return {part, from.trace, from.cancelled, from.frames, from.patience, nullptr, nullptr, provisional};
}

/// Gathered from indexes of some sections each: what it takes of memory does not grow with the range. A step is one index.
template <class Question>
class answer_by_runs final : public long_answer<typename Question::answer_type> {
 public:
  answer_by_runs(const Question& question, const sources& from, time_range range)
      : from_(from),
        store_(from.stored->parts->store()),
        range_(range),
        scope_(scope_of(question)),
        sections_(sections_of(range, store_)),
        next_(sections_.first),
        told_until_(range.begin),
        answer_(gather(question)) {}

  result<bool> work(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled) override {
    while (next_ <= sections_.last) {
      if (cancelled) return fail(error_code::cancelled, "the question was withdrawn");
      if (const auto taken = take_next(); !taken) return tl::unexpected(taken.error());
      if (std::chrono::steady_clock::now() >= deadline) break;
    }
    return next_ > sections_.last;
  }

  [[nodiscard]] float progress() const override {
    const double all = static_cast<double>(sections_.last + 1 - sections_.first);
    return static_cast<float>(static_cast<double>(next_ - sections_.first) / all);
  }

  result<typename Question::answer_type> so_far(bool& provisional) override {
    return answer_->tell(about_part(from_, from_.index, provisional));
  }

 private:
  result<void> take_next() {
    const std::size_t last = std::min(next_ + sections_a_run - 1, sections_.last);
    const auto index = store_.index_of(next_, last, scope_, wanted_still(from_));
    if (!index) return tl::unexpected(index.error());
    const time_range part{told_until_, last == sections_.last ? range_.end : store_.run_of(next_, last).end};
    next_ = last + 1;
    told_until_ = part.end;
    return answer_->add(about_part(from_, **index, from_.provisional), part);
  }

  const sources from_;
  const analysis::section_reader& store_;
  const time_range range_;
  const analysis::section_scope scope_;
  const section_run sections_;
  std::size_t next_;
  time_ns told_until_;
  const gathered_answer<Question> answer_;
};

/// Whether they are so many that a question about them is answered from one after another.
template <class Question>
bool are_many(section_run sections) {
  return reads_sections<Question> && sections.last - sections.first >= most_sections;
}

/// The answer of an index of the sections that the question is about; nothing, if it is about no time or too many of them.
template <class Question>
std::optional<result<typename Question::answer_type>> answer_by_part(const Question& question, const sources& from) {
  if (!from.stored->parts) return std::nullopt;
  const std::optional<time_range> about = time_of(question, from);
  if (!about) {
    if (from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
    // No chunk of the file has what the details are wanted of, so no index would.
    if constexpr (std::is_same_v<Question, details_question>)
      return answer_to(question, about_part(from, from.index, from.provisional));
    return std::nullopt;
  }
  analysis::section_cache& parts = *from.stored->parts;
  const section_run sections = sections_of(analysis::bounded(*about), parts.store());
  if (are_many<Question>(sections)) return std::nullopt;
  const auto part = parts.get(sections.first, sections.last, scope_of(question), wanted_still(from));
  if (!part) return tl::unexpected(part.error());
  return answer_to(question, about_part(from, **part, from.provisional));
}

/// The step that an index of one section knows of: the next one, if it lies inside the section.
result<memory_step> step_within(std::size_t section, const memory_step_question& question, const sources& from) {
  const auto part = from.stored->parts->get(section, section, scope_of(question), wanted_still(from));
  if (!part) return tl::unexpected(part.error());
  return answer_to(question, about_part(from, **part, from.provisional));
}

/// Goes from section to section until a step is found: memory holds no more than the cache of parts keeps.
std::optional<result<memory_step>> answer_by_part(const memory_step_question& question, const sources& from) {
  if (!from.stored->parts) return std::nullopt;
  const analysis::section_reader& store = from.stored->parts->store();
  const std::size_t last = question.forward ? store.sections().size() - 1 : 0;
  for (std::size_t section = store.section_at(question.time);; question.forward ? ++section : --section) {
    if (from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
    auto step = step_within(section, question, from);
    // A block that crosses into another section is known in both, with its whole life.
    const bool inside = step && step->time != trace::unknown_time && store.run_of(section, section).holds(step->time);
    if (!step || inside || section == last) return step;
  }
}

}  // namespace

std::shared_ptr<stored_answers> open_summary(const std::shared_ptr<const trace::snapshot>& trace,
                                             std::size_t memory_bytes) {
  auto made = std::make_shared<stored_answers>();
  made->tiles = analysis::stored_tiles::of(trace);
  if (!made->tiles) return nullptr;
  made->stored_figures = analysis::find_stored_figures(*trace);
  if (!made->stored_figures) return nullptr;
  auto facts = std::make_shared<analysis::tensor_facts>();
  facts->steps = analysis::steps_of(*made->stored_figures, trace);
  for (const analysis::process_steps& each : made->stored_figures->steps)
    analysis::add_slices(each.process, each.steps.steps, facts->drawn_steps);
  if (auto parts = analysis::section_reader::open(trace, facts->steps)) {
    const std::size_t left = memory_bytes > taken_otherwise ? memory_bytes - taken_otherwise : 0;
    made->parts = std::make_shared<analysis::section_cache>(std::move(*parts), std::max(left, least_for_parts));
    made->ahead = std::make_shared<prefetcher>(made->tiles, made->parts);
    made->at_hand = [parts = made->parts](std::span<const std::size_t> sections) {
      std::vector<std::shared_ptr<const analysis::index>> found;
      for (const std::size_t section : sections)
        found.push_back(parts->at_hand(section, section, analysis::section_scope::timeline));
      return found;
    };
  }
  made->facts = std::move(facts);
  return made;
}

template <class Question>
std::optional<result<typename Question::answer_type>> answer_stored(const Question& question, const sources& from) {
  if constexpr (draws<Question>) {
    auto detail = analysis::bin_detail::exact;
    sources drawn = from;
    drawn.detail = &detail;
    auto found = answer_to(question, drawn);
    // A file that tells too little of its sections needs an index of all.
    if (detail != analysis::bin_detail::exact && from.draws == drawn_from::sections) return std::nullopt;
    if (from.detail != nullptr) *from.detail = detail;
    return found;
  } else {
    auto found = answer_from_figures(question, from);
    return found ? std::move(found) : answer_by_part(question, from);
  }
}

template <class Question>
std::unique_ptr<long_answer<typename Question::answer_type>> start_long_answer(const Question& question,
                                                                               const sources& from) {
  if constexpr (reads_rows<Question>) {
    return std::make_unique<searcher>(question, from.trace);
  } else if constexpr (reads_sections<Question>) {
    if (from.stored == nullptr || !from.stored->parts) return nullptr;
    const std::optional<time_range> about = time_of(question, from);
    if (!about || !are_many<Question>(sections_of(analysis::bounded(*about), from.stored->parts->store())))
      return nullptr;
    return std::make_unique<answer_by_runs<Question>>(question, from, analysis::bounded(*about));
  } else {
    return nullptr;
  }
}

#define SLUICE_QUESTION(Q)                                                                   \
  template std::optional<result<Q::answer_type>> answer_stored<Q>(const Q&, const sources&); \
  template std::unique_ptr<long_answer<Q::answer_type>> start_long_answer<Q>(const Q&, const sources&);
SLUICE_FOR_EACH_QUESTION(SLUICE_QUESTION)
#undef SLUICE_QUESTION

}  // namespace sluice::query
