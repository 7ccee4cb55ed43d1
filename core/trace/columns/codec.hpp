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
#include "core/trace/model/schema.hpp"

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
///
/// Files of version 1 hold rows in another way, which `decode_rows_v1` reads.
namespace sluice::trace {

template <class Row>
class row_values;

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
    std::size_t decoded_bytes = 0;  ///< Must not be more than `max_chunk_bytes` for a reader to take them.
    row_extent extent;
  };

  /// Appends the payload of `rows`, at most `max_chunk_rows`, to `out`. O(rows x fields).
  template <class Row>
  outcome encode(std::span<const Row> rows, std::vector<std::byte>& out);
  /// The same of rows without texts, which are columns already.
  template <class Row>
  outcome encode(row_columns<Row>& rows, std::vector<std::byte>& out);

 private:
  template <class Row>
  outcome encode(row_columns<Row>& rows, std::span<const Row> texts, std::vector<std::byte>& out);
  struct state;
  std::unique_ptr<state> state_;
};

/// Puts the rows of a payload, which may be hostile, into `decoded`, whose memory is used again. The error's offset is into the
/// payload; what `decoded` holds then means nothing. Columns that are not in `wanted` are passed over, sound or not. Thread-safe.
template <class Row>
[[nodiscard]] result<void> decode_rows(std::span<const std::byte> payload, std::size_t rows, std::vector<Row>& decoded,
                                       column_set<Row> wanted = {});

/// The same as they lie in columns; of rows of tiles.
template <class Row>
[[nodiscard]] result<void> decode_values(std::span<const std::byte> payload, std::size_t rows, row_values<Row>& decoded,
                                         column_set<Row> wanted = {});

/// One column alone: the bits of each row's value, `usual` where the payload has no such column. Fails as `decode_rows`, and for
/// a column of texts.
[[nodiscard]] result<void> decode_column(std::span<const std::byte> payload, std::size_t rows, std::uint16_t number,
                                         std::uint64_t usual, std::vector<std::uint64_t>& values);

/// The same as `decode_rows` for a payload of version 1, once it is decompressed.
template <class Row>
[[nodiscard]] result<void> decode_rows_v1(std::span<const std::byte> payload, std::size_t rows,
                                          std::vector<Row>& decoded);

}  // namespace sluice::trace
