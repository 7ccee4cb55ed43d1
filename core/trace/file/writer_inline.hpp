#pragma once

#include <tuple>
#include <type_traits>
#include <vector>

#include "core/trace/columns/row_columns.hpp"
#include "core/trace/file/writer.hpp"

/// The inline parts of the writer. They run once per event, so they are compiled into their callers.
namespace sluice::trace {

/// The rows that have not been written yet. Table rows are few and may have texts, so they are stored as structs.
struct file_writer::waiting_rows {
  template <class Row>
  using buffer = std::conditional_t<is_event_row<Row>, row_columns<Row>, std::vector<Row>>;
#define SLUICE_BUFFER(row, kind) buffer<row>,
  std::tuple<SLUICE_FOR_EACH_ROW(SLUICE_BUFFER) std::vector<index_row>> buffers;
#undef SLUICE_BUFFER
  std::uint64_t last_event = 0;

  template <class Row>
  buffer<Row>& of() {
    return std::get<buffer<Row>>(buffers);
  }
  template <class Row>
  const buffer<Row>& of() const {
    return std::get<buffer<Row>>(buffers);
  }
};

template <class Row>
inline Row& file_writer::start(const Row& like) {
  row_columns<Row>& rows = waiting_->of<Row>();
  if (!rows.has_room()) [[unlikely]]
    make_room<Row>();
  Row& row = rows.add(like);
  row.id = static_cast<event_id>(++waiting_->last_event);
  return row;
}

}  // namespace sluice::trace
