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

/// A table, what to read of it, and what to do with a row.
struct table_step {
  std::string table;
  std::span<const nsys_column> columns;
  std::size_t required = 0;  ///< This many of the first columns must exist, or the table is counted.
  std::function<void(const cells&)> take;
};

/// Reads the tables that exist, in this order, and what has a start in order of time. Tables that are broken are counted. Errors: cancelled, unavailable.
[[nodiscard]] result<void> read_tables(const nsys_database& from, const std::vector<table_step>& steps, job& work);

/// Texts by their ids, in bounded memory. Not thread-safe.
class text_table {
 public:
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  explicit text_table(job& work) : work_(work) {}
  /// Those beyond `most_bytes` are counted and left out.
  void put(std::int64_t id, std::string_view text);
  /// Empty for an id that has none.
  [[nodiscard]] std::string_view find(std::int64_t id) const;

 private:
  job& work_;
  std::size_t held_ = 0;
  std::unordered_map<std::int64_t, std::string> texts_;
};

/// The lowest number above 0 in a column of several tables; 0 without any.
[[nodiscard]] std::int64_t lowest_in(const nsys_database& from, const std::vector<std::string>& tables,
                                     const char* column);

/// True if the file is ROCm's rocpd (rocprofv3, rocprof-sys), or rocmProfileData's (.rpd).
[[nodiscard]] bool is_rocpd(const nsys_database& from);
[[nodiscard]] bool is_rpd(const nsys_database& from);

}  // namespace sluice::importing::rocm
