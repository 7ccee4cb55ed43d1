#pragma once

#include <cstddef>
#include <cstdint>

#include "core/trace/model/ids.hpp"
#include "core/trace/model/row_type.hpp"

/// The layout of a recording file. All numbers are little-endian.
///
///   file_header | chunk | chunk | ... | index chunk(s) | trailer
///
/// The index chunks of a long index are its pages. A chunk that lists the pages comes before them. A chunk without rows
/// comes after them; its `min_time` is the offset of the list (see index_pages.hpp).
///
/// A chunk is a `chunk_header` followed by a payload of `stored_bytes` bytes. The payload holds rows of one kind, as
/// columns (codec.hpp). To decode a chunk, a reader needs only the tables before it. Chunks may overlap in time. The
/// index and the trailer exist only if the writer closed the file; without them, a reader walks from chunk header to
/// chunk header. Checksums are 64-bit XXH3.
namespace sluice::trace {

inline constexpr std::uint64_t file_magic = 0x0a45'4349'554c'5389;     // "\x89SLUICE\n"
inline constexpr std::uint32_t chunk_magic = 0x4b4c'4353;              // "SCLK"
inline constexpr std::uint64_t trailer_magic = 0x5845'444e'4943'4c53;  // "SLCINDEX"

/// Readers accept the major versions from `oldest_major` to `format_major`, and any minor version, because minor
/// versions only add row types and columns. Version 3 added the column forms `rising` and `above`. Version 4 has
/// summary tiles of every level instead of every second level, and stores curves of integers in a separate row type,
/// `integer_bin` (summary_rows.hpp). Version 4.1 added `below_peak` to the bins of curves, version 4.2 added the stack
/// of a sync, and version 4.3 added the call time of a memset.
inline constexpr std::uint16_t format_major = 4;
/// Writers of version 4.4 mark the ends of flushes. Writers of version 4.5 also list the pages of a long index.
/// Version 4.6 added samples of host threads.
inline constexpr std::uint16_t format_minor = 6;
/// Version 1 was a trial format that predates the first release.
inline constexpr std::uint16_t oldest_major = 2;

inline constexpr std::uint32_t file_flag_simulated = 1;
/// The payload is a directory and columns (codec.hpp). This flag is set in every chunk.
inline constexpr std::uint32_t chunk_flag_columns = 2;

struct file_header {
  std::uint64_t magic = file_magic;
  std::uint16_t major = format_major;
  std::uint16_t minor = format_minor;
  std::uint32_t flags = 0;
  std::int64_t realtime_origin = 0;
  std::uint64_t reserved[4] = {};
  std::uint64_t checksum = 0;  ///< Checksum of all bytes of the header before this member.
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
  std::uint64_t checksum = 0;  ///< Checksum of all bytes of the header before this member.
};
static_assert(sizeof(chunk_header) == 56);

/// True for an index chunk without rows. Such a chunk ends each flush: all rows that were passed to the writer earlier
/// are before it in the file. After the last such mark, a block's allocation may be present without its free, so
/// readers of a growing file stop there.
[[nodiscard]] constexpr bool is_flush_mark(std::uint16_t type, std::uint32_t rows) {
  return type == static_cast<std::uint16_t>(row_type::index) && rows == 0;
}
/// Size of the chunk without rows that ends a paged index, in bytes. Its payload has no columns. The trailer follows
/// it.
inline constexpr std::size_t pages_mark_bytes = 57;
/// True if writers of this version mark the ends of flushes.
[[nodiscard]] constexpr bool marks_flushes(std::uint16_t major, std::uint16_t minor) {
  return major > 4 || (major == 4 && minor >= 4);
}

struct trailer {
  std::uint64_t magic = trailer_magic;
  std::uint64_t index_offset = 0;  ///< Offset of the first index chunk. The index chunks extend from there to the
                                   ///< trailer.
  std::uint64_t checksum = 0;      ///< Checksum of all bytes of the trailer before this member.
};
static_assert(sizeof(trailer) == 24);

/// Returns the checksum of all bytes of `object` except the last eight, which store it.
template <class Object>
[[nodiscard]] std::uint64_t header_checksum(const Object& object);

}  // namespace sluice::trace
