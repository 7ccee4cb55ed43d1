#include "core/query/engine/asked_query.hpp"

#include <algorithm>

#include "core/query/engine/engine.hpp"
#include "core/query/engine/operator_run.hpp"
#include "core/query/results/metric_source.hpp"

namespace sluice::query {
namespace {

// --- queries that look something up -----------------------------------------------------------------------------------

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

/// Returns the time of an event, or of a block's allocation. Errors: cancelled.
result<time_ns> find_time(const details_query& query, const sources& source) {
  const bool by_event = query.event != trace::event_id::none;
  const auto chunks = source.stored->sections->store().whole()->chunks->find([&](const index::chunk_reach& reach) {
    return by_event ? raw(query.event) >= reach.lowest_event && raw(query.event) <= reach.highest_event
                    : raw(query.block) >= reach.lowest_block && raw(query.block) <= reach.highest_block;
  });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
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
    if (found) return *found;
  }
  return time_ns{0};  // The index of any section says that the recording does not have it.
}

/// Returns the ranges of the sections that a query without an operator of its own needs.
result<std::vector<time_range>> find_ranges(const details_query& query, const sources& source) {
  if (!has_sections(source)) return std::vector{all_time};
  const auto time = find_time(query, source);
  if (!time) return tl::unexpected(time.error());
  return std::vector{time_range{*time, *time}};
}
result<std::vector<time_range>> find_ranges(const memory_map_query& query, const sources& /*source*/) {
  return std::vector{time_range{query.time, query.time}};
}
result<std::vector<time_range>> find_ranges(const generations_query& query, const sources& /*source*/) {
  return std::vector{time_range{query.at, query.at}};
}
/// A recording with sections has the metrics that these two queries need.
result<std::vector<time_range>> find_ranges(const report_query& /*query*/, const sources& /*source*/) {
  return std::vector{all_time};
}
result<std::vector<time_range>> find_ranges(const messages_query& /*query*/, const sources& /*source*/) {
  return std::vector{all_time};
}
/// Reads the file itself, so that memory does not hold the sections of the block's lifetime.
result<std::vector<time_range>> find_ranges(const block_uses_query& /*query*/, const sources& /*source*/) {
  return std::vector<time_range>{};
}
/// These two queries need no index.
result<std::vector<time_range>> find_ranges(const gap_stacks_query& /*query*/, const sources& /*source*/) {
  return std::vector<time_range>{};
}
result<std::vector<time_range>> find_ranges(const comparison_query& /*query*/, const sources& /*source*/) {
  return std::vector<time_range>{};
}

/// True for queries whose operator needs an index, of sections or of the whole recording.
template <class Query>
inline constexpr bool needs_index =
    !std::is_same_v<Query, search_query> && !std::is_same_v<Query, durations_query> &&
    !std::is_same_v<Query, gap_stacks_query> && !std::is_same_v<Query, comparison_query>;

/// The operator of a query whose result is computed at once, from the index near a time or from no index.
template <class Query>
class look_up final : public any_operator {
 public:
  explicit look_up(const Query& query) : query_(query) {}

  result<reading_plan> plan(const sources& source) override {
    auto ranges = find_ranges(query_, source);
    if (!ranges) return tl::unexpected(ranges.error());
    return reading_plan{std::move(*ranges)};
  }
  result<void> add(const sources& source, time_range /*part*/) override {
    auto found = to_any(result_to(query_, source));
    if (!found) return tl::unexpected(found.error());
    found_ = std::move(*found);
    return {};
  }
  result<any_value> finish_any(const sources& source) override {
    return found_ ? result<any_value>(found_) : to_any(result_to(query_, source));
  }

 private:
  const Query query_;
  any_value found_;
};

/// `before`: an earlier result of the same query; may be null.
template <class Query>
std::unique_ptr<any_operator> make_any_operator(const Query& query, const any_value& before) {
  if constexpr (std::is_same_v<Query, step_statistics_query>)
    return make_operator(query, std::static_pointer_cast<const step_statistics>(before));
  else if constexpr (has_operator<Query>)
    return make_operator(query);
  else
    return std::make_unique<look_up<Query>>(query);
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

// --- every type of query ----------------------------------------------------------------------------------------------

/// Building the list of all blocks is worthwhile if the query covers the whole recording.
bool is_from_list(const blocks_query& query, const sources& source) {
  const block_list& list = *source.stored->blocks;
  const time_range about = bounded(query.range), span = index::recorded_range(source.trace);
  const bool complete = about.begin <= span.begin && about.end >= span.end;
  return !list.failed() && (complete || list.complete());
}

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
    if constexpr (query::draws<Query>) {
      return to_any(result_to(*query_, source));
    } else {
      const std::unique_ptr<any_operator> operation = make_any_operator(*query_, before);
      if (const auto ran = run_on_index(*operation, source); !ran) return tl::unexpected(ran.error());
      return operation->finish_any(source);
    }
  }
  std::optional<result<any_value>> find_in_metrics(const sources& source) const override {
    auto found = result_from_metrics(*query_, source);
    return found ? std::optional(to_any(*std::move(found))) : std::nullopt;
  }
  std::unique_ptr<operator_run> prepare(const sources& source) const override {
    if constexpr (query::draws<Query>) {
      return nullptr;
    } else {
      if (needs_index<Query> && !has_sections(source)) return nullptr;
      return std::make_unique<operator_run>(make_any_operator(*query_, nullptr), get_scope(*query_), source);
    }
  }
  unique_result start(const sources& source) const override {
    std::unique_ptr<operator_run> run = prepare(source);
    if constexpr (std::is_same_v<Query, blocks_query>)
      if (run && !run->is_short() && is_from_list(*query_, source))
        return start_from_list(*query_, source, std::move(run));
    return run;
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
  if (auto found = query.find_in_metrics(source)) return found;
  const std::unique_ptr<operator_run> run = query.prepare(source);
  if (!run || !run->is_short()) return std::nullopt;
  const auto done = run->work(any_long_result::deadline_type::max());
  return done ? run->any_so_far(source.provisional) : tl::unexpected(done.error());
}

std::optional<result<any_value>> find_whole_result(const asked_query& query, const sources& source) {
  if (source.stored != nullptr)
    if (auto found = find_result(query, source)) return found;
  const unique_result run = query.start(source);
  if (!run) return std::nullopt;
  const auto done = run->work(any_long_result::deadline_type::max());
  return done ? run->any_so_far(source.provisional) : tl::unexpected(done.error());
}

}  // namespace sluice::query
