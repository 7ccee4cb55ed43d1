#include "instrumentation/capture/process/content_hash.hpp"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#ifndef NDEBUG
#define XXH_NO_INLINE_HINTS 1  // xxhash requires inlining that debug builds do not do
#endif
#include <xxhash.h>

namespace sluice::capture {

namespace {

/// Collects pieces of memory and hashes them in sequence.
class gatherer {
 public:
  gatherer(std::uint64_t (*now)() noexcept, std::uint64_t deadline) noexcept
      : now_(now), deadline_(deadline), process_(getpid()) {
    XXH3_64bits_reset(&state_);
  }

  /// Adds the bytes [offset, offset + bytes) of the copied data.
  bool take(const copy_source& source, std::uint64_t offset, std::uint64_t bytes) noexcept {
    while (bytes > 0) {
      const std::uint64_t row = offset / source.row_bytes;
      const std::uint64_t column = offset % source.row_bytes;
      const std::uint64_t here = source.row_bytes - column < bytes ? source.row_bytes - column : bytes;
      const std::uint64_t address = source.address + row / source.slice_rows * source.slice_pitch +
                                    row % source.slice_rows * source.pitch + column;
      if (!take(address, here)) return false;
      offset += here;
      bytes -= here;
    }
    return true;
  }

  content_hash finish() noexcept {
    if (filled_ > 0 && !flush()) return failed_;
    return {reading::done, XXH3_64bits_digest(&state_), read_};
  }

  /// Call after `take` of the samples and before `finish`. If the samples are all zero, reads more of the copy until a
  /// byte is not zero. Returns false if memory cannot be read.
  bool look_for_values(const copy_source& source, std::uint64_t bytes) noexcept {
    if (filled_ > 0 && !flush()) return false;
    if (!zero_) return true;
    const std::uint64_t limit = bytes < zero_limit ? bytes : zero_limit;
    const std::uint64_t pieces = (limit + zero_piece - 1) / zero_piece;
    const std::uint64_t sampled = read_;
    hashing_ = false;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      std::uint64_t offset = i * zero_piece;
      if (bytes > zero_limit) offset = (bytes - zero_piece) / (pieces - 1) * i;
      const std::uint64_t here = bytes - offset < zero_piece ? bytes - offset : zero_piece;
      if (!take(source, offset, here) || (filled_ > 0 && !flush())) {
        if (failed_.outcome != reading::too_slow) return false;
        // Reading is too slow, so the hash covers the samples alone.
        failed_ = {};
        filled_ = count_ = 0;
        read_ = sampled;
        return true;
      }
      if (zero_) continue;
      XXH3_64bits_update(&state_, &offset, sizeof offset);
      XXH3_64bits_update(&state_, buffer_, here);
      return true;
    }
    read_ = limit;
    return true;
  }
  [[nodiscard]] content_hash failed() const noexcept { return failed_; }

 private:
  static constexpr std::size_t max_pieces = 32;

  bool take(std::uint64_t address, std::uint64_t bytes) noexcept {
    while (bytes > 0) {
      const std::uint64_t room = sizeof buffer_ - filled_;
      const std::uint64_t part = bytes < room ? bytes : room;
      pieces_[count_++] = {reinterpret_cast<void*>(address), part};
      filled_ += part;
      address += part;
      bytes -= part;
      if ((filled_ == sizeof buffer_ || count_ == max_pieces) && !flush()) return false;
    }
    return true;
  }

  bool flush() noexcept {
    if (read_ > 0 && now_() > deadline_) {
      failed_.outcome = reading::too_slow;
      return false;
    }
    const iovec into{buffer_, filled_};
    const ssize_t n = process_vm_readv(process_, &into, 1, pieces_, count_, 0);
    if (n < 0 || static_cast<std::size_t>(n) != filled_) return false;  // `failed_` is `unreadable`.
    if (hashing_) XXH3_64bits_update(&state_, buffer_, filled_);
    zero_ = zero_ && buffer_[0] == 0 && memcmp(buffer_, buffer_ + 1, filled_ - 1) == 0;
    read_ += filled_;
    filled_ = 0;
    count_ = 0;
    return true;
  }

  std::uint64_t (*now_)() noexcept;
  std::uint64_t deadline_;
  pid_t process_;
  std::size_t filled_ = 0;
  std::size_t count_ = 0;
  std::uint64_t read_ = 0;
  bool zero_ = true;     ///< True if all bytes so far are zero.
  bool hashing_ = true;  ///< True if bytes that are read are added to the hash.
  content_hash failed_;
  iovec pieces_[max_pieces];
  XXH3_state_t state_;
  alignas(64) unsigned char buffer_[4096];
};

/// The final steps of SplitMix64: maps any two numbers far apart.
std::uint64_t scattered(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// Converts to one contiguous row, if the rows have no gaps.
copy_source joined(const copy_source& s, std::uint64_t bytes) {
  const bool slices_join = s.rows <= s.slice_rows || s.slice_pitch == s.pitch * s.slice_rows;
  return s.slice_rows != 0 && s.pitch == s.row_bytes && slices_join
             ? copy_source{.address = s.address, .row_bytes = bytes}
             : s;
}

bool makes_sense(const copy_source& s, std::uint64_t bytes) {
  if (s.address == 0 || bytes == 0 || s.slice_rows == 0) return false;
  if (s.rows == 1) return true;
  return s.row_bytes >= shortest_row && s.pitch >= s.row_bytes;
}

}  // namespace

std::uint64_t get_bytes(const copy_source& source) noexcept {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(source.row_bytes, source.rows, &bytes) || bytes >> 63 != 0) return 0;
  return bytes;
}

std::uint64_t piece_offset(std::uint64_t bytes, unsigned number) noexcept {
  if (number == 0) return 0;
  if (number == sampled_pieces - 1) return bytes - piece_bytes;
  // Offsets are multiples of the piece size, so that in aligned memory each piece is in one page.
  const std::uint64_t slots = bytes / piece_bytes;
  const std::uint64_t first = slots / sampled_pieces * number + slots % sampled_pieces * number / sampled_pieces;
  const std::uint64_t width = slots / sampled_pieces;
  const std::uint64_t within = scattered(bytes * sampled_pieces + number) % width;
  return (first + within) * piece_bytes;
}

content_hash hash_content(const copy_source& shape, std::uint64_t (*now)() noexcept, std::uint64_t deadline,
                          bool further) noexcept {
  const std::uint64_t bytes = get_bytes(shape);
  const copy_source source = joined(shape, bytes);
  if (!makes_sense(source, bytes)) return {};
  gatherer gathered(now, deadline);
  if (bytes <= whole_limit) {
    if (!gathered.take(source, 0, bytes)) return gathered.failed();
    return gathered.finish();
  }
  for (unsigned i = 0; i < sampled_pieces; ++i) {
    if (!gathered.take(source, piece_offset(bytes, i), piece_bytes)) return gathered.failed();
  }
  if (further && !gathered.look_for_values(source, bytes)) return gathered.failed();
  return gathered.finish();
}

}  // namespace sluice::capture
