#include "core/query/engine/row_source.hpp"

#include <algorithm>

#include "core/query/answers/blocks_from_list.hpp"
#include "core/query/answers/panels/holes.hpp"
#include "core/query/answers/panels/holes_finder.hpp"
#include "core/query/answers/panels/long_panels.hpp"
#include "core/query/answers/search.hpp"
#include "core/query/answers/what_if.hpp"
#include "core/query/engine/section_answer.hpp"

namespace sluice::query {
namespace {

/// A question about more sections than this is answered from a few of them at a time.
constexpr std::size_t most_sections = 16;
constexpr std::size_t sections_in_a_step = 6;

// --- the time that a question is about ------------------------------------------------------------------------------

std::optional<time_range> time_of(const blocks_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const statistics_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const transfers_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const idle_gaps_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const memory_groups_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const stacks_question& question, const sources&) {
  if (question.measure == stack_measure::live) return time_range{question.at, question.at};
  return question.range;
}
std::optional<time_range> time_of(const compared_side_question& question, const sources&) { return question.range; }
std::optional<time_range> time_of(const generations_question& question, const sources&) {
  return time_range{question.at, question.at};
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
  const trace::row_type type = trace.chunk(chunk).type;
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

/// The time of an event, or of a block's allocation.
std::optional<time_range> time_of(const details_question& question, const sources& from) {
  const bool by_event = question.event != trace::event_id::none;
  const auto chunks = from.stored->sections->store().whole()->chunks->find([&](const analysis::chunk_reach& reach) {
    return by_event ? raw(question.event) >= reach.lowest_event && raw(question.event) <= reach.highest_event
                    : raw(question.block) >= reach.lowest_block && raw(question.block) <= reach.highest_block;
  });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (from.cancelled) return std::nullopt;
    std::optional<time_ns> found;
    if (by_event) {
      found = find_event(from.trace, chunk, question.event);
    } else {
      const trace::row_type type = from.trace.chunk(chunk).type;
      if (type == trace::row_type::alloc)
        found = find_row<trace::alloc_event>(from.trace, chunk, &trace::alloc_event::block, question.block);
      if (type == trace::row_type::live_block)
        found = find_row<trace::live_block_event>(from.trace, chunk, &trace::alloc_event::block, question.block);
    }
    if (found) return time_range{*found, *found};
  }
  return std::nullopt;
}

/// Other questions are not about a time.
template <class Question>
std::optional<time_range> time_of(const Question& /*question*/, const sources& /*from*/) {
  return std::nullopt;
}

/// The process whose rows alone a question is about; none: all rows.
template <class Question>
trace::process_id only_of(const Question& question) {
  if constexpr (std::is_same_v<Question, compared_side_question>) return question.process;
  return trace::process_id::none;
}

struct section_run {
  std::size_t first = 0;
  std::size_t last = 0;
};

section_run sections_of(time_range range, const analysis::section_reader& store) {
  return {store.section_at(range.begin), store.section_at(std::max(range.begin, range.end - 1))};
}

/// For functions that read on while it returns true.
std::function<bool()> until_cancelled(const sources& from) {
  return [&cancelled = from.cancelled] { return !cancelled; };
}

/// Sources for `answer_to`, which then answers from the index of these sections.
sources with_index(const sources& from, const analysis::index& part, bool& provisional) {
  return {part, from.trace, from.cancelled, from.frames, from.lookup, nullptr, nullptr, provisional};
}

/// Collects an answer from the indexes of a few sections at a time, so the memory it needs does not grow with the range. A step is one index.
template <class Question>
class answer_by_sections final : public long_answer<typename Question::answer_type> {
 public:
  answer_by_sections(const Question& question, const sources& from, time_range range)
      : from_(from),
        store_(from.stored->sections->store()),
        range_(range),
        scope_(scope_of(question)),
        only_(only_of(question)),
        sections_(sections_of(range, store_)),
        next_(sections_.first),
        done_until_(range.begin),
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
    return answer_->answer(with_index(from_, from_.index, provisional));
  }

 private:
  result<void> take_next() {
    const std::size_t last = std::min(next_ + sections_in_a_step - 1, sections_.last);
    const auto index = store_.index_of(next_, last, scope_, until_cancelled(from_), only_);
    if (!index) return tl::unexpected(index.error());
    const time_range part{done_until_, last == sections_.last ? range_.end : store_.run_of(next_, last).end};
    next_ = last + 1;
    done_until_ = part.end;
    return answer_->add(with_index(from_, **index, from_.provisional), part);
  }

