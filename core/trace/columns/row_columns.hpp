#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/columns/row_layout.hpp"

/// Rows that are split into columns while they are collected for a chunk. The last few rows are kept as they are, in the cache, and then split
/// together. Most columns of most chunks hold one value and then take no memory, so what waits for its chunk is a fraction of the rows' size.
namespace sluice::trace {

/// A row whose members all have their defaults.
template <class Row>
inline const Row blank{};

/// The times of a chunk's rows, and the ids of the events that they are about. Both 0 for rows that have none.
struct row_extent {
  time_ns min_time = 0, max_time = 0;
  std::uint64_t lowest_event = 0, highest_event = 0;
};

/// The values of one member in all rows.
class growing_column {
 public:
  /// True while all rows have one value.
  [[nodiscard]] bool is_constant() const { return !varies_; }
  /// The first row's value.
  [[nodiscard]] std::uint64_t first() const { return first_; }
  /// The values of all rows. `rows`: how many rows there are.
  [[nodiscard]] std::span<const std::uint64_t> values(std::size_t rows) {
    if (!varies_) fill(rows);
    return std::span(values_).first(rows);
  }

  /// Forgets all rows; the next first row will have this value.
  void begin(std::uint64_t first) {
    varies_ = false;
    first_ = first;
  }
  /// From now on the rows may have different values; the `rows` before have the first one's.
  void vary(std::size_t rows) {
    fill(rows);
    varies_ = true;
  }
  /// Space for `more` values after those of `rows` rows. Only for a column that varies.
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
  std::vector<std::uint64_t> values_;  ///< May be longer than there are rows: its memory is used again.
};

/// The columns of rows of one kind, which it knows by their layout. Texts are left out. Not thread-safe.
class growing_columns {
 public:
  explicit growing_columns(const row_layout& layout);

  [[nodiscard]] const row_layout& layout() const { return *layout_; }
  [[nodiscard]] std::size_t size() const { return rows_; }
  /// By its place in the schema.
  [[nodiscard]] growing_column& column(std::size_t place) { return columns_[place]; }

  /// Appends `count` rows that lie one after another in memory. O(rows x members).
  void append(const void* rows, std::size_t count);
  /// Forgets all rows; their memory is used again.
  void clear() { rows_ = 0; }

 private:
  void begin(const std::byte* first);
  void note_differences(const std::byte* rows, std::size_t count);
  [[nodiscard]] bool differs(const member_layout& member) const;

  const row_layout* layout_;
  std::size_t rows_ = 0;
  std::vector<std::uint64_t> first_;      ///< The first row, as it lies in memory.
  std::vector<std::uint64_t> differing_;  ///< Bits in which some row differs from it.
  std::vector<growing_column> columns_;
};

/// Rows of one kind on their way into columns. Not thread-safe.
template <class Row>
class row_columns {
 public:
  /// `most`: with so many rows `has_room` is false even after `cut`; they should become a chunk then.
  explicit row_columns(std::size_t most = SIZE_MAX) { limit(most); }
  void limit(std::size_t most) {
    most_ = most;
    near_room_ = std::min(near, most_ - std::min(most_, columns_.size()));
  }

  /// Whether a row can be added now. If not, `cut` makes space, or `clear` once the limit is reached.
  [[nodiscard]] bool has_room() const { return near_count_ < near_room_; }
  /// Adds a row and returns the kept copy, which may be changed until the next call. Only if `has_room`.
  Row& add(const Row& row) { return near_[near_count_++] = row; }
  [[nodiscard]] std::size_t size() const { return columns_.size() + near_count_; }
  void clear() {
    near_count_ = 0;
    columns_.clear();
    limit(most_);
  }

  /// Splits the rows that are still kept as they are, and returns the columns of all rows.
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
