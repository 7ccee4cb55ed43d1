#pragma once

#include <cstddef>
#include <cstdint>

#include "core/trace/model/ids.hpp"
#include "core/trace/model/row_type.hpp"

/// The bytes of a recording file. Little-endian.
///
///   file_header | chunk | chunk | ... | index chunk(s) | trailer
///
/// A long index is preceded by a chunk that lists its chunks (pages), and ends in one without rows whose `min_time` is
/// the offset of that list: index_pages.hpp.
///
/// A chunk is a `chunk_header` and `stored_bytes` of payload: rows of one kind as columns (codec.hpp). Decoding a chunk
/// only needs the tables before it. Chunks may overlap in time. Index and trailer exist only if the writer closed the
/// file; without them a reader walks the chunk headers. Checksums are XXH3, 64 bits.
namespace sluice::trace {

inline constexpr std::uint64_t file_magic = 0x0a45'4349'554c'5389;     // "\x89SLUICE\n"
inline constexpr std::uint32_t chunk_magic = 0x4b4c'4353;              // "SCLK"
inline constexpr std::uint64_t trailer_magic = 0x5845'444e'4943'4c53;  // "SLCINDEX"

/// Readers accept major versions from `oldest_major` to `format_major`, and any minor, which only adds row types and
/// columns. Version 3 added the column forms `rising` and `above`. Version 4 has summary tiles of every level, not of
/// every second, and stores curves of integers in a row type of their own, `integer_bin` (summary_rows.hpp).
/// 4.1 added `below_peak` to the bins of curves, 4.2 the stack of a sync, 4.3 when a memset was called for.
inline constexpr std::uint16_t format_major = 4;
/// 4.4 marks the ends of flushes. 4.5 lists the pages of a long index.
inline constexpr std::uint16_t format_minor = 5;
/// Version 1 was a trial format, from before the first release.
inline constexpr std::uint16_t oldest_major = 2;

inline constexpr std::uint32_t file_flag_simulated = 1;
/// The payload is a directory and columns (codec.hpp). Set in every chunk.
inline constexpr std::uint32_t chunk_flag_columns = 2;

struct file_header {
  std::uint64_t magic = file_magic;
  std::uint16_t major = format_major;
  std::uint16_t minor = format_minor;
  std::uint32_t flags = 0;
  std::int64_t realtime_origin = 0;
  std::uint64_t reserved[4] = {};
  std::uint64_t checksum = 0;  ///< Of all bytes before it.
};
static_assert(sizeof(file_header) == 64);

struct chunk_header {
  std::uint32_t magic = chunk_magic;
  std::uint16_t type = 0;  ///< row_type
  std::uint16_t reserved = 0;
  std::uint32_t rows = 0;
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t flags = 0;
  time_ns min_time = 0;
  time_ns max_time = 0;
  std::uint64_t payload_checksum = 0;
  std::uint64_t checksum = 0;  ///< Of all bytes before it.
};
static_assert(sizeof(chunk_header) == 56);

/// A chunk of the index without rows ends each flush: all rows that the writer was given before are in the file. Until
/// then a block's allocation may be there without its free, so readers of a growing file stop at the last such mark.
[[nodiscard]] constexpr bool is_flush_mark(std::uint16_t type, std::uint32_t rows) {
  return type == static_cast<std::uint16_t>(row_type::index) && rows == 0;
}
/// Bytes of the chunk without rows that ends an index in pages, with its payload of no columns. The trailer follows.
inline constexpr std::size_t pages_mark_bytes = 57;
/// True if writers of this version mark their flushes.
[[nodiscard]] constexpr bool marks_flushes(std::uint16_t major, std::uint16_t minor) {
  return major > 4 || (major == 4 && minor >= 4);
}

struct trailer {
  std::uint64_t magic = trailer_magic;
  std::uint64_t index_offset = 0;  ///< Offset of the first index chunk. Index chunks extend to the trailer.
  std::uint64_t checksum = 0;      ///< Of all bytes before it.
};
static_assert(sizeof(trailer) == 24);

/// Computes the checksum stored in the last eight bytes of `object`, from all bytes before.
template <class Object>
[[nodiscard]] std::uint64_t header_checksum(const Object& object);

}  // namespace sluice::trace
