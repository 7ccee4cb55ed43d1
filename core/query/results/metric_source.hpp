#pragma once

#include <optional>

#include "core/query/results/result_functions.hpp"

/// Computes results from the metrics that a file stores about the whole recording. The results equal those computed
/// from an index of all events. The functions return nullopt for queries that the metrics do not cover.
/// `sources::stored` must be set; `sources::index` is not used. Private to core/query.
namespace sluice::query {

[[nodiscard]] std::optional<result<metrics::range_statistics>> result_from_metrics(const statistics_query& query,
                                                                                   const sources& source);
[[nodiscard]] std::optional<result<metrics::report>> result_from_metrics(const report_query& query,
                                                                         const sources& source);
[[nodiscard]] std::optional<result<std::vector<message>>> result_from_metrics(const messages_query& query,
                                                                              const sources& source);
/// Covers queries for the largest blocks of the recording, at most `stored_metrics::block_limit` of them.
[[nodiscard]] std::optional<result<block_table>> result_from_metrics(const blocks_query& query, const sources& source);
/// Covers peaks, allocations and copies of the whole recording, but not copies of one direction on all devices.
[[nodiscard]] std::optional<result<stack_view>> result_from_metrics(const stacks_query& query, const sources& source);
/// Covers queries for the whole recording.
[[nodiscard]] std::optional<result<metrics::compared_side>> result_from_metrics(const compared_side_query& query,
                                                                                const sources& source);
/// Always returns a result, because the query contains the metrics of both sides.
[[nodiscard]] std::optional<result<metrics::comparison>> result_from_metrics(const comparison_query& query,
                                                                             const sources& source);

/// For all other types of query: returns nullopt.
template <class Query>
[[nodiscard]] std::optional<result<typename Query::result_type>> result_from_metrics(const Query& /*question*/,
                                                                                     const sources& /*from*/) {
  return std::nullopt;
}

}  // namespace sluice::query
