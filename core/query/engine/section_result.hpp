#pragma once

#include <memory>

#include "core/query/results/result_functions.hpp"

/// Computes the result of a query whose time range is too long for one index. The range is divided into runs of a few
/// sections each, and the indexes of these runs go in one after another. Private to core/query.
namespace sluice::query {

template <class Result>
class section_result {
 public:
  section_result() = default;
  virtual ~section_result() = default;
  section_result(const section_result&) = delete;
  section_result& operator=(const section_result&) = delete;

  /// Adds the data that `from.index` has for the time range `part`. Parts are consecutive; the first starts where the
  /// query's range starts.
  virtual result<void> add(const sources& source, time_range part) = 0;
  /// Returns the result for the parts added so far. May be called again after more parts were added.
  virtual result<Result> evaluate(const sources& source) = 0;
};

template <class Query>
using section_result_for = std::unique_ptr<section_result<typename Query::result_type>>;

/// Each function returns the object that computes the result of one query.
[[nodiscard]] section_result_for<blocks_query> gather(const blocks_query& query);
[[nodiscard]] section_result_for<statistics_query> gather(const statistics_query& query);
[[nodiscard]] section_result_for<compared_side_query> gather(const compared_side_query& query);
/// The measure must not be `live`, which concerns a single time.
[[nodiscard]] section_result_for<stacks_query> gather(const stacks_query& query);
[[nodiscard]] section_result_for<transfers_query> gather(const transfers_query& query);
[[nodiscard]] section_result_for<idle_gaps_query> gather(const idle_gaps_query& query);
[[nodiscard]] section_result_for<host_stacks_query> gather(const host_stacks_query& query);
[[nodiscard]] section_result_for<idle_lanes_query> gather(const idle_lanes_query& query);
[[nodiscard]] section_result_for<memory_groups_query> gather(const memory_groups_query& query);

template <class Query>
inline constexpr bool reads_sections =
    std::is_same_v<Query, blocks_query> || std::is_same_v<Query, statistics_query> ||
    std::is_same_v<Query, stacks_query> || std::is_same_v<Query, compared_side_query> ||
    std::is_same_v<Query, transfers_query> || std::is_same_v<Query, idle_gaps_query> ||
    std::is_same_v<Query, host_stacks_query> || std::is_same_v<Query, idle_lanes_query> ||
    std::is_same_v<Query, memory_groups_query>;

}  // namespace sluice::query
