#include "core/query/engine/row_source.hpp"

#include <algorithm>

#include "core/query/engine/section_result.hpp"
#include "core/query/results/blocks_from_list.hpp"
#include "core/query/results/panels/holes.hpp"
#include "core/query/results/panels/holes_finder.hpp"
#include "core/query/results/panels/lane_range.hpp"
#include "core/query/results/panels/long_panels.hpp"
#include "core/query/results/search.hpp"
#include "core/query/results/what_if.hpp"

namespace sluice::query {
namespace {

/// Queries about more sections than this are computed in steps of a few sections.
constexpr std::size_t max_sections = 16;
constexpr std::size_t sections_in_a_step = 6;

// --- time range of a query ------------------------------------------------------------------------------------------

std::optional<time_range> get_time(const blocks_query& query, const sources&) { return query.range; }
std::optional<time_range> get_time(const statistics_query& query, const sources&) { return query.range; }
std::optional<time_range> get_time(const transfers_query& query, const sources&) { return query.range; }
std::optional<time_range> get_time(const idle_gaps_query& query, const sources&) { return query.range; }
std::optional<time_range> get_time(const host_stacks_query& query, const sources&) { return query.filter.range; }
std::optional<time_range> get_time(const idle_lanes_query& query, const sources& source) {
  return find_lane_range(query, source);
}
std::optional<time_range> get_time(const gap_stacks_query& query, const sources&) {
  return time_range{query.time, query.time};
}
std::optional<time_range> get_time(const memory_groups_query& query, const sources&) { return query.range; }
std::optional<time_range> get_time(const stacks_query& query, const sources&) {
  if (query.measure == stack_measure::live) return time_range{query.at, query.at};
  return query.range;
}
std::optional<time_range> get_time(const compared_side_query& query, const sources&) { return query.range; }
std::optional<time_range> get_time(const generations_query& query, const sources&) {
  return time_range{query.at, query.at};
}

std::optional<time_range> get_time(const memory_map_query& query, const sources&) {
  return time_range{query.time, query.time};
}

/// Returns the time of the row in `chunk` whose `key` column holds `id`.
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
  // These rows refer to other events.
  if (type == trace::row_type::attribute || type == trace::row_type::link) return std::nullopt;
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

/// Returns the time of an event, or of a block's allocation.
std::optional<time_range> get_time(const details_query& query, const sources& source) {
  const bool by_event = query.event != trace::event_id::none;
  const auto chunks = source.stored->sections->store().whole()->chunks->find([&](const index::chunk_reach& reach) {
    return by_event ? raw(query.event) >= reach.lowest_event && raw(query.event) <= reach.highest_event
                    : raw(query.block) >= reach.lowest_block && raw(query.block) <= reach.highest_block;
  });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (source.cancelled) return std::nullopt;
    std::optional<time_ns> found;
    if (by_event) {
      found = find_event(source.trace, chunk, query.event);
    } else {
      const trace::row_type type = source.trace.chunk(chunk).type;
      if (type == trace::row_type::alloc)
        found = find_row<trace::alloc_event>(source.trace, chunk, &trace::alloc_event::block, query.block);
      if (type == trace::row_type::live_block)
        found = find_row<trace::live_block_event>(source.trace, chunk, &trace::alloc_event::block, query.block);
    }
    if (found) return time_range{*found, *found};
  }
  return std::nullopt;
}

/// Other queries have no time range.
template <class Query>
std::optional<time_range> get_time(const Query& /*question*/, const sources& /*from*/) {
  return std::nullopt;
}

/// Returns the only process whose rows a query needs. None: the query needs the rows of all processes.
template <class Query>
trace::process_id get_only_process(const Query& query) {
  if constexpr (std::is_same_v<Query, compared_side_query>) return query.process;
  return trace::process_id::none;
}

struct section_run {
  std::size_t first = 0;
  std::size_t last = 0;
};

section_run select_sections(time_range range, const summary::section_reader& store) {
  return {store.section_at(range.begin), store.section_at(std::max(range.begin, range.end - 1))};
}

/// Returns the function that tells readers to continue: it returns true until the query is cancelled.
std::function<bool()> until_cancelled(const sources& source) {
  return [&cancelled = source.cancelled] { return !cancelled; };
}

/// Returns sources with the index `part`, for `result_to`.
sources with_index(const sources& source, const index::event_store& part, bool& provisional) {
  return {part, source.trace, source.cancelled, source.frames, source.lookup, nullptr, nullptr, provisional};
}

/// Computes a result in steps. Each step reads the index of a few sections, so the memory does not grow with the range.
template <class Query>
class result_by_sections final : public long_result<typename Query::result_type> {
 public:
  result_by_sections(const Query& query, const sources& source, time_range range)
      : from_(source),
        store_(source.stored->sections->store()),
        range_(range),
        scope_(get_scope(query)),
        only_(get_only_process(query)),
        sections_(select_sections(range, store_)),
        next_(sections_.first),
        done_until_(range.begin),
        result_(gather(query)) {}

  result<bool> work(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled) override {
    while (next_ <= sections_.last) {
      if (cancelled) return fail(error_code::cancelled, "the query was cancelled");
      if (const auto taken = take_next(); !taken) return tl::unexpected(taken.error());
      if (std::chrono::steady_clock::now() >= deadline) break;
    }
    return next_ > sections_.last;
  }

  [[nodiscard]] float progress() const override {
    const double total = static_cast<double>(sections_.last + 1 - sections_.first);
    return static_cast<float>(static_cast<double>(next_ - sections_.first) / total);
  }

  result<typename Query::result_type> so_far(bool& provisional) override {
    return result_->evaluate(with_index(from_, from_.index, provisional));
  }

