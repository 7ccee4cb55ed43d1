#pragma once

#include <memory>
#include <vector>

#include "core/query/results/result_functions.hpp"
#include "core/query/types/any_value.hpp"

/// Computes the result of a query from the sections of a recording, one after another, so that memory does not grow
/// with the query's time range. Private to core/query.
namespace sluice::query {

/// The data that an operator needs.
struct reading_plan {
  enum class direction : std::uint8_t {
    forward,
    one_by_one,           ///< Forward, and `add` gets the index of one section at a time.
    backward_one_by_one,  ///< The last section first.
  };
  /// `add` gets the sections of one range after another. If there is no range, the operator needs no index.
  std::vector<time_range> ranges;
  direction order = direction::forward;
  trace::process_id process{};  ///< The only process whose rows are needed; none: all processes.
};

/// The operator of a query of any type.
class any_operator {
 public:
  any_operator() = default;
  virtual ~any_operator() = default;
  any_operator(const any_operator&) = delete;
  any_operator& operator=(const any_operator&) = delete;

  /// Returns the data that the operator needs. Called once, before all other members. `source.index` is the index of the
  /// whole recording; if `source` has sections, it is empty. May read rows. Errors: cancelled; those of reading.
  virtual result<reading_plan> plan(const sources& source) = 0;
  /// Adds the data that `source.index`, the index of one or a few sections, has for the time range `part`. The parts of
  /// a range of the plan are consecutive; together they are that range.
  virtual result<void> add(const sources& source, time_range part) = 0;
  /// True if the result does not change if more parts are added.
  [[nodiscard]] virtual bool satisfied() const { return false; }

  /// How much of the work that follows the last `add` is done, such as replays. The unit takes about as long as an
  /// `add`. `total` may change.
  struct share {
    std::size_t done = 0;
    std::size_t total = 0;
  };
  [[nodiscard]] virtual share remaining_work() const { return {}; }
  /// Does some of that work, at least one unit.
  virtual result<void> work(const sources& /*source*/) { return {}; }

  /// Returns the result for the parts added and the work done so far. May be called again later.
  virtual result<any_value> finish_any(const sources& source) = 0;
};

/// The operator of a query whose result is a `Result`.
template <class Result>
class query_operator : public any_operator {
 public:
  /// See `finish_any`.
  virtual result<Result> finish(const sources& source) = 0;
  result<any_value> finish_any(const sources& source) final { return to_any(finish(source)); }
};

/// The operator of a query about one time range.
template <class Result>
class range_operator : public query_operator<Result> {
 public:
  explicit range_operator(time_range range) : range_(bounded(range)) {}
  result<reading_plan> plan(const sources& /*source*/) override { return reading_plan{{range_}}; }

 protected:
  const time_range range_;  ///< Bounded.
};

/// The operator of a query that reads the file's chunks instead of sections.
template <class Result>
class chunk_operator : public query_operator<Result> {
 public:
  result<reading_plan> plan(const sources& source) override {
    chunks_ = source.trace.chunks().size();
    return reading_plan{};
  }
  result<void> add(const sources& /*source*/, time_range /*part*/) final { return {}; }

 protected:
  std::size_t chunks_ = 0;  ///< The number of chunks in the file. Set by `plan`.
  std::size_t next_ = 0;    ///< The next chunk to read.
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
[[nodiscard]] operator_of<memory_groups_query> make_operator(const memory_groups_query& query);
/// Widens the range so that it contains the device work before and after it, if there is any in the nearest
/// `idle_lanes_query::max_searched` sections on each side: gaps that cross an edge of the range lie between such work.
[[nodiscard]] operator_of<idle_lanes_query> make_operator(const idle_lanes_query& query);
[[nodiscard]] operator_of<memory_step_query> make_operator(const memory_step_query& query);
[[nodiscard]] operator_of<holes_query> make_operator(const holes_query& query);
/// Replays the requests to an allocator with other settings, which are called policies. The result is the memory that
/// the allocator would have reserved under each policy.
[[nodiscard]] operator_of<what_if_query> make_operator(const what_if_query& query);
/// Measures only the steps that were not settled in `before`, an earlier result of the same query. If `before` is null,
/// measures all steps.
[[nodiscard]] operator_of<step_statistics_query> make_operator(const step_statistics_query& query,
                                                               std::shared_ptr<const step_statistics> before = nullptr);
[[nodiscard]] operator_of<search_query> make_operator(const search_query& query);
[[nodiscard]] operator_of<durations_query> make_operator(const durations_query& query);

template <class Query>
concept has_operator = requires(const Query& query) {
  make_operator(query);
};

/// Runs an operator on `source.index`, the index of everything that the query is about, up to `finish`. Errors:
/// cancelled; those of the operator.
[[nodiscard]] result<void> run_on_index(any_operator& operation, const sources& source);

/// Computes the result of a query with an operator from `source.index` alone.
template <has_operator Query>
[[nodiscard]] result<typename Query::result_type> result_to(const Query& query, const sources& source) {
  const operator_of<Query> operation = make_operator(query);
  if (auto ran = run_on_index(*operation, source); !ran) return tl::unexpected<error>(ran.error());
  return operation->finish(source);
}

}  // namespace sluice::query
