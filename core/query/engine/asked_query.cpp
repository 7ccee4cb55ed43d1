#include "core/query/engine/asked_query.hpp"

#include <algorithm>

#include "core/query/engine/engine.hpp"
#include "core/query/results/long_queries.hpp"
#include "core/query/results/metric_source.hpp"

namespace sluice::query {
namespace {

/// Queries about more sections than this are computed in steps of a few sections.
constexpr std::size_t max_sections = 16;
constexpr std::size_t sections_in_a_step = 6;

// --- time range of a query ------------------------------------------------------------------------------------------

/// Queries without an overload have the range of their operator, a time, or none of these.
template <class Query>
std::optional<time_range> get_time(const Query& query, const sources& /*source*/) {
  if constexpr (has_operator<Query>)
    return range_of(query);
  else if constexpr (requires { query.time; })
    return time_range{query.time, query.time};
  else
    return std::nullopt;
}
std::optional<time_range> get_time(const idle_lanes_query& query, const sources& source) {
  return find_lane_range(query, source);
}
std::optional<time_range> get_time(const generations_query& query, const sources&) {
  return time_range{query.at, query.at};
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
  return time_range{};  // The index of any section says that the recording does not have it.
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

/// True if a query with an operator is computed in steps.
bool are_many(section_run sections) { return sections.last - sections.first >= max_sections; }

// --- rows: many sections ----------------------------------------------------------------------------------------------

/// Computes a result in steps. Each step adds the index of a few sections to the query's operator, so the memory does
/// not grow with the range.
class result_by_sections final : public any_long_result {
 public:
  result_by_sections(needed_sections needs, const sources& source)
      : from_(source),
        store_(source.stored->sections->store()),
        range_(bounded(*needs.range)),
        needs_(std::move(needs)),
        sections_(select_sections(range_, store_)),
        next_(sections_.first),
        done_until_(range_.begin) {}

  result<bool> work(deadline_type deadline, const std::atomic<bool>& cancelled) override {
    while (next_ <= sections_.last) {
      if (cancelled) return fail(error_code::cancelled, "the query was cancelled");
      if (const auto added = add_next(); !added) return tl::unexpected(added.error());
      if (std::chrono::steady_clock::now() >= deadline) break;
    }
    return next_ > sections_.last;
  }

  [[nodiscard]] float progress() const override {
    const double total = static_cast<double>(sections_.last + 1 - sections_.first);
    return static_cast<float>(static_cast<double>(next_ - sections_.first) / total);
  }

  result<any_value> any_so_far(bool& provisional) override {
    return needs_.operation->finish_any(with_index(from_, from_.index, provisional));
  }

 private:
  result<void> add_next() {
    const std::size_t last = std::min(next_ + sections_in_a_step - 1, sections_.last);
    const auto index = store_.get_index(next_, last, needs_.scope, until_cancelled(from_), needs_.process);
    if (!index) return tl::unexpected(index.error());
    const time_range part{done_until_, last == sections_.last ? range_.end : store_.find_run(next_, last).end};
    next_ = last + 1;
    done_until_ = part.end;
    return needs_.operation->add(with_index(from_, **index, from_.provisional), part);
  }

  const sources from_;
  const summary::section_reader& store_;
  const time_range range_;
  const needed_sections needs_;
  const section_run sections_;
  std::size_t next_;
  time_ns done_until_;
};

unique_result start_by_sections(const asked_query& query, const sources& source) {
  if (!has_sections(source)) return nullptr;
  needed_sections needs = query.find_needs(source);
  const bool many = needs.operation && needs.range &&
                    are_many(select_sections(bounded(*needs.range), source.stored->sections->store()));
  return many ? std::make_unique<result_by_sections>(std::move(needs), source) : nullptr;
}

// --- rows: few sections -----------------------------------------------------------------------------------------------

/// Computes a result from the index of the sections in the query's range.
std::optional<result<any_value>> find_in_sections(const asked_query& query, const sources& source) {
  if (!has_sections(source)) return std::nullopt;
  const needed_sections needs = query.find_needs(source);
  if (!needs.range && source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
  if (!needs.range) return std::nullopt;
  summary::section_cache& cache = *source.stored->sections;
  const section_run sections = select_sections(bounded(*needs.range), cache.store());
  if (are_many(sections) && needs.operation) return std::nullopt;
  const auto goes_on = until_cancelled(source);
  const auto index = needs.process == trace::process_id::none
                         ? cache.get(sections.first, sections.last, needs.scope, goes_on)
                         : cache.store().get_index(sections.first, sections.last, needs.scope, goes_on, needs.process);
  if (!index) return tl::unexpected(index.error());
  return query.compute(with_index(source, **index, source.provisional), nullptr);
}

/// Returns results for which no index of all sections in the query's range is needed.
template <class Query>
std::optional<result<typename Query::result_type>> find_directly(const Query& query, const sources& source) {
  return result_from_metrics(query, source);
}

/// A range that is too long is not worth its cost.
std::optional<result<idle_lanes>> find_directly(const idle_lanes_query& query, const sources& source) {
  if (!has_sections(source)) return std::nullopt;
  const section_run sections = select_sections(bounded(query.range), source.stored->sections->store());
  if (sections.last - sections.first < idle_lanes::max_sections) return std::nullopt;
  return idle_lanes{query.range, {}, {}, true};
}

/// Reads the file itself, so that memory does not hold the sections of the block's lifetime.
std::optional<result<block_use_list>> find_directly(const block_uses_query& query, const sources& source) {
  if (!has_sections(source)) return std::nullopt;
  return result_to(query, source);
}

/// Searches section by section for a step. Thus memory holds no more sections than their cache keeps.
std::optional<result<memory_step>> find_directly(const memory_step_query& query, const sources& source) {
  if (!has_sections(source)) return std::nullopt;
  summary::section_cache& cache = *source.stored->sections;
  const std::size_t last = query.forward ? cache.store().sections().size() - 1 : 0;
  for (std::size_t section = cache.store().section_at(query.time);; query.forward ? ++section : --section) {
    const auto index = cache.get(section, section, get_scope(query), until_cancelled(source));
    if (!index) return tl::unexpected(index.error());
    auto step = result_to(query, with_index(source, **index, source.provisional));
    // A block that crosses into another section is in the indexes of both, with its whole lifetime.
    const bool inside =
        step && step->time != trace::unknown_time && cache.store().find_run(section, section).holds(step->time);
    if (!step || inside || section == last) return step;
  }
}

/// Draws from stored bins and, below the smallest of them, from indexes of sections.
std::optional<result<any_value>> find_in_bins(const asked_query& query, const sources& source) {
  auto detail = summary::bin_detail::exact;
  sources drawn = source;
  drawn.detail = &detail;
  auto found = query.compute(drawn, nullptr);
  // Without sections in the file, nothing can be drawn below its smallest bins.
  if (detail != summary::bin_detail::exact && source.draws == drawn_from::sections) return std::nullopt;
  if (source.detail != nullptr) *source.detail = detail;
  return found;
}

// --- queries that take long -------------------------------------------------------------------------------------------

template <class Query>
unique_result start_query(const Query& query, const sources& source, unique_result by_sections) {
  if constexpr (requires { start_long(query, source); }) return start_long(query, source);
  if constexpr (requires { start_long(query, source.trace); }) return start_long(query, source.trace);
  return by_sections;
}
unique_result start_query(const step_statistics_query& query, const sources& source, unique_result /*by_sections*/) {
  if (!has_sections(source)) return nullptr;
  return start_steps(query, source, [source](const statistics_query& step) -> result<metrics::range_statistics> {
    auto found = find_whole_result(*erase_type(std::make_shared<const statistics_query>(step)), source);
    if (!found) found = fail(error_code::unavailable, "the recording has no sections", source.trace.path());
    const auto statistics = from_any<metrics::range_statistics>(*std::move(found));
    if (!statistics) return tl::unexpected(statistics.error());
    return **statistics;
  });
}
/// Building the list of all blocks is worthwhile if the query covers the whole recording.
unique_result start_query(const blocks_query& query, const sources& source, unique_result by_sections) {
  if (!by_sections) return nullptr;
  const block_list& list = *source.stored->blocks;
  const time_range about = bounded(query.range), span = index::recorded_range(source.trace);
  const bool complete = about.begin <= span.begin && about.end >= span.end;
  if (list.failed() || !(complete || list.complete())) return by_sections;
  return start_from_list(query, source, std::move(by_sections));
}

// --- every type of query ----------------------------------------------------------------------------------------------

template <class Query>
class typed_query final : public asked_query {
 public:
  explicit typed_query(std::shared_ptr<const Query> query) : query_(std::move(query)) {}

  bool equals(const asked_query& other) const override {
    return *query_ == *static_cast<const typed_query&>(other).query_;
  }
  bool draws() const override { return query::draws<Query>; }
  std::optional<std::pair<time_range, std::uint32_t>> view() const override {
    if constexpr (query::draws<Query> && requires(const Query& query) { query.range; })
      return std::pair(query_->range, query_->width);
    return std::nullopt;
  }
  result<any_value> compute(const sources& source, const any_value& before) const override {
    if constexpr (std::is_same_v<Query, step_statistics_query>)
      return to_any(result_after(static_cast<const step_statistics*>(before.get()), *query_, source));
    else
      return to_any(result_to(*query_, source));
  }
  std::optional<result<any_value>> find_directly(const sources& source) const override {
    auto found = query::find_directly(*query_, source);
    return found ? std::optional(to_any(*std::move(found))) : std::nullopt;
  }
  needed_sections find_needs(const sources& source) const override {
    needed_sections needs{get_time(*query_, source), get_scope(*query_)};
    if constexpr (std::is_same_v<Query, compared_side_query>) needs.process = query_->process;
    if constexpr (has_operator<Query>) needs.operation = make_operator(*query_);
    return needs;
  }
  unique_result start(const sources& source, unique_result by_sections) const override {
    return start_query(*query_, source, std::move(by_sections));
  }

 private:
  const std::shared_ptr<const Query> query_;
};

}  // namespace

template <class Query>
std::shared_ptr<const asked_query> erase_type(std::shared_ptr<const Query> query) {
  return std::make_shared<const typed_query<Query>>(std::move(query));
}
#define SLUICE_QUERY(Q) template std::shared_ptr<const asked_query> erase_type<Q>(std::shared_ptr<const Q>);
SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY

// --- the choice -------------------------------------------------------------------------------------------------------

std::optional<result<any_value>> find_result(const asked_query& query, const sources& source) {
  if (query.draws()) return find_in_bins(query, source);
  auto found = query.find_directly(source);
  return found ? std::move(found) : find_in_sections(query, source);
}

unique_result start_long_result(const asked_query& query, const sources& source) {
  return query.start(source, start_by_sections(query, source));
}

std::optional<result<any_value>> find_whole_result(const asked_query& query, const sources& source) {
  if (source.stored != nullptr)
    if (auto found = find_result(query, source)) return found;
  const auto steps = start_long_result(query, source);
  if (!steps) return std::nullopt;
  const auto done = steps->work(any_long_result::deadline_type::max(), source.cancelled);
  return done ? steps->any_so_far(source.provisional) : tl::unexpected<error>(done.error());
}

}  // namespace sluice::query
