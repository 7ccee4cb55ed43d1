#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "core/export/parquet/data_set.hpp"
#include "core/export/parquet/text_book.hpp"

namespace sluice::exports {

/// Rows of one file that wait to be written as a row group.
class row_batch {
 public:
  explicit row_batch(std::size_t columns) : columns_(columns) {}

  // The next cell of the row, in the order of the columns.
  void add(std::int64_t value) {
    columns_[next_].values.push_back(value);
    columns_[next_++].known.push_back(1);
  }
  void add(double value) { add(std::bit_cast<std::int64_t>(value)); }
  void add_text(text_book::number of) { add(static_cast<std::int64_t>(of)); }
  void add_null() {
    columns_[next_].values.push_back(0);
    columns_[next_].nulls = true;
    columns_[next_++].known.push_back(0);
  }
  /// Completes the row, which must have all cells.
  void end_row() {
    next_ = 0;
    ++rows_;
  }

  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// What the rows take in memory.
  [[nodiscard]] std::size_t bytes() const { return rows_ * columns_.size() * bytes_per_cell; }
  static constexpr std::size_t bytes_per_cell = sizeof(std::int64_t) + 1;

  struct column {
    std::vector<std::int64_t> values;
    std::vector<std::uint8_t> known;  ///< 0: null.
    bool nulls = false;
  };
  [[nodiscard]] std::span<const column> columns() const { return columns_; }
  void clear();

 private:
  std::vector<column> columns_;
  std::size_t next_ = 0;
  std::size_t rows_ = 0;
};

/// Turns batches into the buffers that write_parquet.py reads.
class batch_encoder {
 public:
  using buffers = std::span<const std::span<const std::byte>>;
  /// The buffers are valid until the next call. O(cells + texts).
  [[nodiscard]] buffers encode(const row_batch& rows, std::span<const data_column> columns, const text_book& texts);

 private:
  void add(std::span<const std::byte> bytes) { parts_.push_back(bytes); }
  /// A buffer that is empty. It stays where it is.
  std::vector<std::byte>& fresh();
  void add_bits(std::size_t rows, const std::function<bool(std::size_t)>& is_set);
  void add_texts(const row_batch::column& of, const text_book& texts);

  std::vector<std::span<const std::byte>> parts_;
  std::deque<std::vector<std::byte>> held_;
  std::size_t used_ = 0;
  struct code {
    std::uint64_t time = 0;  ///< The column that gave it.
    std::int32_t is = 0;
  };
  std::vector<code> codes_;  ///< By number of a text.
  std::uint64_t time_ = 0;
};

}  // namespace sluice::exports
