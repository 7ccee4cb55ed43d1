#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/query/answers/answer_functions.hpp"

/// Finds rows by their id or by what they refer to, in the chunks that may contain them. Reads the disk, so use it in
/// tasks. Private to core/query.
namespace sluice::query {

/// Calls `use(row)` for each row of the chunks that may contain rows about `id`.
template <class Row, class Use>
void rows_about(trace::event_id id, const sources& from, Use&& use) {
  const auto chunks = from.index.chunks().find([=](const analysis::chunk_reach& about) {
    return raw(id) >= about.lowest_event && raw(id) <= about.highest_event;
  });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (from.trace.chunk(chunk).type != trace::type_of_row<Row>) continue;
    const auto rows = from.trace.read<Row>(chunk);
    if (!rows) continue;  // Reported in the messages.
    for (const Row& row : **rows) use(row);
  }
}

template <class Row>
[[nodiscard]] std::optional<Row> find_row(trace::event_id id, const sources& from) {
  std::optional<Row> found;
  rows_about<Row>(id, from, [&](const Row& row) {
    if (row.id == id && !found) found = row;
  });
  return found;
}

/// The block with that id, with its facts at birth. Also works with the index of a section without the block.
[[nodiscard]] std::optional<analysis::block_record> find_block(trace::block_id id, const sources& from);

/// The name that the program gave to the block allocated by `alloc`.
[[nodiscard]] trace::string_id name_tag_of(trace::event_id alloc, const sources& from);

/// The owner of an imported block's memory.
[[nodiscard]] std::optional<analysis::index::import_owner> import_owner_of(trace::event_id alloc, const sources& from);

/// True if other blocks lie in the block.
[[nodiscard]] bool holds_blocks(trace::block_id id, const sources& from);

/// The first row from `time` on for which `wanted` is true. Reads only the 24 chunks that begin earliest: work usually
/// runs soon after its call, and later rows are not worth reading half a recording for.
template <class Row, class Wanted>
[[nodiscard]] std::optional<Row> find_soon_after(trace::time_ns time, const sources& from, Wanted&& wanted) {
  constexpr std::size_t most_chunks = 24;
  std::vector<std::pair<trace::time_ns, std::size_t>> order;
  const auto is_of_these = [](trace::row_type type) { return type == trace::type_of_row<Row>; };
  from.trace.chunks_to_search().for_each(is_of_these, [&](std::size_t i, const trace::chunk_info& chunk) {
    if (chunk.max_time >= time) order.emplace_back(chunk.min_time, i);
  });
  std::sort(order.begin(), order.end());
  if (order.size() > most_chunks) order.resize(most_chunks);
  for (const auto& [begin, chunk] : order) {
    if (from.cancelled) return std::nullopt;
    const auto rows = from.trace.read<Row>(chunk);
    if (!rows) continue;
    for (const Row& row : **rows)
      if (row.time >= time && wanted(row)) return row;
  }
  return std::nullopt;
}

}  // namespace sluice::query
