#pragma once

#include <cstddef>
#include <cstdint>

#include "core/trace/model/content_limits.hpp"

/// Hashes the bytes that a copy is about to move. Copies with the same size and the same hash moved the same content.
/// This is certain (except for collisions of 64-bit hashes) if all bytes were read, and probable if only samples were
/// read.
///
/// The kernel reads the memory (`process_vm_readv` on this process), so no address can harm the program. Memory that
/// cannot be read (unmapped, no permission, beyond a truncated file's end, device registers) causes an error and never
/// a signal. These functions use 6 KiB of stack, take no lock of ours and do not allocate.
namespace sluice::capture {

/// Copies of at most `whole_limit` bytes are read completely. From larger ones, `sampled_pieces` pieces of
/// `piece_bytes` are read: the first, the last, and one in each equal part between, at an offset that depends on the
/// copy's size.
inline constexpr std::uint64_t whole_limit = trace::whole_content_limit;
inline constexpr unsigned sampled_pieces = 32;
inline constexpr std::uint64_t piece_bytes = trace::sampled_content_bytes / sampled_pieces;
/// If all samples are zero, up to this many bytes of the copy are read in addition, in pieces spread evenly over it. In
/// most sparse data, this finds a nonzero value, which then becomes part of the hash.
inline constexpr std::uint64_t zero_limit = trace::zero_content_limit;
inline constexpr std::uint64_t zero_piece = 4096;

/// Layout of the source: `rows` rows of `row_bytes` bytes, `pitch` bytes apart. Every `slice_rows` rows form a slice;
/// slices are `slice_pitch` bytes apart. A contiguous source is one row.
struct copy_source {
  std::uint64_t address = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
  std::uint64_t slice_rows = 1;
  std::uint64_t slice_pitch = 0;
};

/// The number of bytes that the copy moves; 0 if that number exceeds 63 bits.
[[nodiscard]] std::uint64_t get_bytes(const copy_source& source) noexcept;

/// Offset of sampled piece `number` from the copy's first byte. Requires `bytes` > `whole_limit`.
[[nodiscard]] std::uint64_t piece_offset(std::uint64_t bytes, unsigned number) noexcept;

enum class reading : std::uint8_t { done, unreadable, too_slow };
struct content_hash {
  reading outcome = reading::unreadable;
  std::uint64_t hash = 0;
  std::uint64_t bytes = 0;  ///< Bytes read. If all samples are zero, at least min(size, `zero_limit`), if time allowed.
};

/// Hashes the source. Gives up once `now()` is past `deadline`, for example if a slow file is mapped there. Does not
/// read a source of several rows that are shorter than `shortest_row` bytes, because each row costs a separate read.
/// `further`: if all samples are zero, read up to `zero_limit` bytes, which takes up to 100 times as long. May change
/// errno.
inline constexpr std::uint64_t shortest_row = 256;
[[nodiscard]] content_hash hash_content(const copy_source& source, std::uint64_t (*now)() noexcept,
                                        std::uint64_t deadline, bool further = true) noexcept;

}  // namespace sluice::capture
