#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "core/export/parquet/parquet_process.hpp"
#include "core/export/parquet/string_table.hpp"

namespace sluice::exports {

/// The rows of one file that are collected until they are written as a row group.
class row_batch {
 public:
  explicit row_batch(std::size_t columns) : columns_(columns) {}

  // The following functions add a cell to the current row. Call them in the order of the columns.
  void add(std::int64_t value) {
    columns_[next_].values.push_back(value);
    columns_[next_++].known.push_back(1);
  }
  void add(double value) { add(std::bit_cast<std::int64_t>(value)); }
  void add_text(string_table::number number) { add(static_cast<std::int64_t>(number)); }
  void add_null() {
    columns_[next_].values.push_back(0);
    columns_[next_].nulls = true;
    columns_[next_++].known.push_back(0);
  }
  /// Completes the current row, which must have a cell for each column.
  void end_row() {
    next_ = 0;
    ++rows_;
  }

  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// The memory that the rows take.
  [[nodiscard]] std::size_t bytes() const { return rows_ * columns_.size() * bytes_per_cell; }
  static constexpr std::size_t bytes_per_cell = sizeof(std::int64_t) + 1;

  struct column {
    std::vector<std::int64_t> values;
    std::vector<std::uint8_t> known;  ///< For each row: 0 if the cell is null, otherwise 1.
    bool nulls = false;
  };
  [[nodiscard]] std::span<const column> columns() const { return columns_; }
  void clear();

 private:
  std::vector<column> columns_;
  std::size_t next_ = 0;
  std::size_t rows_ = 0;
};

/// Encodes batches as the buffers that write_parquet.py reads.
class batch_encoder {
 public:
  using buffers = std::span<const std::span<const std::byte>>;
  /// Returns the buffers of a batch, valid until the next call. O(cells + texts).
  [[nodiscard]] buffers encode(const row_batch& rows, std::span<const parquet_column> columns,
                               const string_table& texts);

 private:
  void add(std::span<const std::byte> bytes) { parts_.push_back(bytes); }
  /// Returns an empty buffer, whose address stays valid until the next `encode`.
  std::vector<std::byte>& fresh();
  void add_bits(std::size_t rows, const std::function<bool(std::size_t)>& is_set);
  void add_texts(const row_batch::column& column, const string_table& texts);

  std::vector<std::span<const std::byte>> parts_;
  std::deque<std::vector<std::byte>> held_;
  std::size_t used_ = 0;
  struct code {
    std::uint64_t time = 0;  ///< The value of `time_` when the code was assigned. Valid only for that column.
    std::int32_t value = 0;
  };
  std::vector<code> codes_;  ///< The code of each text in the current column, indexed by text number.
  std::uint64_t time_ = 0;
};

}  // namespace sluice::exports
