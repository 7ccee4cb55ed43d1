#pragma once

// The templates of reader.hpp. No other file includes this one.

#include <algorithm>
#include <tuple>

#include "core/base/saturating.hpp"
#include "core/trace/columns/column_values.hpp"
#include "core/trace/model/schema.hpp"

namespace sluice::trace {

namespace detail {
/// Returns the end of a row; for a row without a duration, its time.
template <class Row>
[[nodiscard]] time_ns get_end(const Row& row) {
  if constexpr (requires { row.end; }) {
    return row.end == unknown_time ? row.time : std::max(row.time, row.end);
  } else if constexpr (requires { row.length; }) {
    return saturating_sum(row.time, std::max<time_ns>(row.length, 0));
  } else {
    return row.time;
  }
}
}  // namespace detail

template <class Row>
result<std::shared_ptr<const std::vector<Row>>> snapshot::read(std::size_t index) const {
  const chunk_info chunk = chunks_->at(index);
  if (index >= chunks_->size() || chunk.type != type_of_row<Row>) {
    return fail(error_code::invalid_argument, "chunk " + std::to_string(index) + " does not hold these rows", path());
  }
  return file_->read<Row>(chunk);
}

template <class Row>
result<void> snapshot::read_into(std::size_t index, std::vector<Row>& rows, column_set<Row> wanted) const {
  const chunk_info chunk = chunks_->at(index);
  if (index >= chunks_->size() || chunk.type != type_of_row<Row>) {
    return fail(error_code::invalid_argument, "chunk " + std::to_string(index) + " does not hold these rows", path());
  }
  return file_->read_into<Row>(chunk, rows, wanted);
}

template <class Row, class Class, class Member>
result<void> snapshot::read_column(std::size_t index, Member Class::*member, std::vector<Member>& values) const {
  const std::uint16_t number = to_number<Row>(member);
  const chunk_info chunk = chunks_->at(index);
  if (index >= chunks_->size() || chunk.type != type_of_row<Row> || number == 0) {
    return fail(error_code::invalid_argument, "chunk " + std::to_string(index) + " has no such column", path());
  }
  std::vector<std::uint64_t> bits;
  if (auto got = file_->read_bits(chunk, number, to_bits(Row{}.*member), bits); !got) return got;
  values.resize(bits.size());
  bool fits = true;
  for (std::size_t i = 0; i < bits.size(); ++i) fits &= from_bits(bits[i], values[i]);
  if (!fits) return fail(error_code::corrupt, "a column does not fit its member", path(), {}, chunk.offset);
  return {};
}

template <class Row>
result<void> snapshot::read_summary(const chunk_info& chunk, std::vector<Row>& rows) const {
  static_assert(is_summary(type_of_row<Row>));
  if (chunk.type != type_of_row<Row>) return fail(error_code::invalid_argument, "no chunk of these rows", path());
  const stored_summary stored = get_summary(chunk);
  return stored.in.read_into<Row>(stored.chunk, rows);
}

template <class Row>
result<void> snapshot::read_summary(const chunk_info& chunk, row_values<Row>& rows, column_set<Row> wanted) const {
  static_assert(is_of_tile(type_of_row<Row>));
  if (chunk.type != type_of_row<Row>) return fail(error_code::invalid_argument, "no chunk of these rows", path());
  const stored_summary stored = get_summary(chunk);
  return stored.in.read_values<Row>(stored.chunk, rows, wanted);
}

template <class Row>
result<std::shared_ptr<const std::vector<Row>>> snapshot::read_summary(const chunk_info& chunk,
                                                                       column_set<Row> wanted) const {
  static_assert(is_summary(type_of_row<Row>));
  if (chunk.type != type_of_row<Row>) return fail(error_code::invalid_argument, "no chunk of these rows", path());
  const stored_summary stored = get_summary(chunk);
  return stored.in.read<Row>(stored.chunk, wanted);
}

template <class Row>
result<std::shared_ptr<const std::vector<row_span>>> snapshot::read_spans(const chunk_info& chunk) const {
  static_assert(is_summary(type_of_row<Row>));
  if (chunk.type != type_of_row<Row>) return fail(error_code::invalid_argument, "no chunk of these rows", path());
  const stored_summary stored = get_summary(chunk);
  return stored.in.read_spans<Row>(stored.chunk);
}

template <class Row, class Visit>
result<void> snapshot::for_each(Visit&& visit, time_ns start, time_ns to) const {
  std::vector<Row> rows;
  result<void> got;
  const auto is_of_these = [](row_type type) { return type == type_of_row<Row>; };
  chunks_->for_each(is_of_these, [&](std::size_t, const chunk_info& chunk) {
    if (!got || chunk.max_time < start || chunk.min_time > to) return;
    got = file_->read_into<Row>(chunk, rows, {});
    if (!got) return;
    for (const Row& row : rows) {
      if constexpr (is_event_row<Row>) {
        if (detail::get_end(row) < start || row.time > to) continue;
      }
      visit(row);
    }
  });
  return got;
}

}  // namespace sluice::trace
