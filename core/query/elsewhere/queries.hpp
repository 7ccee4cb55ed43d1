#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/query/elsewhere/answerer.hpp"
#include "core/query/sql/sql_task.hpp"
#include "core/trace/file/reader.hpp"

/// Encodes queries, results and outlines as compressed bytes (wire.hpp). Decoded data is from another process and not
/// trusted: lengths, enumerators, and indices from one list into another are checked.
namespace sluice::query {

/// Identifies the layout of all queries and results. Two programs are compatible if it is the same.
[[nodiscard]] std::uint64_t layout_of_queries();

/// The bytes of a query, including its type. For all types of `SLUICE_FOR_EACH_QUERY` except comparison_query,
/// which needs no recording.
template <class Query>
[[nodiscard]] std::vector<std::byte> encode_query(const Query& query);

/// Decodes a result. Errors: corrupt.
template <class Query>
[[nodiscard]] result<typename Query::result_type> decode_result(std::span<const std::byte> bytes);

/// An SQL query. Engines do not handle it; see `make_sql_asker`.
struct sql_query {
  static constexpr std::uint64_t max_rows = 10'000;  ///< In a result.
  static constexpr std::size_t max_bytes = std::size_t{16} << 20;
  static constexpr std::size_t longest_text = std::size_t{1} << 20;
  std::string text;
};

/// The result of an `sql_query`: its first rows.
struct sql_rows {
  std::vector<sql_column> columns;
  std::vector<std::string> cells;     ///< Row by row.
  std::vector<std::uint64_t> values;  ///< The bits of each cell that is an integer.
  std::vector<std::uint8_t> numbers;  ///< For each cell: 1 if it is a number.
  std::uint64_t rows = 0;
  bool cut = false;  ///< True if there are more rows.
  double seconds = 0;
};

[[nodiscard]] std::vector<std::byte> encode_query(const sql_query& query);
/// Errors: corrupt.
[[nodiscard]] result<sql_rows> decode_sql_rows(std::span<const std::byte> bytes);
/// The asker for an `sql_task` whose query is sent to `by`.
[[nodiscard]] sql_task::asker make_sql_asker(std::shared_ptr<answerer> by);

[[nodiscard]] std::vector<std::byte> encode_outline(const trace::outline& outline);
/// `path`: that of the outline. Errors: corrupt.
[[nodiscard]] result<trace::outline> decode_outline(std::span<const std::byte> bytes, const std::string& path);

}  // namespace sluice::query
