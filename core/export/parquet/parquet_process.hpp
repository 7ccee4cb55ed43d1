#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/files/scratch_file.hpp"
#include "core/base/system/child_process.hpp"

/// Writes Parquet files with the library pyarrow in a Python process that runs `write_parquet.py`, which is embedded in
/// this program. Thus neither building nor installing Sluice needs pyarrow, and any version of pyarrow works.
namespace sluice::exports {

enum class parquet_type : std::uint8_t {
  integer,  ///< INT64.
  rising,   ///< INT64 with mostly increasing values, such as ids and times. Stored as differences.
  real,     ///< DOUBLE.
  flag,     ///< BOOLEAN.
  text      ///< STRING.
};

struct parquet_column {
  std::string_view name;
  parquet_type type = parquet_type::integer;
};

/// A Python process that writes the files of one table after another. The destructor kills it: files that `end` or
/// `begin_table` did not close stay incomplete. Not thread-safe.
class parquet_process {
 public:
  /// Starts the `python3` in PATH and waits until it has loaded pyarrow. Files are written below `folder`, which must
  /// exist. Errors: unavailable if Python or pyarrow is missing.
  [[nodiscard]] static result<parquet_process> start(const std::string& folder);

  /// Closes the files of the previous table and begins a new table. Column names must be plain words.
  [[nodiscard]] result<void> begin_table(std::span<const parquet_column> columns);
  /// Appends a row group to the file at `path`, a relative path without quotes and backslashes. Creates the file if the
  /// table does not have it yet. `buffers` has two buffers for each column, or four for a text column; write_parquet.py
  /// describes them. Errors: io, no_space. Also returns errors of earlier calls.
  [[nodiscard]] result<void> write(const std::string& path, std::size_t rows,
                                   std::span<const std::span<const std::byte>> buffers);
  /// Completes all files. Returns their total size in bytes. Errors: io, no_space.
  [[nodiscard]] result<std::uint64_t> end();

 private:
  parquet_process() = default;
  [[nodiscard]] result<void> send(std::span<const std::byte> bytes);
  [[nodiscard]] result<void> send(const std::string& line);
  /// Waits for the next line of the process's output and returns it; nullopt if the output has ended.
  [[nodiscard]] std::optional<std::string> hear();
  /// Returns an error with the reason for which the process failed.
  [[nodiscard]] error failure();
  [[nodiscard]] error failure(std::string_view said);

  child_process process_;
  unique_descriptor stream_;
  bool in_table_ = false;
  std::string heard_;  ///< Output that was received but not returned yet.
  std::optional<scratch_file> errors_;
};

}  // namespace sluice::exports
