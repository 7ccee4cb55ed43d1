#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "core/export/parquet/row_batch.hpp"

namespace sluice::exports {

/// The name of a folder for a value, `run=...`, as Hive writes it: other characters than letters, digits, '.', '-' and
/// '_' become %XX.
[[nodiscard]] std::string partition_value(std::string_view value);

/// Tells the rank of each process and device of a recording. Immutable.
class rank_book {
 public:
  /// What belongs to no rank of a recording that has ranks.
  static constexpr std::int64_t none = -1;
  explicit rank_book(const trace::tables& of);

  /// The rank of a process. A recording without ranks is all of rank 0. Of no process: `of_job`.
  [[nodiscard]] std::int64_t of(std::uint64_t process) const;
  /// The rank that alone uses a device; else `of_job`.
  [[nodiscard]] std::int64_t of_device(std::uint64_t device) const;
  /// The rank of what is about all of the recording: `none` if there are several.
  [[nodiscard]] std::int64_t of_job() const { return ranks_.size() == 1 ? ranks_.front() : none; }
  /// All but `none`, sorted; at least one.
  [[nodiscard]] const std::vector<std::int64_t>& all() const { return ranks_; }

 private:
  std::vector<std::int64_t> ranks_;
  std::unordered_map<std::uint64_t, std::int64_t> of_process_;
  std::unordered_map<std::uint64_t, std::int64_t> of_device_;
};

/// Collects the rows of a table by rank, and writes each as TABLE/run=NAME/rank=N/part-0.parquet. Holds some 100 MB.
class partitions {
 public:
  /// `to` and `texts` must outlive this object.
  partitions(parquet_process& to, const text_book& texts, std::string_view run, const rank_book& ranks);

  /// Begins a table. Its columns must outlive this object.
  [[nodiscard]] result<void> begin(const data_table& table);
  /// Where the next row of a rank goes. Call `row_done` after `end_row`, before another call of this.
  [[nodiscard]] row_batch& of(std::int64_t rank);
  [[nodiscard]] result<void> row_done(row_batch& added);
  /// Writes what is left. Each rank of the recording gets a file, if only an empty one.
  [[nodiscard]] result<void> end();

 private:
  [[nodiscard]] result<void> write(std::int64_t rank, row_batch& rows);
  [[nodiscard]] result<void> write_largest();

  parquet_process& to_;
  const text_book& texts_;
  const std::string run_;
  const rank_book& ranks_;
  const data_table* table_ = nullptr;
  std::map<std::int64_t, row_batch> batches_;
  std::int64_t last_rank_ = 0;
  row_batch* last_ = nullptr;  ///< That of `last_rank_`.
  std::size_t row_bytes_ = 0;
  std::size_t held_ = 0;  ///< Bytes of all batches.
  batch_encoder encoder_;
};

}  // namespace sluice::exports
