#include "core/query/engine/row_source.hpp"

#include <algorithm>

#include "core/query/engine/section_result.hpp"
#include "core/query/results/blocks_from_list.hpp"
#include "core/query/results/panels/holes.hpp"
#include "core/query/results/panels/holes_finder.hpp"
#include "core/query/results/panels/long_panels.hpp"
#include "core/query/results/search.hpp"
#include "core/query/results/what_if.hpp"

namespace sluice::query {
namespace {

/// Queries about more sections than this are computed from a few sections at once.
constexpr std::size_t max_sections = 16;
constexpr std::size_t sections_in_a_step = 6;

// --- time range of a query ------------------------------------------------------------------------------------------

std::optional<time_range> time_of(const blocks_query& query, const sources&) { return query.range; }
std::optional<time_range> time_of(const statistics_query& query, const sources&) { return query.range; }
std::optional<time_range> time_of(const transfers_query& query, const sources&) { return query.range; }
std::optional<time_range> time_of(const idle_gaps_query& query, const sources&) { return query.range; }
std::optional<time_range> time_of(const memory_groups_query& query, const sources&) { return query.range; }
std::optional<time_range> time_of(const stacks_query& query, const sources&) {
  if (query.measure == stack_measure::live) return time_range{query.at, query.at};
  return query.range;
}
std::optional<time_range> time_of(const compared_side_query& query, const sources&) { return query.range; }
std::optional<time_range> time_of(const generations_query& query, const sources&) {
  return time_range{query.at, query.at};
}

std::optional<time_range> time_of(const memory_map_query& query, const sources&) {
  return time_range{query.time, query.time};
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
std::optional<time_range> time_of(const details_query& query, const sources& from) {
  const bool by_event = query.event != trace::event_id::none;
  const auto chunks = from.stored->sections->store().whole()->chunks->find([&](const index::chunk_reach& reach) {
    return by_event ? raw(query.event) >= reach.lowest_event && raw(query.event) <= reach.highest_event
                    : raw(query.block) >= reach.lowest_block && raw(query.block) <= reach.highest_block;
  });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (from.cancelled) return std::nullopt;
    std::optional<time_ns> found;
    if (by_event) {
      found = find_event(from.trace, chunk, query.event);
    } else {
      const trace::row_type type = from.trace.chunk(chunk).type;
      if (type == trace::row_type::alloc)
        found = find_row<trace::alloc_event>(from.trace, chunk, &trace::alloc_event::block, query.block);
      if (type == trace::row_type::live_block)
        found = find_row<trace::live_block_event>(from.trace, chunk, &trace::alloc_event::block, query.block);
    }
    if (found) return time_range{*found, *found};
  }
  return std::nullopt;
}

/// Other queries have no time range.
template <class Query>
std::optional<time_range> time_of(const Query& /*question*/, const sources& /*from*/) {
  return std::nullopt;
}

/// The process whose rows alone a query needs; none: all rows.
template <class Query>
trace::process_id only_of(const Query& query) {
  if constexpr (std::is_same_v<Query, compared_side_query>) return query.process;
  return trace::process_id::none;
}

struct section_run {
  std::size_t first = 0;
  std::size_t last = 0;
};

section_run sections_of(time_range range, const summary::section_reader& store) {
  return {store.section_at(range.begin), store.section_at(std::max(range.begin, range.end - 1))};
}

/// For functions that continue to read while it returns true.
std::function<bool()> until_cancelled(const sources& from) {
  return [&cancelled = from.cancelled] { return !cancelled; };
}

/// Sources for `result_to`, which then uses the index of these sections.
sources with_index(const sources& from, const index::event_store& part, bool& provisional) {
  return {part, from.trace, from.cancelled, from.frames, from.lookup, nullptr, nullptr, provisional};
}

/// Computes a result from the indexes of a few sections at once, so its memory does not grow with the range. A step is
/// one index.
template <class Query>
class result_by_sections final : public long_result<typename Query::result_type> {
 public:
  result_by_sections(const Query& query, const sources& from, time_range range)
      : from_(from),
        store_(from.stored->sections->store()),
        range_(range),
        scope_(scope_of(query)),
        only_(only_of(query)),
        sections_(sections_of(range, store_)),
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
    const double all = static_cast<double>(sections_.last + 1 - sections_.first);
    return static_cast<float>(static_cast<double>(next_ - sections_.first) / all);
  }

  result<typename Query::result_type> so_far(bool& provisional) override {
    return result_->evaluate(with_index(from_, from_.index, provisional));
  }

