#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/columns/row_layout.hpp"

/// Collects the rows of a chunk and splits them into columns. The last few rows stay structs, in the processor's cache,
/// until they are split together. Most columns hold a single value and then take no memory, so a chunk takes a fraction
/// of the size of its rows.
namespace sluice::trace {

/// A row in which all members have their defaults.
template <class Row>
inline const Row blank{};

/// The range of the times in a chunk's rows, and the range of the ids of the events that the rows refer to. 0: the rows
/// have no such member.
struct row_extent {
  time_ns min_time = 0, max_time = 0;
  std::uint64_t lowest_event = 0, highest_event = 0;
};

/// The values of one member in all rows collected so far.
class growing_column {
 public:
  /// True while all rows have the same value.
  [[nodiscard]] bool is_constant() const { return !varies_; }
  /// The first row's value.
  [[nodiscard]] std::uint64_t first() const { return first_; }
  /// The values of all rows. `rows`: the number of rows.
  [[nodiscard]] std::span<const std::uint64_t> values(std::size_t rows) {
    if (!varies_) fill(rows);
    return std::span(values_).first(rows);
  }

  /// Removes all rows. `first`: the value of the member in the next row, which will be the first.
  void begin(std::uint64_t first) {
    varies_ = false;
    first_ = first;
  }
  /// Allows later rows to have other values. All `rows` rows collected so far have the value of the first row.
  void vary(std::size_t rows) {
    fill(rows);
    varies_ = true;
  }
  /// Returns space for `more` values after the values of the `rows` rows collected so far. The column must vary
  /// (`vary`).
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
  std::vector<std::uint64_t> values_;  ///< May have more elements than there are rows, because its memory is reused.
};

/// Rows of one type, stored as columns. `layout` describes the row type. Text members are left out. Not thread-safe.
class growing_columns {
 public:
  explicit growing_columns(const row_layout& layout);

  [[nodiscard]] const row_layout& layout() const { return *layout_; }
  [[nodiscard]] std::size_t size() const { return rows_; }
  /// Returns the column of the member at position `place` in the schema.
  [[nodiscard]] growing_column& column(std::size_t place) { return columns_[place]; }

  /// Appends `count` rows, which are stored contiguously in memory. O(rows x members).
  void append(const void* rows, std::size_t count);
  /// Removes all rows and keeps their memory for later rows.
  void clear() { rows_ = 0; }

 private:
  void begin(const std::byte* first);
  void note_differences(const std::byte* rows, std::size_t count);
  [[nodiscard]] bool differs(const member_layout& member) const;

  const row_layout* layout_;
  std::size_t rows_ = 0;
  std::vector<std::uint64_t> first_;      ///< The bytes of the first row.
  std::vector<std::uint64_t> differing_;  ///< Bits in which some row differs from `first_`.
  std::vector<growing_column> columns_;
};

/// Collects rows of one type as columns. The last rows, at most 32, stay structs. Not thread-safe.
template <class Row>
class row_columns {
 public:
  /// `most`: the maximum number of rows. Once it is reached, `has_room` stays false even after `cut`, and the rows must
  /// be written as a chunk.
  explicit row_columns(std::size_t most = SIZE_MAX) { limit(most); }
  void limit(std::size_t most) {
    max_ = most;
    near_room_ = std::min(near, max_ - std::min(max_, columns_.size()));
  }

  /// True if a row can be added now. If not, call `cut` to make room, or `clear` if the maximum number of rows is
  /// reached.
  [[nodiscard]] bool has_room() const { return near_count_ < near_room_; }
  /// Adds a row and returns the stored copy, which the caller may change until the next call. Requires `has_room`.
  Row& add(const Row& row) { return near_[near_count_++] = row; }
  [[nodiscard]] std::size_t size() const { return columns_.size() + near_count_; }
  void clear() {
    near_count_ = 0;
    columns_.clear();
    limit(max_);
  }

  /// Splits the rows that are still structs into columns, and returns the columns of all rows.
  growing_columns& cut() {
    if (near_count_ != 0) columns_.append(near_.data(), near_count_);
    near_count_ = 0;
    limit(max_);
    return columns_;
  }

 private:
  static constexpr std::size_t near = 32;

  std::array<Row, near> near_;
  std::size_t near_count_ = 0;
  std::size_t near_room_ = near;
  std::size_t max_ = SIZE_MAX;
  growing_columns columns_{get_layout<Row>()};
};

}  // namespace sluice::trace
