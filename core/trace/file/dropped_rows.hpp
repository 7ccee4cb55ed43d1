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

/// What a writer could not write because the disk was full: rows counted by kind and by process, and the frees that must not be lost.
namespace sluice::trace {

/// What follows from other rows, and is written again from what the writer's user knows: losing it loses nothing.
[[nodiscard]] constexpr bool is_repeated(row_type type) {
  return type == row_type::checkpoint || type == row_type::live_block || type == row_type::clock_anchor ||
         type == row_type::loss;
}
/// Whether a row of the kind is something that happened, and not a part of such a row or a word about it.
[[nodiscard]] constexpr bool is_happening(row_type type) {
  return is_event(type) && !is_repeated(type) && type != row_type::attribute && type != row_type::link &&
         type != row_type::transfer_part && type != row_type::message && type != row_type::watermark;
}
[[nodiscard]] constexpr bool is_of_memory(row_type type) { return type == row_type::alloc || type == row_type::free; }

class dropped_rows {
 public:
  struct count {
    std::uint64_t events = 0;
    std::uint64_t memory_events = 0;  ///< Of those, allocations and frees.
  };

  [[nodiscard]] bool empty() const { return kinds_.empty() && processes_.empty(); }
  /// By process; that of rows which cannot be read any more is not known.
  [[nodiscard]] const std::map<process_id, count>& processes() const { return processes_; }
  /// Of all processes, without what others lost before and said in rows that were dropped.
  [[nodiscard]] const count& own() const { return own_; }
  /// When they were.
  [[nodiscard]] time_ns begin() const { return begin_; }
  [[nodiscard]] time_ns end() const { return end_; }
  /// Of events, whatever they are about.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// "1204 alloc, 3 kernel": by the names of tables.
  [[nodiscard]] std::string by_kind() const;

  void add(const dropped_rows& other);

  /// All of a chunk that is to be: they are counted. Of frees, those whose blocks are in the file wait in `frees`.
  template <class Row>
  void take(row_columns<Row>& rows);
  /// A chunk that was written and is given up.
  void take(row_type type, std::uint64_t rows, time_ns begin, time_ns end);
  /// What it says was lost is lost all the same.
  void take(const loss_event& row);
  /// It is lost, unless it was only inferred.
  void take(const free_event& row);
  /// Rows of a table, for which there was no room to wait.
  void take_definitions(row_type type, std::uint64_t rows) { kinds_[type] += rows; }

  /// Frees of blocks that the file has: without them these would seem to live on. No more than lived when the disk became full.
  std::vector<free_event> frees;
  /// They are lost after all.
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
  std::uint64_t first_block_ = UINT64_MAX;  ///< From it on, the file has no allocations.
};

namespace detail {
/// The row at `at` of all rows; Row has no texts.
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
