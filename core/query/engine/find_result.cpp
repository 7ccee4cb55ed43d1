#include "core/query/engine/find_result.hpp"

#include "core/query/engine/metric_source.hpp"

namespace sluice::query {
namespace {

/// Draws from stored bins and, below the smallest of them, from indexes of sections.
template <class Query>
std::optional<result<typename Query::result_type>> result_from_bins(const Query& query, const sources& source) {
  auto detail = summary::bin_detail::exact;
  sources drawn = source;
  drawn.detail = &detail;
  auto found = result_to(query, drawn);
  // Without sections in the file, nothing can be drawn below its smallest bins.
  if (detail != summary::bin_detail::exact && source.draws == drawn_from::sections) return std::nullopt;
  if (source.detail != nullptr) *source.detail = detail;
  return found;
}

}  // namespace

template <class Query>
std::optional<result<typename Query::result_type>> find_result(const Query& query, const sources& source) {
  if constexpr (draws<Query>) return result_from_bins(query, source);
  auto found = result_from_metrics(query, source);
  return found ? std::move(found) : result_from_rows(query, source);
}

#define SLUICE_QUERY(Q) template std::optional<result<Q::result_type>> find_result<Q>(const Q&, const sources&);
SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY

}  // namespace sluice::query
