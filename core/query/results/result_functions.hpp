#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/query/sources/sources.hpp"
#include "core/query/types/block_uses.hpp"
#include "core/query/types/comparison.hpp"
#include "core/query/types/durations.hpp"
#include "core/query/types/generations.hpp"
#include "core/query/types/holes.hpp"
#include "core/query/types/host_stacks.hpp"
#include "core/query/types/idle_gaps.hpp"
#include "core/query/types/idle_lanes.hpp"
#include "core/query/types/memory_groups.hpp"
#include "core/query/types/memory_map.hpp"
#include "core/query/types/query_types.hpp"
#include "core/query/types/ranks.hpp"
#include "core/query/types/step_statistics.hpp"
#include "core/query/types/transfers.hpp"

/// The functions that compute the results of queries from an index and a snapshot, except those of queries that have an
/// operator (query_operator.hpp). Private to core/query.
namespace sluice::query {

/// Returns the axis on which copies of a direction are drawn. Copies over the host's link share one axis. Copies within
/// a device and copies between devices are so much faster that each of the two kinds has its own axis.
[[nodiscard]] constexpr trace::direction get_axis(trace::direction way) {
  return way == trace::direction::d2d || way == trace::direction::p2p ? way : trace::direction::unknown;
}

[[nodiscard]] result<track_list> result_to(const tracks_query& query, const sources& source);
[[nodiscard]] result<slice_list> result_to(const slices_query& query, const sources& source);
[[nodiscard]] result<series> result_to(const series_query& query, const sources& source);
[[nodiscard]] result<metrics::report> result_to(const report_query& query, const sources& source);
[[nodiscard]] result<event_details> result_to(const details_query& query, const sources& source);
[[nodiscard]] result<std::vector<message>> result_to(const messages_query& query, const sources& source);
/// O(blocks + live blocks * log(live blocks)).
[[nodiscard]] result<memory_map> result_to(const memory_map_query& query, const sources& source);
[[nodiscard]] result<gap_stacks> result_to(const gap_stacks_query& query, const sources& source);
[[nodiscard]] result<rank_rows> result_to(const ranks_query& query, const sources& source);
/// Uses neither the index nor the file: `comparison_query` contains all data.
[[nodiscard]] result<metrics::comparison> result_to(const comparison_query& query, const sources& source);
[[nodiscard]] result<generation_list> result_to(const generations_query& query, const sources& source);
/// Reads the rows from the file. Uses the index only to find their chunks.
[[nodiscard]] result<block_use_list> result_to(const block_uses_query& query, const sources& source);

/// Applies X to every type of query.
#define SLUICE_FOR_EACH_QUERY(X) \
  X(tracks_query)                \
  X(slices_query)                \
  X(series_query)                \
  X(blocks_query)                \
  X(statistics_query)            \
  X(report_query)                \
  X(details_query)               \
  X(stacks_query)                \
  X(messages_query)              \
  X(search_query)                \
  X(memory_map_query)            \
  X(memory_step_query)           \
  X(what_if_query)               \
  X(transfers_query)             \
  X(idle_gaps_query)             \
  X(host_stacks_query)           \
  X(idle_lanes_query)            \
  X(gap_stacks_query)            \
  X(ranks_query)                 \
  X(memory_groups_query)         \
  X(compared_side_query)         \
  X(comparison_query)            \
  X(generations_query)           \
  X(holes_query)                 \
  X(durations_query)             \
  X(step_statistics_query)       \
  X(block_uses_query)

/// True for queries of the timeline, whose results are computed from bins.
template <class Query>
inline constexpr bool draws = std::is_same_v<Query, tracks_query> || std::is_same_v<Query, slices_query> ||
                              std::is_same_v<Query, series_query> || std::is_same_v<Query, ranks_query>;

/// True if the measure is computed from blocks alone.
[[nodiscard]] constexpr bool reads_memory(stack_measure measure) {
  return measure != stack_measure::transferred && measure != stack_measure::host;
}

/// Returns the data that the index of a section must hold to compute the result.
template <class Query>
[[nodiscard]] constexpr index::section_scope get_scope(const Query& query) {
  using index::section_scope;
  constexpr bool about_blocks = std::is_same_v<Query, memory_map_query> || std::is_same_v<Query, memory_step_query> ||
                                std::is_same_v<Query, what_if_query> || std::is_same_v<Query, memory_groups_query> ||
                                std::is_same_v<Query, generations_query> || std::is_same_v<Query, holes_query>;
  if constexpr (std::is_same_v<Query, stacks_query>)
    return reads_memory(query.measure) ? section_scope::memory : section_scope::everything;
  if constexpr (std::is_same_v<Query, blocks_query>)
    return query.needs_uses() ? section_scope::everything : section_scope::memory;
  if constexpr (about_blocks) return section_scope::memory;
  if constexpr (std::is_same_v<Query, statistics_query>) return section_scope::metrics;
  return draws<Query> ? section_scope::timeline : section_scope::everything;
}

// --- tracks ---------------------------------------------------------------------------------------------------------

/// Returns the id of a track: a hash of the properties in `subject`, so that the id does not change while a trace
/// grows.
[[nodiscard]] std::uint64_t track_id(const track& subject);

/// Calls `visit` with every track, in unspecified order. The tracks have no labels.
void for_each_track(const sources& source, const std::function<void(track&&)>& visit);

/// Returns the track with that id, without labels. Errors: not_found.
[[nodiscard]] result<track> find_track(std::uint64_t id, const sources& source);

}  // namespace sluice::query
