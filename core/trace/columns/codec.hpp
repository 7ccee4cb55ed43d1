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

/// Rows to bytes and back, column by column. A payload is a directory, then the bytes that it speaks of:
///
///   directory   columns: varint, at most `max_chunk_columns` | column | column | ... |
///   column      number: varint | form: u8 | what the form needs
///     0 constant  value: zigzag varint
///     1 offset    base: varint | planes
///     2 delta     first: zigzag varint | planes
///     3 relative  number of the other column: varint | planes
///     4 text      lengths: a column from its form on | bytes: varint | stored: varint
///     5 rising    first: zigzag varint | planes
///     6 above     number of the other column: varint | planes
///   planes      count: u8 | for each: stored: varint, and if that is 0 the byte that all share: u8
///   bytes       for each column in order: the bytes stored for its planes, then those for its text
///
/// What forms and planes mean is in integers.hpp; text is a zstd frame, or plain where `stored` equals `bytes`. A column that is
/// not there has the default of its member in every row. Reals are the integers with the same bits. Little-endian throughout.
namespace sluice::trace {

inline constexpr std::size_t max_chunk_rows = 65'536;
/// Far more than any kind of row has: a reader keeps a line of each.
inline constexpr std::size_t max_chunk_columns = 4096;
inline constexpr std::size_t max_chunk_bytes = std::size_t{64} << 20;

/// Encodes the chunks of one file, and learns what suits its columns. Not thread-safe.
class row_encoder {
 public:
  explicit row_encoder(int compression_level = 1);
  ~row_encoder();
  row_encoder(row_encoder&&) noexcept;
  row_encoder& operator=(row_encoder&&) noexcept;

  /// What a chunk's header says of its payload.
  struct outcome {
    std::size_t decoded_bytes = 0;  ///< A reader refuses chunks of more than `max_chunk_bytes`.
    row_extent extent;
  };

  /// Appends the payload of `rows`, at most `max_chunk_rows`, to `out`. O(rows x members).
  template <class Row>
  outcome encode(std::span<const Row> rows, std::vector<std::byte>& out) {
    growing_columns columns(layout_of<Row>());
    columns.append(rows.data(), rows.size());
    return encode(columns, reinterpret_cast<const std::byte*>(rows.data()), out);
  }
  /// Appends the payload of rows that have no texts.
  outcome encode(growing_columns& rows, std::vector<std::byte>& out) { return encode(rows, nullptr, out); }

 private:
  /// `rows`: where the texts are; may be null.
  outcome encode(growing_columns& columns, const std::byte* rows, std::vector<std::byte>& out);
  struct state;
  std::unique_ptr<state> state_;
};

/// Decodes one payload, which may be hostile, into rows whose layout it is given. After the first column that makes no sense nothing
/// else is decoded. What `decode_rows` and `decode_values` consist of.
class payload_decoder {
 public:
  /// `payload` and `layout` must outlive it. `rows`: at most `max_chunk_rows`.
  payload_decoder(std::span<const std::byte> payload, std::size_t rows, const row_layout& layout);
  ~payload_decoder();
  payload_decoder(const payload_decoder&) = delete;
  payload_decoder& operator=(const payload_decoder&) = delete;

  /// Sets the members of `row` that have one value in all rows: that is most members of most chunks. False if the payload makes no sense.
  bool set_alike(void* row);
  /// Sets the other members of all rows, which lie one after another, if their number's bit is in `wanted`.
  void set_each(void* rows, std::uint64_t wanted);
  /// Sets columns instead of rows. Not for rows with texts.
  void set_columns(decoded_columns& to, std::uint64_t wanted);

  /// The error's offset is into the payload.
  [[nodiscard]] result<void> outcome() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

[[nodiscard]] result<void> check_row_count(std::size_t rows);

/// Puts the rows of a payload, which may be hostile, into `decoded`, whose memory is used again. The error's offset is into the
/// payload; after an error `decoded` is of no use. Columns that are not in `wanted` are skipped, sound or not. Thread-safe.
template <class Row>
[[nodiscard]] result<void> decode_rows(std::span<const std::byte> payload, std::size_t rows, std::vector<Row>& decoded,
                                       column_set<Row> wanted = {}) {
  if (auto sound = check_row_count(rows); !sound) return sound;
  payload_decoder decoder(payload, rows, layout_of<Row>());
  Row alike{};
  if (decoder.set_alike(&alike)) {
    decoded.assign(rows, alike);
    decoder.set_each(decoded.data(), wanted.bits());
  }
  return decoder.outcome();
}

/// Decodes the rows of a payload as columns; see `decode_rows`.
template <class Row>
[[nodiscard]] result<void> decode_values(std::span<const std::byte> payload, std::size_t rows, row_values<Row>& decoded,
                                         column_set<Row> wanted = {}) {
  if (auto sound = check_row_count(rows); !sound) return sound;
  payload_decoder decoder(payload, rows, layout_of<Row>());
  decoder.set_columns(decoded, wanted.bits());
  return decoder.outcome();
}

/// Decodes one column: the bits of each row's value, or `usual` in each where the payload has no such column. Fails as `decode_rows`
/// does, and for a column of texts.
[[nodiscard]] result<void> decode_column(std::span<const std::byte> payload, std::size_t rows, std::uint16_t number,
                                         std::uint64_t usual, std::vector<std::uint64_t>& values);

}  // namespace sluice::trace
