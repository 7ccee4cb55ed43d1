#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/trace/columns/column_values.hpp"
#include "core/trace/model/schema.hpp"

/// Rows that become columns as they come: a few are kept as they are, near in the cache, and then cut up together. Most columns of
/// most chunks hold one value, and take no memory then; so what waits for its chunk is a fraction of the rows themselves.
namespace sluice::trace {

template <class Row>
inline constexpr std::size_t field_count = std::tuple_size_v<decltype(fields_of<Row>)>;

template <class Field>
inline constexpr bool is_text_field = false;
template <class Class>
inline constexpr bool is_text_field<field<Class, std::string>> = true;

/// A row that says nothing yet.
template <class Row>
inline const Row blank{};

/// What a chunk says of its rows: when they were, and the ids of the events that they are about. Both 0 for rows of neither.
struct row_extent {
  time_ns min_time = 0, max_time = 0;
  std::uint64_t lowest_event = 0, highest_event = 0;
};

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

  /// There are no rows yet, and the first will have this value.
  void begin(std::uint64_t first) {
    varies_ = false;
    first_ = first;
  }
  /// The `rows` that there are have one value, and those that follow may have others.
  void vary(std::size_t rows) {
    fill(rows);
    varies_ = true;
  }
  /// Room for `more` values behind `rows` others, of a column that varies.
  [[nodiscard]] std::uint64_t* append(std::size_t rows, std::size_t more) {
    if (values_.size() < rows + more) values_.resize(std::max({2 * values_.size(), rows + more, std::size_t{512}}));
    return values_.data() + rows;
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
  /// `most`: rows after which `has_room` says no whatever is cut; they should be a chunk then.
  explicit row_columns(std::size_t most = SIZE_MAX) { limit(most); }
  void limit(std::size_t most) {
    most_ = most;
    near_room_ = std::min(near, most_ - std::min(most_, rows_));
  }

  /// A row can be added as things are; else `cut` makes room, or `clear` once there are as many rows as the limit says.
  [[nodiscard]] bool has_room() const { return near_count_ < near_room_; }
  /// Returns the row as it is kept; it may be changed until something else is called. Only where there is room.
  Row& add(const Row& row) { return near_[near_count_++] = row; }
  void add(std::span<const Row> rows) {
    cut();
    for (; rows.size() > near; rows = rows.subspan(near)) cut(rows.first(near));
    if (!rows.empty()) cut(rows);
  }
  [[nodiscard]] std::size_t size() const { return rows_ + near_count_; }
  void clear() {
    rows_ = near_count_ = 0;
    limit(most_);
  }

  /// Cuts what is left. Then `column` is of all rows.
  void cut() {
    if (near_count_ != 0) cut(std::span(near_).first(near_count_));
    near_count_ = 0;
    limit(most_);
  }
  /// By its place in the schema.
  [[nodiscard]] growing_column& column(std::size_t place) { return columns_[place]; }

 private:
  static constexpr std::size_t near = 32;
  static constexpr std::size_t row_words = sizeof(Row) / sizeof(std::uint64_t);
  static_assert(sizeof(Row) % sizeof(std::uint64_t) == 0 && row_words >= 2);
  using words = std::array<std::uint64_t, row_words>;

  void cut(std::span<const Row> some) {
    if (rows_ == 0) begin(some.front());
    note_differences(some);
    [&]<std::size_t... I>(std::index_sequence<I...>) { (cut_field<I>(some), ...); }
    (std::make_index_sequence<field_count<Row>>());
    rows_ += some.size();
  }

  void begin(const Row& first) {
    std::memcpy(first_.data(), &first, sizeof first_);
    differing_ = {};
    [&]<std::size_t... I>(std::index_sequence<I...>) { (begin_field<I>(first), ...); }
    (std::make_index_sequence<field_count<Row>>());
  }
  template <std::size_t I>
  void begin_field(const Row& first) {
    constexpr auto field = std::get<I>(fields_of<Row>);
    if constexpr (!is_text_field<std::remove_const_t<decltype(field)>>) columns_[I].begin(to_bits(first.*field.member));
  }

  /// Which bits of the rows differ from the first row's, whatever member they are of: two words at a time.
  void note_differences(std::span<const Row> some) {
    using two_words = std::uint64_t __attribute__((vector_size(2 * sizeof(std::uint64_t))));
    for (std::size_t w = 0; w < row_words; w += 2) {
      const std::size_t at = std::min(w, row_words - 2);
      two_words first, differing, now;
      std::memcpy(&first, first_.data() + at, sizeof first);
      std::memcpy(&differing, differing_.data() + at, sizeof differing);
#pragma GCC unroll 4
      for (const Row& row : some) {
        std::memcpy(&now, reinterpret_cast<const char*>(&row) + at * sizeof first_[0], sizeof now);
        differing |= now ^ first;
      }
      std::memcpy(differing_.data() + at, &differing, sizeof differing);
    }
  }

  template <std::size_t I>
  void cut_field(std::span<const Row> some) {
    constexpr auto field = std::get<I>(fields_of<Row>);
    if constexpr (!is_text_field<std::remove_const_t<decltype(field)>>) {
      growing_column& column = columns_[I];
      if (column.is_constant()) {
        const Row& row = some.front();
        const auto at = reinterpret_cast<const char*>(&(row.*field.member)) - reinterpret_cast<const char*>(&row);
        std::uint64_t bits = 0;
        std::memcpy(&bits, reinterpret_cast<const char*>(differing_.data()) + at, sizeof(row.*field.member));
        if (bits == 0) return;
        column.vary(rows_);
      }
      std::uint64_t* to = column.append(rows_, some.size());
#pragma GCC unroll 8
      for (const Row& row : some) *to++ = to_bits(row.*field.member);
    }
  }

  std::array<Row, near> near_;
  std::size_t near_count_ = 0;
  std::size_t near_room_ = near;
  std::size_t rows_ = 0;  ///< Cut.
  std::size_t most_ = SIZE_MAX;
  words first_{};      ///< The first row, as it lies in memory.
  words differing_{};  ///< Bits in which some row that was cut differs from it.
  std::array<growing_column, field_count<Row>> columns_;
};

}  // namespace sluice::trace
