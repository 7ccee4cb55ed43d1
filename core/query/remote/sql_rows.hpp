#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/query/sql/sql_task.hpp"

/// The rows of an SQL query as bytes, for a window on another machine.
namespace sluice::query {

/// The most rows and bytes of a result that are sent.
inline constexpr std::uint64_t max_sent_rows = 10'000;
inline constexpr std::size_t max_sent_bytes = std::size_t{16} << 20;

/// Encodes the rows of a query that is done. Numbers are little-endian. The bytes are
/// - the numbers of columns (u32) and of rows (u64), 1 if the query has more rows (u8), its time in seconds (f64);
/// - for each column, the kind of its ids (u8) and its name;
/// - for each cell, row by row, 1 if it is a number (u8), its value as an integer (i64), and its text.
///
/// A text is its length (u32), then its bytes.
[[nodiscard]] std::vector<std::byte> encode_rows(const sql_result& result);
/// Decodes rows that another process has sent, which are not trusted. Takes memory only for cells that are in `bytes`.
/// Errors: corrupt.
[[nodiscard]] result<sql_result> decode_rows(std::span<const std::byte> bytes);

}  // namespace sluice::query
