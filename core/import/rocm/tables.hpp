#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/import/job.hpp"
#include "core/import/nsys/reader.hpp"
#include "core/import/nsys/tables.hpp"

/// Reads the tables of ROCm's SQLite files one after the other. Private to core/import.
namespace sluice::importing::rocm {

using cells = nsys::cells;

/// A table to read, its columns, and the function that is called with each row.
struct table_step {
  std::string table;
  std::span<const nsys_column> columns;
  std::size_t required = 0;  ///< The number of columns, from the first on, without which the table is skipped.
  std::function<void(const cells&)> take;
};

/// Reads the tables that exist, in the order of `steps`. The rows of tables with a start column are read in order of
/// time. Counts broken tables. Errors: cancelled, unavailable.
[[nodiscard]] result<void> read_tables(const nsys_database& database, const std::vector<table_step>& steps, job& work);

/// Maps ids to texts, in bounded memory. Not thread-safe.
class text_table {
 public:
  static constexpr std::size_t max_bytes = std::size_t{64} << 20;

  explicit text_table(job& work) : work_(work) {}
  /// Adds a text. Skips and counts texts beyond `max_bytes`.
  void put(std::int64_t id, std::string_view text);
  /// Returns the text of an id, or an empty text if there is none.
  [[nodiscard]] std::string_view find(std::int64_t id) const;

 private:
  job& work_;
  std::size_t held_ = 0;
  std::unordered_map<std::int64_t, std::string> texts_;
};

/// Returns the lowest positive number in a column of several tables, or 0 if there is none.
[[nodiscard]] std::int64_t lowest_in(const nsys_database& database, const std::vector<std::string>& tables,
                                     const char* column);

/// Each function returns true if the file has its format: rocpd (rocprofv3, rocprof-sys), or rocmProfileData (.rpd).
[[nodiscard]] bool is_rocpd(const nsys_database& database);
[[nodiscard]] bool is_rpd(const nsys_database& database);

}  // namespace sluice::importing::rocm