 private:
  result<void> take_next() {
    const std::size_t last = std::min(next_ + sections_in_a_step - 1, sections_.last);
    const auto index = store_.index_of(next_, last, scope_, until_cancelled(from_), only_);
    if (!index) return tl::unexpected(index.error());
    const time_range part{done_until_, last == sections_.last ? range_.end : store_.run_of(next_, last).end};
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

/// True if a query about these sections is computed from a few of them at once.
template <class Query>
bool are_many(section_run sections) {
  return reads_sections<Query> && sections.last - sections.first >= max_sections;
}

/// Computes a result from the index of the sections in the query's range.
template <class Query>
std::optional<result<typename Query::result_type>> result_from_sections(const Query& query, const sources& from) {
  const std::optional<time_range> about = time_of(query, from);
  if (!about) {
    if (from.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    // No chunk of the file has this event or block, so no index would.
    if constexpr (std::is_same_v<Query, details_query>)
      return result_to(query, with_index(from, from.index, from.provisional));
    return std::nullopt;
  }
  summary::section_cache& cache = *from.stored->sections;
  const section_run sections = sections_of(bounded(*about), cache.store());
  if (are_many<Query>(sections)) return std::nullopt;
  const trace::process_id only = only_of(query);
  const auto scope = scope_of(query);
  const auto index = only == trace::process_id::none
                         ? cache.get(sections.first, sections.last, scope, until_cancelled(from))
                         : cache.store().index_of(sections.first, sections.last, scope, until_cancelled(from), only);
  if (!index) return tl::unexpected(index.error());
  return result_to(query, with_index(from, **index, from.provisional));
}

/// The next step in the index of one section. Only valid if it is inside the section.
result<memory_step> step_within(std::size_t section, const memory_step_query& query, const sources& from) {
  const auto index = from.stored->sections->get(section, section, scope_of(query), until_cancelled(from));
  if (!index) return tl::unexpected(index.error());
  return result_to(query, with_index(from, **index, from.provisional));
}

/// Searches section by section for a step, so memory holds no more than the cache of sections keeps.
std::optional<result<memory_step>> result_from_sections(const memory_step_query& query, const sources& from) {
  const summary::section_reader& store = from.stored->sections->store();
  const std::size_t last = query.forward ? store.sections().size() - 1 : 0;
  for (std::size_t section = store.section_at(query.time);; query.forward ? ++section : --section) {
    if (from.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    auto step = step_within(section, query, from);
    // A block that crosses into another section is in the indexes of both, with its whole lifetime.
    const bool inside = step && step->time != trace::unknown_time && store.run_of(section, section).holds(step->time);
    if (!step || inside || section == last) return step;
  }
}

}  // namespace

template <class Query>
std::optional<result<typename Query::result_type>> result_from_rows(const Query& query, const sources& from) {
  if (!from.stored->sections) return std::nullopt;
  return result_from_sections(query, from);
}

template <class Query>
std::unique_ptr<long_result<typename Query::result_type>> start_long_result(const Query& query, const sources& from) {
  if constexpr (reads_rows<Query>) {
    return std::make_unique<searcher>(query, from.trace);
  } else if constexpr (std::is_same_v<Query, what_if_query>) {
    if (from.stored == nullptr || !from.stored->sections) return nullptr;
    return std::make_unique<replayer>(from);
  } else if constexpr (std::is_same_v<Query, durations_query> || std::is_same_v<Query, step_statistics_query>) {
    return start_long_panel(query, from);
  } else if constexpr (std::is_same_v<Query, holes_query>) {
    if (from.stored == nullptr || !from.stored->sections) return nullptr;
    return std::make_unique<hole_finder>(query, from);
  } else if constexpr (reads_sections<Query>) {
    if (from.stored == nullptr || !from.stored->sections) return nullptr;
    const std::optional<time_range> about = time_of(query, from);
    if (!about || !are_many<Query>(sections_of(bounded(*about), from.stored->sections->store()))) return nullptr;
    auto by_sections = std::make_unique<result_by_sections<Query>>(query, from, bounded(*about));
    if constexpr (std::is_same_v<Query, blocks_query>) {
      // Building the list is worthwhile if all of it is requested.
      const block_list& list = *from.stored->blocks;
      const time_range span = index::time_range_of(from.trace);
      const bool all = about->begin <= span.begin && about->end >= span.end;
      if (!list.failed() && (all || list.complete()))
        return std::make_unique<blocks_from_list>(query, from, std::move(by_sections));
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
