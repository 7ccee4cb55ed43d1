#pragma once

#include <memory>

#include "core/query/results/result_functions.hpp"
#include "core/query/types/any_value.hpp"

/// Computes the result of a query from the sections of a recording, one after another, so that memory does not grow
/// with the query's time range. Private to core/query.
namespace sluice::query {

/// The operator of a query of any type.
class any_operator {
 public:
  any_operator() = default;
  virtual ~any_operator() = default;
  any_operator(const any_operator&) = delete;
  any_operator& operator=(const any_operator&) = delete;

  /// Adds the data that `source.index`, the index of one or a few sections, has for the time range `part`. Parts are
  /// consecutive; the first starts where the query's range starts.
  virtual result<void> add(const sources& source, time_range part) = 0;
  virtual result<any_value> finish_any(const sources& source) = 0;
};

/// The operator of a query whose result is a `Result`.
template <class Result>
class query_operator : public any_operator {
 public:
  /// Returns the result for the parts added so far. May be called again after more parts were added.
  virtual result<Result> finish(const sources& source) = 0;
  result<any_value> finish_any(const sources& source) final { return to_any(finish(source)); }
};

template <class Query>
using operator_of = std::unique_ptr<query_operator<typename Query::result_type>>;

/// Each function returns the operator of one query.
[[nodiscard]] operator_of<blocks_query> make_operator(const blocks_query& query);
[[nodiscard]] operator_of<statistics_query> make_operator(const statistics_query& query);
[[nodiscard]] operator_of<compared_side_query> make_operator(const compared_side_query& query);
[[nodiscard]] operator_of<stacks_query> make_operator(const stacks_query& query);
[[nodiscard]] operator_of<transfers_query> make_operator(const transfers_query& query);
[[nodiscard]] operator_of<idle_gaps_query> make_operator(const idle_gaps_query& query);
[[nodiscard]] operator_of<host_stacks_query> make_operator(const host_stacks_query& query);
[[nodiscard]] operator_of<idle_lanes_query> make_operator(const idle_lanes_query& query);
[[nodiscard]] operator_of<memory_groups_query> make_operator(const memory_groups_query& query);

template <class Query>
concept has_operator = requires(const Query& query) {
  make_operator(query);
};

/// Returns the time range that a query with an operator is about.
template <has_operator Query>
[[nodiscard]] time_range range_of(const Query& query) {
  return query.range;
}
[[nodiscard]] inline time_range range_of(const host_stacks_query& query) { return query.filter.range; }
[[nodiscard]] inline time_range range_of(const stacks_query& query) {
  return query.measure == stack_measure::live ? time_range{query.at, query.at} : query.range;
}

/// Computes the result of a query with an operator from `source.index` alone, of which it adds `range`.
template <has_operator Query>
[[nodiscard]] result<typename Query::result_type> operate(const Query& query, time_range range, const sources& source) {
  const operator_of<Query> operation = make_operator(query);
  if (auto added = operation->add(source, range); !added) return tl::unexpected<error>(added.error());
  return operation->finish(source);
}
template <has_operator Query>
[[nodiscard]] result<typename Query::result_type> result_to(const Query& query, const sources& source) {
  return operate(query, bounded(range_of(query)), source);
}

}  // namespace sluice::query
