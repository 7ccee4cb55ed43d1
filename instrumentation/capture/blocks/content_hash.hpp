#pragma once

#include <cstddef>
#include <cstdint>

/// What a copy is about to move, as a hash: two copies with the same hash and the same number of bytes moved the same, for
/// certain (as far as 64 bits can tell) if all was read, or as far as a sample of it shows.
///
/// The memory is read as the kernel reads it (`process_vm_readv` on this process), so that no address can harm the program.
/// Memory that cannot be read (not mapped, no permission, behind the end of a cut file, device registers) gives an error result and
/// never raises a signal. Takes 6 KiB of the caller's stack; no lock of ours, no allocation.
namespace sluice::capture {

/// Copies up to this size are read wholly, larger ones in `sampled_pieces` of `piece_bytes`: the first and the last bytes, and in
/// between one piece in each equal part, at a place that depends on nothing but the copy's size.
inline constexpr std::uint64_t whole_limit = std::uint64_t{32} << 10;
inline constexpr unsigned sampled_pieces = 32;
inline constexpr std::uint64_t piece_bytes = 512;

/// Where the bytes lie: `rows` rows of `row_bytes`, `pitch` apart; each `slice_rows` rows make a slice, `slice_pitch` apart.
/// One row is memory in one piece.
struct copy_source {
  std::uint64_t address = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
  std::uint64_t slice_rows = 1;
  std::uint64_t slice_pitch = 0;
};

/// The bytes that the copy moves; 0 if that does not fit into 63 bits.
[[nodiscard]] std::uint64_t bytes_of(const copy_source& source) noexcept;

/// Where piece `number` of a sample begins, counted from the copy's first byte. `bytes` > `whole_limit`.
[[nodiscard]] std::uint64_t piece_offset(std::uint64_t bytes, unsigned number) noexcept;

enum class reading : std::uint8_t { done, unreadable, too_slow };
struct content_hash {
  reading outcome = reading::unreadable;
  std::uint64_t hash = 0;
  std::uint64_t bytes = 0;  ///< Read.
};

/// Gives up once `now()` is past `deadline` (memory that comes from a slow file). Rows shorter than `shortest_row` are not read,
/// because reading costs by the piece. errno may change.
inline constexpr std::uint64_t shortest_row = 256;
[[nodiscard]] content_hash hash_content(const copy_source& source, std::uint64_t (*now)() noexcept,
                                        std::uint64_t deadline) noexcept;

/// This process may read itself so (a sandbox may forbid it).
[[nodiscard]] bool can_read_own_memory() noexcept;

}  // namespace sluice::capture