 private:
  result<void> take_next() {
    const std::size_t last = std::min(next_ + sections_in_a_step - 1, sections_.last);
    const auto index = store_.get_index(next_, last, scope_, until_cancelled(from_), only_);
    if (!index) return tl::unexpected(index.error());
    const time_range part{done_until_, last == sections_.last ? range_.end : store_.find_run(next_, last).end};
    next_ = last + 1;
    done_until_ = part.end;
    return result_->add(with_index(from_, **index, from_.provisional), part);
  }

  const sources from_;
  const summary::section_reader& store_;
  const time_range range_;
  const index::section_scope scope_;
  const trace::process_id only_;
  const section_run sections_;
  std::size_t next_;
  time_ns done_until_;
  const section_result_for<Query> result_;
};

/// True if a query about these sections is computed in steps.
template <class Query>
bool are_many(section_run sections) {
  return reads_sections<Query> && sections.last - sections.first >= max_sections;
}

/// Computes a result from the index of the sections in the query's range.
template <class Query>
std::optional<result<typename Query::result_type>> result_from_sections(const Query& query, const sources& source) {
  const std::optional<time_range> about = get_time(query, source);
  if (!about) {
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    // No chunk of the file has this event or block, so no index has it.
    if constexpr (std::is_same_v<Query, details_query>)
      return result_to(query, with_index(source, source.index, source.provisional));
    return std::nullopt;
  }
  summary::section_cache& cache = *source.stored->sections;
  const section_run sections = select_sections(bounded(*about), cache.store());
  if (are_many<Query>(sections)) return std::nullopt;
  const trace::process_id only = get_only_process(query);
  const auto scope = get_scope(query);
  const auto index = only == trace::process_id::none
                         ? cache.get(sections.first, sections.last, scope, until_cancelled(source))
                         : cache.store().get_index(sections.first, sections.last, scope, until_cancelled(source), only);
  if (!index) return tl::unexpected(index.error());
  return result_to(query, with_index(source, **index, source.provisional));
}

/// True if a query about lanes is not worth its cost.
bool is_too_long(const idle_lanes_query& query, const sources& source) {
  const section_run sections = select_sections(bounded(query.range), source.stored->sections->store());
  return sections.last - sections.first >= idle_lanes::max_sections;
}

std::optional<result<idle_lanes>> result_from_sections(const idle_lanes_query& query, const sources& source) {
  if (is_too_long(query, source)) return idle_lanes{query.range, {}, {}, true};
  return result_from_sections<idle_lanes_query>(query, source);
}

/// Returns the next step according to the index of one section. The step is valid only if it is inside the section.
result<memory_step> step_within(std::size_t section, const memory_step_query& query, const sources& source) {
  const auto index = source.stored->sections->get(section, section, get_scope(query), until_cancelled(source));
  if (!index) return tl::unexpected(index.error());
  return result_to(query, with_index(source, **index, source.provisional));
}

/// Searches section by section for a step. Thus memory holds no more sections than their cache keeps.
std::optional<result<memory_step>> result_from_sections(const memory_step_query& query, const sources& source) {
  const summary::section_reader& store = source.stored->sections->store();
  const std::size_t last = query.forward ? store.sections().size() - 1 : 0;
  for (std::size_t section = store.section_at(query.time);; query.forward ? ++section : --section) {
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    auto step = step_within(section, query, source);
    // A block that crosses into another section is in the indexes of both, with its whole lifetime.
    const bool inside = step && step->time != trace::unknown_time && store.find_run(section, section).holds(step->time);
    if (!step || inside || section == last) return step;
  }
}

}  // namespace

template <class Query>
std::optional<result<typename Query::result_type>> result_from_rows(const Query& query, const sources& source) {
  if (!source.stored->sections) return std::nullopt;
  return result_from_sections(query, source);
}

template <class Query>
std::unique_ptr<long_result<typename Query::result_type>> start_long_result(const Query& query, const sources& source) {
  if constexpr (reads_rows<Query>) {
    return std::make_unique<searcher>(query, source.trace);
  } else if constexpr (std::is_same_v<Query, what_if_query>) {
    if (source.stored == nullptr || !source.stored->sections) return nullptr;
    return std::make_unique<replayer>(source);
  } else if constexpr (std::is_same_v<Query, durations_query> || std::is_same_v<Query, step_statistics_query>) {
    return start_long_panel(query, source);
  } else if constexpr (std::is_same_v<Query, holes_query>) {
    if (source.stored == nullptr || !source.stored->sections) return nullptr;
    return std::make_unique<hole_finder>(query, source);
  } else if constexpr (reads_sections<Query>) {
    if (source.stored == nullptr || !source.stored->sections) return nullptr;
    const std::optional<time_range> about = get_time(query, source);
    if (!about || !are_many<Query>(select_sections(bounded(*about), source.stored->sections->store()))) return nullptr;
    auto by_sections = std::make_unique<result_by_sections<Query>>(query, source, bounded(*about));
    if constexpr (std::is_same_v<Query, blocks_query>) {
      // Building the list is worthwhile if the query covers the whole recording.
      const block_list& list = *source.stored->blocks;
      const time_range span = index::recorded_range(source.trace);
      const bool complete = about->begin <= span.begin && about->end >= span.end;
      if (!list.failed() && (complete || list.complete()))
        return std::make_unique<blocks_from_list>(query, source, std::move(by_sections));
    }
    return by_sections;
  } else {
    return nullptr;
  }
}

#define SLUICE_QUERY(Q)                                                                         \
  template std::optional<result<Q::result_type>> result_from_rows<Q>(const Q&, const sources&); \
  template std::unique_ptr<long_result<Q::result_type>> start_long_result<Q>(const Q&, const sources&);
SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY

}  // namespace sluice::query
