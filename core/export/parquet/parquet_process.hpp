#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/scratch_file.hpp"

/// Writes Parquet files with the library pyarrow, in a Python process: `write_parquet.py`, which this program contains.
/// So neither building Sluice nor installing it needs that library, and any of its versions will do.
namespace sluice::exports {

enum class parquet_type : std::uint8_t {
  integer,  ///< INT64.
  rising,   ///< INT64 whose values mostly rise: ids and times. Stored as differences.
  real,     ///< DOUBLE.
  flag,     ///< BOOLEAN.
  text      ///< STRING.
};

struct parquet_column {
  std::string_view name;
  parquet_type type = parquet_type::integer;
};

/// One Python process that writes the files of one table after another. Not thread-safe.
class parquet_process {
 public:
  /// Starts `python3`, as the PATH finds it, and waits until it has loaded pyarrow. Files are written below `folder`,
  /// which exists. Errors: unavailable if there is no Python, or none with pyarrow.
  [[nodiscard]] static result<parquet_process> start(const std::string& folder);
  parquet_process(parquet_process&& other) noexcept;
  parquet_process& operator=(parquet_process&&) = delete;
  ~parquet_process();  ///< Ends the process. Files that are not closed stay incomplete.

  /// Begins a table. Closes the files of the one before. Names of columns are plain words.
  [[nodiscard]] result<void> begin_table(std::span<const parquet_column> columns);
  /// Writes a row group to `path`, a relative path without quotes and backslashes; creates the file the first time. `buffers`: of each column two, or
  /// four of a text, as write_parquet.py says. Errors: io, no_space; also of earlier calls.
  [[nodiscard]] result<void> write(const std::string& path, std::size_t rows,
                                   std::span<const std::span<const std::byte>> buffers);
  /// Completes all files. Returns their bytes. Errors: io, no_space.
  [[nodiscard]] result<std::uint64_t> end();

 private:
  parquet_process() = default;
  [[nodiscard]] result<void> send(std::span<const std::byte> bytes);
  [[nodiscard]] result<void> send(const std::string& line);
  /// The next line that the process says; nothing if it has ended.
  [[nodiscard]] std::optional<std::string> hear();
  /// Why the process does not go on.
  [[nodiscard]] error failure();
  [[nodiscard]] error failure(std::string_view said);

  pid_t process_ = 0;
  int stream_ = -1;
  bool in_table_ = false;
  std::string heard_;  ///< Received, and not yet returned.
  std::optional<scratch_file> errors_;
};

}  // namespace sluice::exports
