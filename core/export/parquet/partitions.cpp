#include "core/export/parquet/partitions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::exports {
namespace {

/// DuckDB reads a file with one thread per row group, and itself writes groups of 122,880 rows.
constexpr std::size_t rows_in_group = 122'880;
/// The most bytes held for all ranks together. Growing vectors take up to twice as much.
constexpr std::size_t max_held = 64'000'000;
/// If there are at most this many ranks, the memory of written batches is reused.
constexpr std::size_t few_ranks = 4;

}  // namespace

std::string partition_value(std::string_view value) {
  std::string text;
  for (const char each : value) {
    const bool plain = (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                       each == '.' || each == '-' || each == '_';
    if (plain)
      text += each;
    else
      text += fmt::format("%{:02X}", static_cast<unsigned char>(each));
  }
  return text;
}

// --- ranks ----------------------------------------------------------------------------------------------------------

rank_table::rank_table(const trace::tables& tables) {
  for (const trace::process_row& row : tables.processes.rows())
    if (row.rank >= 0) ranks_.push_back(row.rank);
  const bool ranked = !ranks_.empty();
  if (!ranked) ranks_.push_back(0);
  std::sort(ranks_.begin(), ranks_.end());
  ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
  for (const trace::process_row& row : tables.processes.rows())
    of_process_[raw(row.id)] = row.rank >= 0 ? row.rank : ranked ? none : 0;
  const auto note = [&](trace::device_id device, trace::process_id process) {
    const std::int64_t rank = this->of(raw(process));
    const auto [found, fresh] = of_device_.try_emplace(raw(device), rank);
    if (!fresh && found->second != rank) found->second = of_job();
  };
  for (const trace::context_row& row : tables.contexts.rows()) note(row.device, row.process);
  for (const trace::stream_row& row : tables.streams.rows()) note(row.device, row.process);
}

std::int64_t rank_table::of(std::uint64_t process) const {
  const auto found = of_process_.find(process);
  return found == of_process_.end() ? of_job() : found->second;
}

std::int64_t rank_table::of_device(std::uint64_t device) const {
  const auto found = of_device_.find(device);
  return found == of_device_.end() ? of_job() : found->second;
}

// --- rows -----------------------------------------------------------------------------------------------------------

partitions::partitions(parquet_process& to, const string_table& texts, std::string_view run, const rank_table& ranks)
    : to_(to), texts_(texts), run_(partition_value(run)), ranks_(ranks) {}

result<void> partitions::begin(const data_table& table) {
  table_ = &table;
  batches_.clear();
  last_ = nullptr;
  held_ = 0;
  row_bytes_ = table.columns.size() * row_batch::bytes_per_cell;
  return to_.begin_table(table.columns);
}

row_batch& partitions::of(std::int64_t rank) {
  if (last_ != nullptr && last_rank_ == rank) return *last_;
  last_rank_ = rank;
  last_ = &batches_.try_emplace(rank, table_->columns.size()).first->second;
  return *last_;
}

result<void> partitions::row_done(row_batch& added) {
  held_ += row_bytes_;
  if (added.rows() >= rows_in_group) return write(last_rank_, added);
  return held_ < max_held ? result<void>{} : write_largest();
}

result<void> partitions::write_largest() {
  const auto largest = std::max_element(batches_.begin(), batches_.end(),
                                        [](const auto& a, const auto& b) { return a.second.rows() < b.second.rows(); });
  return write(largest->first, largest->second);
}

result<void> partitions::write(std::int64_t rank, row_batch& rows) {
  const std::string path = fmt::format("{}/run={}/rank={}/part-0.parquet", table_->name, run_, rank);
  auto written = to_.write(path, rows.rows(), encoder_.encode(rows, table_->columns, texts_));
  held_ -= rows.bytes();
  if (batches_.size() <= few_ranks)
    rows.clear();
  else
    rows = row_batch(table_->columns.size());
  return written;
}

result<void> partitions::end() {
  for (const std::int64_t rank : ranks_.all()) static_cast<void>(of(rank));
  for (auto& [rank, rows] : batches_)
    if (auto written = write(rank, rows); !written) return written;
  return {};
}

}  // namespace sluice::exports
