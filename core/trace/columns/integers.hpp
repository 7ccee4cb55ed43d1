#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// One column of integers to bytes and back.
///
/// The values are first turned into small numbers (`column_form`), which are then cut into planes: the lowest byte of each, the
/// next byte of each, and so on, as many as the largest needs. A plane is one byte that all share, the bytes as they are, or a
/// zstd frame of them, whichever is shortest. Bytes of one weight are alike: the low ones of times are noise that nobody should
/// spend time on, the high ones almost nothing. (Byte stream split, Apache Parquet; the shuffle filter, Blosc.)
namespace sluice::trace {

enum class column_form : std::uint8_t {
  constant = 0,  ///< All are equal: no planes.
  offset = 1,    ///< What each is above a base, such as the smallest.
  delta = 2,     ///< Zigzag of the difference from the one before.
  relative = 3,  ///< Zigzag of the difference from another column's value in the same row.
  // 4 is that of texts, codec.hpp.
  rising = 5,  ///< How much it is above the one before; leaves noise in its byte, where zigzag moves a bit of it on.
  above = 6,   ///< How much it is above another column's value in the same row.
};
/// Whether values are stored by what they are above or below another column's.
[[nodiscard]] constexpr bool refers_to_another(column_form form) {
  return form == column_form::relative || form == column_form::above;
}

inline constexpr std::size_t most_planes = 8;

/// How a column is stored, and where its planes lie.
struct column_layout {
  column_form form = column_form::constant;
  std::uint64_t base = 0;  ///< The constant, what values are above, the first value, or the number of the other column.
  std::uint8_t planes = 0;
  std::uint8_t same[most_planes] = {};     ///< Of a plane that takes no bytes: the byte all share.
  std::uint32_t stored[most_planes] = {};  ///< 0: `same`; as many as values: as they are; fewer: zstd.
  bool rises = false;                      ///< Told by encoding alone: each value is the one before or above it.
  /// Bytes of all planes in the file.
  [[nodiscard]] std::size_t stored_bytes() const;
};

/// What suited a column last, so that not every chunk has to be tried each way.
struct column_habit {
  column_form form = column_form::offset;
  std::uint8_t planes = 0;            ///< So many were enough.
  std::uint8_t worth_packing = 0xff;  ///< A bit a plane: zstd made it shorter.
  std::uint8_t has_matches = 0xff;    ///< A bit a plane: what repeats itself in it is worth looking for.
  std::uint16_t chunks = 0;           ///< Written this way, with the one it was found by; 0: there is none.
  std::uint32_t usual_bytes = 0;      ///< That 1024 values took in the worst of the first of these,
  std::uint32_t last_bytes = 0;       ///< and in the last.
  std::uint64_t base = 0;             ///< For `offset`.
};

/// Turns columns into planes. One a thread.
class integer_encoder {
 public:
  explicit integer_encoder(int compression_level);
  ~integer_encoder();
  integer_encoder(integer_encoder&&) noexcept;
  integer_encoder& operator=(integer_encoder&&) noexcept;

  /// Appends the planes of `values` to `out`. `reference`: the values of the column `reference_number` in the same rows; empty:
  /// no form that refers to another column is for this one. O(values), five times that when it tries all forms.
  column_layout encode(std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                       std::uint16_t reference_number, column_habit& habit, std::vector<std::byte>& out);

  /// Appends a zstd frame of `bytes`, or the bytes themselves where that is not shorter; returns how many it appended.
  std::size_t pack(std::span<const std::byte> bytes, std::vector<std::byte>& out);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// The values of a column whose planes are `planes`, of `layout.stored_bytes()` bytes. `reference`: the values of the column that
/// this one refers to, as many; empty: all 0. False if the bytes make no sense; they may be hostile. Thread-safe.
[[nodiscard]] bool decode_integers(const column_layout& layout, std::span<const std::byte> planes,
                                   std::span<const std::uint64_t> reference, std::span<std::uint64_t> values);

/// The inverse of `pack`: fills `bytes`. False if `stored` does not hold exactly that many. Thread-safe.
[[nodiscard]] bool unpack(std::span<const std::byte> stored, std::span<std::byte> bytes);

[[nodiscard]] constexpr std::uint64_t zigzag(std::uint64_t value) {
  return (value << 1) ^ (std::uint64_t{0} - (value >> 63));
}
[[nodiscard]] constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (std::uint64_t{0} - (value & 1));
}

}  // namespace sluice::trace
