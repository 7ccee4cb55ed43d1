#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/trace/schema.hpp"

/// Rows to bytes and back, column by column. A payload, before compression, is a run of columns:
///
///   | number u16 | encoding u8 | 0 u8 | bytes u32 | data ... |
///
/// Integers are stored once if all are equal, else as zigzag varints of the value or of the difference from the row
/// before, whichever is shorter; reals as 8 bytes; texts as varint lengths, then the bytes. Little-endian throughout.
namespace sluice::trace {

inline constexpr std::size_t max_chunk_rows = 65'536;
inline constexpr std::size_t max_chunk_bytes = std::size_t{64} << 20;

/// Appends the columns of `rows` to `out`. O(rows x fields).
template <class Row>
void encode_rows(std::span<const Row> rows, std::vector<std::byte>& out);

/// The inverse; `payload` may be hostile. The error's offset is into the payload.
template <class Row>
[[nodiscard]] result<std::vector<Row>> decode_rows(std::span<const std::byte> payload, std::size_t rows);

}  // namespace sluice::trace
