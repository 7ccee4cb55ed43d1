#pragma once

#include <vector>

#include "core/trace/file/reader.hpp"

/// Visits events of all kinds, chunk by chunk. Holds the rows of only one chunk in memory at a time.
namespace sluice::trace {

namespace detail {
template <class Row, class Visit>
result<void> visit_rows(const snapshot& recording, std::size_t chunk, Visit& visit) {
  std::vector<Row> rows;
  if (auto got = recording.read_into<Row>(chunk, rows); !got) return got;
  for (const Row& row : rows) visit(row);
  return {};
}
}  // namespace detail

/// Calls `visit(const Row&)` for each event of chunk number `chunk`, in file order. Does nothing if the chunk belongs
/// to a table.
template <class Visit>
result<void> visit_events(const snapshot& recording, std::size_t chunk, Visit&& visit) {
  switch (recording.chunk(chunk).type) {
#define SLUICE_VISIT(row, kind)                                                               \
  case row_type::kind:                                                                        \
    if constexpr (is_event_row<row>) return detail::visit_rows<row>(recording, chunk, visit); \
    break;
    SLUICE_FOR_EACH_ROW(SLUICE_VISIT)
#undef SLUICE_VISIT
    default:
      break;
  }
  return {};
}

}  // namespace sluice::trace
