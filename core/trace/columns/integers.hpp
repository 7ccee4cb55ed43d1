#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// Encodes and decodes one column of integers.
///
/// The values are first transformed to small numbers (`column_form`), then split into planes: the lowest byte of every
/// value, then the next byte, and so on, as far as the largest value needs. A plane is stored as one shared byte, plain
/// bytes, or a zstd frame, whichever is shortest. Splitting helps because bytes of equal weight are alike: low bytes of
/// times are noise, high bytes hardly change. (Byte stream split, Apache Parquet; the shuffle filter, Blosc.)
namespace sluice::trace {

enum class column_form : std::uint8_t {
  constant = 0,  ///< All values are equal: no planes.
  offset = 1,    ///< Value minus a base, such as the smallest value.
  delta = 2,     ///< Zigzag of (value minus previous value).
  relative = 3,  ///< Zigzag of (value minus another column's value in the same row).
  // 4 is the form of texts, codec.hpp.
  rising = 5,  ///< Value minus previous value, never negative. Without zigzag, noise stays within its byte.
  above = 6,   ///< Value minus another column's value in the same row, never negative.
};
/// True for the forms that use another column as reference.
[[nodiscard]] constexpr bool refers_to_another(column_form form) {
  return form == column_form::relative || form == column_form::above;
}

inline constexpr std::size_t most_planes = 8;

/// How a column is encoded, and the size of each plane.
struct column_layout {
  column_form form = column_form::constant;
  std::uint64_t base = 0;  ///< By form: the constant, the base, the first value, or the reference column's number.
  std::uint8_t planes = 0;
  std::uint8_t same[most_planes] = {};     ///< If the plane is not stored: the byte that all values share.
  std::uint32_t stored[most_planes] = {};  ///< Bytes of the plane. 0: see `same`; one per value: plain; fewer: zstd.
  bool rises = false;                      ///< Set by the encoder only: no value is less than the previous one.
  /// Returns the size of all planes in bytes.
  [[nodiscard]] std::size_t stored_bytes() const;
};

/// The encoding that last worked for a column, so that not all forms are tried on every chunk.
struct column_habit {
  column_form form = column_form::offset;
  std::uint8_t planes = 0;            ///< Number of planes.
  std::uint8_t worth_packing = 0xff;  ///< One bit per plane: zstd made the plane shorter.
  std::uint8_t has_matches = 0xff;    ///< One bit per plane: zstd should search for matches in the plane.
  std::uint16_t chunks = 0;           ///< Chunks written with this habit, including the one that chose it; 0: none yet.
  std::uint32_t usual_bytes = 0;      ///< Bytes per 1024 values: the highest of the first 32 chunks.
  std::uint32_t last_bytes = 0;       ///< Bytes per 1024 values of the last chunk.
  std::uint64_t base = 0;             ///< For the form `offset`.
};

/// Encodes columns. Use one per thread.
class integer_encoder {
 public:
  explicit integer_encoder(int compression_level);
  ~integer_encoder();
  integer_encoder(integer_encoder&&) noexcept;
  integer_encoder& operator=(integer_encoder&&) noexcept;

  /// Appends the planes of `values` to `out`. `reference`: the values of column `reference_number` in the same rows; if
  /// empty, no form with a reference is used. Updates `habit`. O(values); five times the cost when all forms are tried.
  column_layout encode(std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                       std::uint16_t reference_number, column_habit& habit, std::vector<std::byte>& out);

  /// Appends `bytes` to `out`, as a zstd frame if the frame is shorter. Returns the number of bytes appended.
  std::size_t pack(std::span<const std::byte> bytes, std::vector<std::byte>& out);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Decodes a column into `values`. `planes` must have `layout.stored_bytes()` bytes, which may be hostile. `reference`:
/// the reference column's value in each row; empty: all 0. Returns false if the bytes are invalid. Thread-safe.
[[nodiscard]] bool decode_integers(const column_layout& layout, std::span<const std::byte> planes,
                                   std::span<const std::uint64_t> reference, std::span<std::uint64_t> values);

/// The inverse of `pack`: decodes `stored` into `bytes`. False if it does not fill `bytes` exactly. Thread-safe.
[[nodiscard]] bool unpack(std::span<const std::byte> stored, std::span<std::byte> bytes);

[[nodiscard]] constexpr std::uint64_t zigzag(std::uint64_t value) {
  return (value << 1) ^ (std::uint64_t{0} - (value >> 63));
}
[[nodiscard]] constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (std::uint64_t{0} - (value & 1));
}

}  // namespace sluice::trace
