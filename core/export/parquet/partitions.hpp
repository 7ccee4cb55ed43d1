#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "core/export/parquet/data_set.hpp"
#include "core/export/parquet/row_batch.hpp"

namespace sluice::exports {

/// Encodes a value for a folder name such as `run=...` as Hive does: characters other than letters, digits, '.', '-'
/// and '_' become %XX.
[[nodiscard]] std::string partition_value(std::string_view value);

/// Maps the processes and devices of a recording to ranks, the numbers of the processes of a job. Immutable.
class rank_table {
 public:
  /// The rank of data that belongs to no single rank of a recording with ranks.
  static constexpr std::int64_t none = -1;
  explicit rank_table(const trace::tables& tables);

  /// Returns the rank of a process; 0 in a recording without ranks. For an unknown process, returns `of_job()`.
  [[nodiscard]] std::int64_t of(std::uint64_t process) const;
  /// Returns the rank of a device that only one rank uses; for other devices, returns `of_job()`.
  [[nodiscard]] std::int64_t of_device(std::uint64_t device) const;
  /// Returns the rank for data about the whole recording: the only rank, or `none` if there are several.
  [[nodiscard]] std::int64_t of_job() const { return ranks_.size() == 1 ? ranks_.front() : none; }
  /// Returns all ranks except `none`, sorted. There is at least one.
  [[nodiscard]] const std::vector<std::int64_t>& all() const { return ranks_; }

 private:
  std::vector<std::int64_t> ranks_;
  std::unordered_map<std::uint64_t, std::int64_t> of_process_;
  std::unordered_map<std::uint64_t, std::int64_t> of_device_;
};

/// Collects the rows of a table separately for each rank, and writes those of a rank to
/// TABLE/run=NAME/rank=N/part-0.parquet. Takes some 100 MB of memory.
class partitions {
 public:
  /// `to` and `texts` must outlive this object.
  partitions(parquet_process& to, const string_table& texts, std::string_view run, const rank_table& ranks);

  /// Begins a table, which must outlive the rows that are written to it.
  [[nodiscard]] result<void> begin(const data_table& table);
  /// Returns the batch to which the next row of a rank must be added. Call `row_done` after the batch's `end_row` and
  /// before the next call of this function.
  [[nodiscard]] row_batch& of(std::int64_t rank);
  [[nodiscard]] result<void> row_done(row_batch& added);
  /// Writes the remaining rows. Each rank of the recording gets a file, even if the rank has no rows.
  [[nodiscard]] result<void> end();

 private:
  [[nodiscard]] result<void> write(std::int64_t rank, row_batch& rows);
  [[nodiscard]] result<void> write_largest();

  parquet_process& to_;
  const string_table& texts_;
  const std::string run_;
  const rank_table& ranks_;
  const data_table* table_ = nullptr;
  std::map<std::int64_t, row_batch> batches_;
  std::int64_t last_rank_ = 0;
  row_batch* last_ = nullptr;  ///< The batch of `last_rank_`.
  std::size_t row_bytes_ = 0;
  std::size_t held_ = 0;  ///< The total size of all batches in bytes.
  batch_encoder encoder_;
};

}  // namespace sluice::exports
