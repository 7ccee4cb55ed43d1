#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/columns/row_columns.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

/// Counts the rows that a writer has dropped because the disk was full, and keeps the frees that must not be lost.
namespace sluice::trace {

/// True for row types whose content later rows repeat, so that a dropped row loses no information.
[[nodiscard]] constexpr bool is_repeated(row_type type) {
  return type == row_type::checkpoint || type == row_type::live_block || type == row_type::clock_anchor ||
         type == row_type::loss;
}
/// True for events of the program. False for rows that describe or repeat other events (attributes, links).
[[nodiscard]] constexpr bool is_happening(row_type type) {
  return is_event(type) && !is_repeated(type) && type != row_type::attribute && type != row_type::link &&
         type != row_type::transfer_part && type != row_type::message && type != row_type::watermark;
}
[[nodiscard]] constexpr bool is_of_memory(row_type type) { return type == row_type::alloc || type == row_type::free; }

class dropped_rows {
 public:
  struct count {
    std::uint64_t events = 0;
    std::uint64_t memory_events = 0;  ///< The number of allocations and frees among `events`.
  };

  [[nodiscard]] bool empty() const { return kinds_.empty() && processes_.empty(); }
  /// Counts by process. `process_id::none` stands for the rows of chunks that were cut from the file, whose processes
  /// are unknown.
  [[nodiscard]] const std::map<process_id, count>& processes() const { return processes_; }
  /// The total of all processes. Does not include losses that dropped loss events report.
  [[nodiscard]] const count& own() const { return own_; }
  /// Counts by row type. Does not include inferred frees and rows that repeat others.
  [[nodiscard]] const std::map<row_type, std::uint64_t>& kinds() const { return kinds_; }
  /// Time range of the dropped rows.
  [[nodiscard]] time_ns begin() const { return begin_; }
  [[nodiscard]] time_ns end() const { return end_; }
  /// The number of dropped events of any kind.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Returns the counts by row type as text: "1,204 alloc, 3 kernel".
  [[nodiscard]] std::string by_kind() const;

  void add(const dropped_rows& other);

  /// Counts all rows of a chunk as dropped, except frees of blocks that are in the file. These frees are added to
  /// `frees`.
  template <class Row>
  void take(row_columns<Row>& rows);
  /// Counts the rows of a written chunk that is removed from the file.
  void take(row_type type, std::uint64_t rows, time_ns begin, time_ns end);
  /// Counts the events that a dropped loss event reports as lost.
  void take(const loss_event& row);
  /// Counts a dropped free, unless the free was inferred.
  void take(const free_event& row);
  /// Counts rows of tables that could not be kept in memory.
  void take_definitions(row_type type, std::uint64_t rows) { kinds_[type] += rows; }

  /// Frees that are kept in memory, because without them, their blocks would appear to stay live. There is at most one
  /// for each block that was live when the disk became full.
  std::vector<free_event> frees;
  /// Counts all frees in `frees` as dropped, and empties `frees`.
  void give_up_frees();

 private:
  void count_in(row_type type, process_id process, std::uint64_t rows);
  void reach(time_ns begin, time_ns end);
  void note_first_block(block_id block);
  bool keep(const free_event& row);

  std::map<process_id, count> processes_;
  std::map<row_type, std::uint64_t> kinds_;
  count own_;
  std::uint64_t rows_ = 0;
  time_ns begin_ = INT64_MAX, end_ = INT64_MIN;
  std::uint64_t first_block_ = UINT64_MAX;  ///< The file has no allocation of a block with this id or a higher id.
};

namespace detail {
/// Returns row number `at` as a struct. `Row` must not have text members.
template <class Row>
Row row_at(growing_columns& columns, std::size_t at) {
  Row row;
  const std::span<const member_layout> members = columns.layout().members;
  for (std::size_t place = 0; place < members.size(); ++place) {
    growing_column& column = columns.column(place);
    const std::uint64_t value = column.is_constant() ? column.first() : column.values(columns.size())[at];
    store(members[place], value, reinterpret_cast<std::byte*>(&row));
  }
  return row;
}
}  // namespace detail

template <class Row>
void dropped_rows::take(row_columns<Row>& rows) {
  constexpr row_type type = type_of_row<Row>;
  growing_columns& columns = rows.cut();
  if constexpr (is_repeated(type) && type != row_type::loss) {
    rows_ += columns.size();
    return;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Row row = detail::row_at<Row>(columns, i);
    if constexpr (type == row_type::loss) take(row);
    if constexpr (type == row_type::alloc) note_first_block(row.block);
    if constexpr (type == row_type::free) {
      if (!keep(row)) take(row);
      continue;
    }
    if constexpr (type != row_type::loss) count_in(type, row.process, 1);
    reach(row.time, row.time);
  }
}

}  // namespace sluice::trace