  const sources from_;
  const analysis::section_reader& store_;
  const time_range range_;
  const analysis::section_scope scope_;
  const trace::process_id only_;
  const section_run sections_;
  std::size_t next_;
  time_ns done_until_;
  const section_answer_for<Question> answer_;
};

/// Whether a question about these sections is answered from a few of them at a time.
template <class Question>
bool are_many(section_run sections) {
  return reads_sections<Question> && sections.last - sections.first >= most_sections;
}

/// Answers from the index of the sections that a question is about.
template <class Question>
std::optional<result<typename Question::answer_type>> answer_from_sections(const Question& question,
                                                                           const sources& from) {
  const std::optional<time_range> about = time_of(question, from);
  if (!about) {
    if (from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
    // No chunk of the file holds this event or block, so no index would.
    if constexpr (std::is_same_v<Question, details_question>)
      return answer_to(question, with_index(from, from.index, from.provisional));
    return std::nullopt;
  }
  analysis::section_cache& cache = *from.stored->sections;
  const section_run sections = sections_of(analysis::bounded(*about), cache.store());
  if (are_many<Question>(sections)) return std::nullopt;
  const trace::process_id only = only_of(question);
  const auto scope = scope_of(question);
  const auto index = only == trace::process_id::none
                         ? cache.get(sections.first, sections.last, scope, until_cancelled(from))
                         : cache.store().index_of(sections.first, sections.last, scope, until_cancelled(from), only);
  if (!index) return tl::unexpected(index.error());
  return answer_to(question, with_index(from, **index, from.provisional));
}

/// The next step as the index of one section knows it. Only valid if it lies inside the section.
result<memory_step> step_within(std::size_t section, const memory_step_question& question, const sources& from) {
  const auto index = from.stored->sections->get(section, section, scope_of(question), until_cancelled(from));
  if (!index) return tl::unexpected(index.error());
  return answer_to(question, with_index(from, **index, from.provisional));
}

/// Goes from section to section until a step is found, so memory holds no more than the cache of sections keeps.
std::optional<result<memory_step>> answer_from_sections(const memory_step_question& question, const sources& from) {
  const analysis::section_reader& store = from.stored->sections->store();
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

template <class Question>
std::optional<result<typename Question::answer_type>> answer_from_rows(const Question& question, const sources& from) {
  if (!from.stored->sections) return std::nullopt;
  return answer_from_sections(question, from);
}

template <class Question>
std::unique_ptr<long_answer<typename Question::answer_type>> start_long_answer(const Question& question,
                                                                               const sources& from) {
  if constexpr (reads_rows<Question>) {
    return std::make_unique<searcher>(question, from.trace);
  } else if constexpr (std::is_same_v<Question, what_if_question>) {
    if (from.stored == nullptr || !from.stored->sections) return nullptr;
    return std::make_unique<replayer>(from);
  } else if constexpr (std::is_same_v<Question, durations_question> ||
                       std::is_same_v<Question, step_statistics_question>) {
    return start_long_panel(question, from);
  } else if constexpr (std::is_same_v<Question, holes_question>) {
    if (from.stored == nullptr || !from.stored->sections) return nullptr;
    return std::make_unique<hole_finder>(question, from);
  } else if constexpr (reads_sections<Question>) {
    if (from.stored == nullptr || !from.stored->sections) return nullptr;
    const std::optional<time_range> about = time_of(question, from);
    if (!about || !are_many<Question>(sections_of(analysis::bounded(*about), from.stored->sections->store())))
      return nullptr;
    auto by_sections = std::make_unique<answer_by_sections<Question>>(question, from, analysis::bounded(*about));
    if constexpr (std::is_same_v<Question, blocks_question>) {
      // A list that is not made yet is worth making if all of it is asked for.
      const block_list& list = *from.stored->blocks;
      const time_range span = analysis::time_range_of(from.trace);
      const bool all = about->begin <= span.begin && about->end >= span.end;
      if (!list.failed() && (all || list.complete()))
        return std::make_unique<blocks_from_list>(question, from, std::move(by_sections));
    }
    return by_sections;
  } else {
    return nullptr;
  }
}

#define SLUICE_QUESTION(Q)                                                                      \
  template std::optional<result<Q::answer_type>> answer_from_rows<Q>(const Q&, const sources&); \
  template std::unique_ptr<long_answer<Q::answer_type>> start_long_answer<Q>(const Q&, const sources&);
SLUICE_FOR_EACH_QUESTION(SLUICE_QUESTION)
#undef SLUICE_QUESTION

}  // namespace sluice::query
