#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/query/results/result_functions.hpp"

/// Finds rows by their own id or by ids that they refer to, reading only chunks that may contain these rows. Reads the
/// disk, so call these functions only in tasks. Private to core/query.
namespace sluice::query {

/// Calls `use(row)` for each row of type `Row` in the chunks that may contain rows about `id`. `use` must check the
/// row.
template <class Row, class Use>
void rows_about(trace::event_id id, const sources& source, Use&& use) {
  const auto chunks = source.index.chunks().find(
      [=](const index::chunk_reach& about) { return raw(id) >= about.lowest_event && raw(id) <= about.highest_event; });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (source.trace.chunk(chunk).type != trace::type_of_row<Row>) continue;
    const auto rows = source.trace.read<Row>(chunk);
    if (!rows) continue;  // Reported in the messages.
    for (const Row& row : **rows) use(row);
  }
}

template <class Row>
[[nodiscard]] std::optional<Row> find_row(trace::event_id id, const sources& source) {
  std::optional<Row> found;
  rows_about<Row>(id, source, [&](const Row& row) {
    if (row.id == id && !found) found = row;
  });
  return found;
}

/// Returns the block with that id, with its attributes at allocation. `from.index` may be the index of a section that
/// does not contain the block.
[[nodiscard]] std::optional<index::block_record> find_block(trace::block_id id, const sources& source);

/// Returns the name that the program gave to the block that the event `alloc` allocated.
[[nodiscard]] trace::string_id get_name_tag(trace::event_id alloc, const sources& source);

/// Returns the owner of the memory of a block that the event `alloc` imported from another process.
[[nodiscard]] std::optional<index::event_store::import_owner> find_import_owner(trace::event_id alloc,
                                                                                const sources& source);

/// True if other blocks are inside the block.
[[nodiscard]] bool holds_blocks(trace::block_id id, const sources& source);

/// Returns the first row at or after `time` for which `wanted` is true. Reads only the 24 chunks with the earliest
/// start, because work usually runs soon after its call; to find later rows, half of a recording would have to be read.
template <class Row, class Wanted>
[[nodiscard]] std::optional<Row> find_soon_after(trace::time_ns time, const sources& source, Wanted&& wanted) {
  constexpr std::size_t max_chunks = 24;
  std::vector<std::pair<trace::time_ns, std::size_t>> order;
  const auto is_of_these = [](trace::row_type type) { return type == trace::type_of_row<Row>; };
  source.trace.chunks_to_search().for_each(is_of_these, [&](std::size_t i, const trace::chunk_info& chunk) {
    if (chunk.max_time >= time) order.emplace_back(chunk.min_time, i);
  });
  std::sort(order.begin(), order.end());
  if (order.size() > max_chunks) order.resize(max_chunks);
  for (const auto& [begin, chunk] : order) {
    if (source.cancelled) return std::nullopt;
    const auto rows = source.trace.read<Row>(chunk);
    if (!rows) continue;
    for (const Row& row : **rows)
      if (row.time >= time && wanted(row)) return row;
  }
  return std::nullopt;
}

}  // namespace sluice::query
