#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/columns/row_layout.hpp"

/// Collects the rows of a chunk, split into columns. The last few rows stay structs, in the processor's cache, and are
/// split together. Most columns hold one value and then take no memory, so a chunk takes a fraction of its rows' size.
namespace sluice::trace {

/// A row whose members all have their defaults.
template <class Row>
inline const Row blank{};

/// The range of times in a chunk's rows, and of the ids of the events that the rows are about. 0: the rows have none.
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
  /// The values of all rows. `rows`: how many rows there are.
  [[nodiscard]] std::span<const std::uint64_t> values(std::size_t rows) {
    if (!varies_) fill(rows);
    return std::span(values_).first(rows);
  }

  /// Forgets all rows. `first`: the member's value in the row that will be the new first row.
  void begin(std::uint64_t first) {
    varies_ = false;
    first_ = first;
  }
  /// Allows later rows to have other values. The `rows` rows so far have the first row's value.
  void vary(std::size_t rows) {
    fill(rows);
    varies_ = true;
  }
  /// Returns space for `more` values behind those of the `rows` rows so far. Only for a column that varies.
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
  std::vector<std::uint64_t> values_;  ///< May be longer than the number of rows: its memory is reused.
};

/// The columns of rows of one type, which `layout` describes. Text members are left out. Not thread-safe.
class growing_columns {
 public:
  explicit growing_columns(const row_layout& layout);

  [[nodiscard]] const row_layout& layout() const { return *layout_; }
  [[nodiscard]] std::size_t size() const { return rows_; }
  /// `place`: the position of the column's member in the schema.
  [[nodiscard]] growing_column& column(std::size_t place) { return columns_[place]; }

  /// Appends `count` rows that lie one after another in memory. O(rows x members).
  void append(const void* rows, std::size_t count);
  /// Forgets all rows, and keeps their memory for later rows.
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

/// Collects rows of one type as columns; the last 32 rows or fewer stay structs. Not thread-safe.
template <class Row>
class row_columns {
 public:
  /// `most`: once it holds this many rows, `has_room` is false even after `cut`: time to write them as a chunk.
  explicit row_columns(std::size_t most = SIZE_MAX) { limit(most); }
  void limit(std::size_t most) {
    most_ = most;
    near_room_ = std::min(near, most_ - std::min(most_, columns_.size()));
  }

  /// True if a row can be added now. If not, call `cut` to make space, or `clear` once the limit is reached.
  [[nodiscard]] bool has_room() const { return near_count_ < near_room_; }
  /// Adds a row and returns the stored copy, which may be changed until the next call. Only if `has_room`.
  Row& add(const Row& row) { return near_[near_count_++] = row; }
  [[nodiscard]] std::size_t size() const { return columns_.size() + near_count_; }
  void clear() {
    near_count_ = 0;
    columns_.clear();
    limit(most_);
  }

  /// Splits the rows that are still structs into columns, and returns the columns of all rows.
  growing_columns& cut() {
    if (near_count_ != 0) columns_.append(near_.data(), near_count_);
    near_count_ = 0;
    limit(most_);
    return columns_;
  }

 private:
  static constexpr std::size_t near = 32;

  std::array<Row, near> near_;
  std::size_t near_count_ = 0;
  std::size_t near_room_ = near;
  std::size_t most_ = SIZE_MAX;
  growing_columns columns_{layout_of<Row>()};
};

}  // namespace sluice::trace
