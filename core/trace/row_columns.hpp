#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/trace/column_values.hpp"
#include "core/trace/schema.hpp"

/// Rows that become columns as they come: a few are kept as they are, near in the cache, and then cut up together. Most columns of
/// most chunks hold one value, and take no memory then; so what waits for its chunk is a fraction of the rows themselves.
namespace sluice::trace {

template <class Row>
inline constexpr std::size_t field_count = std::tuple_size_v<decltype(schema<Row>::fields)>;

template <class Field>
inline constexpr bool is_text_field = false;
template <class Class>
inline constexpr bool is_text_field<field<Class, std::string>> = true;

/// What a chunk says of its rows: when they were, and the ids of the events that they are about. Both 0 for rows of neither.
struct row_extent {
  time_ns min_time = 0, max_time = 0;
  std::uint64_t lowest_event = 0, highest_event = 0;
};

/// Makes `extent` hold `rows` too; `first`: it holds nothing yet.
template <class Row>
void extend(row_extent& extent, std::span<const Row> rows, bool first) {
  if constexpr (requires(Row row) { row.time; }) {
    time_ns lowest = first ? INT64_MAX : extent.min_time;
    time_ns highest = first ? INT64_MIN : extent.max_time;
    for (const Row& row : rows) {
      lowest = std::min(lowest, row.time);
      highest = std::max(highest, row.time);
      if constexpr (requires { row.end; }) highest = std::max(highest, row.end);
    }
    extent.min_time = lowest;
    extent.max_time = highest;
  }
  if constexpr (is_event_row<Row>) {
    std::uint64_t lowest = first ? UINT64_MAX : extent.lowest_event;
    std::uint64_t highest = first ? 0 : extent.highest_event;
    for (const Row& row : rows) {
      lowest = std::min(lowest, subject_of(row));
      highest = std::max(highest, subject_of(row));
    }
    extent.lowest_event = lowest;
    extent.highest_event = highest;
  }
}

/// The integers of one member in all rows.
class growing_column {
 public:
  /// All rows have one value.
  [[nodiscard]] bool is_constant() const { return !varies_; }
  /// Of the first row.
  [[nodiscard]] std::uint64_t first() const { return first_; }
  /// Of the first `rows` rows, which is as many as there are.
  [[nodiscard]] std::span<const std::uint64_t> values(std::size_t rows) {
    if (!varies_) fill(rows);
    return std::span(values_).first(rows);
  }

  /// Adds a member of `some`, behind `rows` others.
  template <auto Member, class Row>
  void add(std::size_t rows, std::span<const Row> some) {
    if (rows == 0) {
      varies_ = false;
      first_ = to_bits(some.front().*Member);
    }
    if (!varies_) {
      std::uint64_t differing = 0;
#pragma GCC unroll 8
      for (const Row& row : some) differing |= to_bits(row.*Member) ^ first_;
      if (differing == 0) return;
      fill(rows);
      varies_ = true;
    }
    if (values_.size() < rows + some.size()) values_.resize(std::max<std::size_t>(2 * values_.size(), 512));
    if (values_.size() < rows + some.size()) values_.resize(rows + some.size());
    std::uint64_t* to = values_.data() + rows;
#pragma GCC unroll 8
    for (const Row& row : some) *to++ = to_bits(row.*Member);
  }

 private:
  void fill(std::size_t rows) {
    if (values_.size() < rows) values_.resize(rows);
    std::fill_n(values_.begin(), rows, first_);
  }

  bool varies_ = false;
  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> values_;  ///< Of a chunk before, what there is no value for.
};

/// Texts are left out: whoever has rows with such has them whole. Not thread-safe.
template <class Row>
class row_columns {
 public:
  /// Returns the row as it is kept; it may be changed until something else is called.
  Row& add(const Row& row) {
    if (near_count_ == near) cut();
    return near_[near_count_++] = row;
  }
  void add(std::span<const Row> rows) {
    cut();
    for (; rows.size() > near; rows = rows.subspan(near)) cut(rows.first(near));
    if (!rows.empty()) cut(rows);
  }
  [[nodiscard]] std::size_t size() const { return rows_ + near_count_; }
  void clear() { rows_ = near_count_ = 0; }

  /// Cuts what is left. Then `column` and `extent` are of all rows.
  void cut() {
    if (near_count_ != 0) cut(std::span(near_).first(near_count_));
    near_count_ = 0;
  }
  /// By its place in the schema.
  [[nodiscard]] growing_column& column(std::size_t place) { return columns_[place]; }
  [[nodiscard]] const row_extent& extent() const { return extent_; }

 private:
  static constexpr std::size_t near = 32;

  void cut(std::span<const Row> some) {
    extend(extent_, some, rows_ == 0);
    [&]<std::size_t... I>(std::index_sequence<I...>) { (add_field<I>(some), ...); }
    (std::make_index_sequence<field_count<Row>>());
    rows_ += some.size();
  }
  template <std::size_t I>
  void add_field(std::span<const Row> some) {
    constexpr auto field = std::get<I>(schema<Row>::fields);
    if constexpr (!is_text_field<std::remove_const_t<decltype(field)>>) {
      columns_[I].template add<field.member>(rows_, some);
    }
  }

  std::array<Row, near> near_;
  std::size_t near_count_ = 0;
  std::size_t rows_ = 0;  ///< Cut.
  std::array<growing_column, field_count<Row>> columns_;
  row_extent extent_;
};

}  // namespace sluice::trace
