#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/trace/columns/column_set.hpp"
#include "core/trace/columns/row_columns.hpp"
#include "core/trace/columns/row_values.hpp"

/// Encodes and decodes chunks. A chunk holds rows of one kind in a file. Its payload is the encoded rows, column by
/// column: a directory followed by data.
///
///   directory   number of columns: varint, at most `max_chunk_columns` | column | column | ... |
///   column      column number: varint | form: u8 | fields of the form:
///     0 constant  value: zigzag varint
///     1 offset    base: varint | planes
///     2 delta     first: zigzag varint | planes
///     3 relative  number of the other column: varint | planes
///     4 text      lengths: a column without its number | bytes: varint | stored: varint
///     5 rising    first: zigzag varint | planes
///     6 above     number of the other column: varint | planes
///   planes      count: u8 | for each plane: stored bytes: varint, and if that is 0, the byte that all values share: u8
///   data        for each column in order of the directory: its planes, then its text
///
/// integers.hpp defines the forms and the planes. The text of a column (the texts of all rows) is a zstd frame, or
/// plain text if `stored` equals `bytes`. If a column is missing, the member has its default in all rows. Doubles are
/// stored as their bits. All numbers are little-endian.
namespace sluice::trace {

inline constexpr std::size_t max_chunk_rows = 65'536;
/// The maximum number of columns in a chunk, far more than any row type has. The number is limited because a reader
/// allocates memory for each entry of the directory.
inline constexpr std::size_t max_chunk_columns = 4096;
inline constexpr std::size_t max_chunk_bytes = std::size_t{64} << 20;

/// Encodes the chunks of one file. Remembers which encoding was shortest for each column. Not thread-safe.
class row_encoder {
 public:
  explicit row_encoder(int compression_level = 1);
  ~row_encoder();
  row_encoder(row_encoder&&) noexcept;
  row_encoder& operator=(row_encoder&&) noexcept;

  /// Properties of an encoded payload that are stored with its chunk.
  struct outcome {
    std::size_t decoded_bytes = 0;  ///< Size of the decoded payload. Readers reject more than `max_chunk_bytes`.
    row_extent extent;
  };

  /// Appends the payload of `rows` to `out`. There may be at most `max_chunk_rows` rows. O(rows x members).
  template <class Row>
  outcome encode(std::span<const Row> rows, std::vector<std::byte>& out) {
    growing_columns columns(get_layout<Row>());
    columns.append(rows.data(), rows.size());
    return encode(columns, reinterpret_cast<const std::byte*>(rows.data()), out);
  }
  /// Appends the payload of `rows`, whose row type has no text members, to `out`.
  outcome encode(growing_columns& rows, std::vector<std::byte>& out) { return encode(rows, nullptr, out); }

 private:
  /// `rows`: the same rows as an array of structs, which provides the texts; null if the row type has no texts.
  outcome encode(growing_columns& columns, const std::byte* rows, std::vector<std::byte>& out);
  struct state;
  std::unique_ptr<state> state_;
};

/// Decodes one payload, which may be hostile, into rows of a given layout. Stops at the first invalid column. This is
/// the part of `decode_rows` and `decode_values` that does not depend on the row type.
class payload_decoder {
 public:
  /// `payload` and `layout` must outlive the decoder. `rows`: the number of rows, at most `max_chunk_rows`.
  payload_decoder(std::span<const std::byte> payload, std::size_t rows, const row_layout& layout);
  ~payload_decoder();
  payload_decoder(const payload_decoder&) = delete;
  payload_decoder& operator=(const payload_decoder&) = delete;

  /// Sets the members of `row` that have the same value in all rows. Most members have the same value in all rows.
  /// Returns false if the payload is invalid.
  bool set_alike(void* row);
  /// In the array `rows`, sets the members that vary between rows and whose bit is set in `wanted`: bit n is column
  /// number n.
  void set_each(void* rows, std::uint64_t wanted);
  /// Decodes into columns instead of structs. `wanted`: as in `set_each`. The row type must not have texts.
  void set_columns(decoded_columns& to, std::uint64_t wanted);

  /// Returns success or the first error: corrupt, with the offset in the payload.
  [[nodiscard]] result<void> outcome() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Returns the error `corrupt` if a chunk claims to have more than `max_chunk_rows` rows.
[[nodiscard]] result<void> check_row_count(std::size_t rows);

/// Decodes a payload of `rows` rows, which may be hostile, into `decoded`, and reuses the memory of `decoded`. Columns
/// outside `wanted` may be skipped without being checked. Errors: corrupt, with the offset in the payload. After an
/// error, the content of `decoded` is meaningless. Thread-safe.
template <class Row>
[[nodiscard]] result<void> decode_rows(std::span<const std::byte> payload, std::size_t rows, std::vector<Row>& decoded,
                                       column_set<Row> wanted = {}) {
  if (auto sound = check_row_count(rows); !sound) return sound;
  payload_decoder decoder(payload, rows, get_layout<Row>());
  Row alike{};
  if (decoder.set_alike(&alike)) {
    decoded.assign(rows, alike);
    decoder.set_each(decoded.data(), wanted.bits());
  }
  return decoder.outcome();
}

/// Decodes a payload of `rows` rows into columns instead of structs. The parameters and errors are those of
/// `decode_rows`.
template <class Row>
[[nodiscard]] result<void> decode_values(std::span<const std::byte> payload, std::size_t rows, row_values<Row>& decoded,
                                         column_set<Row> wanted = {}) {
  if (auto sound = check_row_count(rows); !sound) return sound;
  payload_decoder decoder(payload, rows, get_layout<Row>());
  decoder.set_columns(decoded, wanted.bits());
  return decoder.outcome();
}

/// Decodes column `number` into `values`, one 64-bit value per row. If the payload does not have the column, each value
/// is `usual`. A text column cannot be decoded this way. Errors: corrupt, with the offset in the payload. Thread-safe.
[[nodiscard]] result<void> decode_column(std::span<const std::byte> payload, std::size_t rows, std::uint16_t number,
                                         std::uint64_t usual, std::vector<std::uint64_t>& values);

}  // namespace sluice::trace
