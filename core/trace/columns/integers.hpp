#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// Encodes and decodes one column of integers.
///
/// The values are first transformed into small numbers (`column_form`) and then split into planes. The first plane
/// holds the lowest byte of every value, the second plane the next byte, and so on, up to the highest byte that the
/// largest value needs. Each plane is stored in the shortest of three ways: as one byte that all values share, as plain
/// bytes, or as a zstd frame. Splitting helps because bytes of the same significance are similar. For example, the low
/// bytes of times are noise, and the high bytes hardly change. Apache Parquet calls this byte stream split, and Blosc
/// calls it the shuffle filter.
namespace sluice::trace {

enum class column_form : std::uint8_t {
  constant = 0,  ///< All values are equal; there are no planes.
  offset = 1,    ///< The value minus a base, which is, for example, the smallest value.
  delta = 2,     ///< Zigzag of (the value minus the previous value).
  relative = 3,  ///< Zigzag of (the value minus another column's value in the same row).
  // 4 is the text form: see codec.hpp.
  rising = 5,  ///< The value minus the previous value, never negative. Without zigzag, noise does not spread to the
               ///< next byte.
  above = 6,   ///< The value minus another column's value in the same row, never negative.
};
/// True for the forms that use the values of another column.
[[nodiscard]] constexpr bool refers_to_another(column_form form) {
  return form == column_form::relative || form == column_form::above;
}

inline constexpr std::size_t max_planes = 8;

/// How a column is encoded, and how many bytes each plane takes.
struct column_layout {
  column_form form = column_form::constant;
  std::uint64_t base = 0;  ///< Depending on the form: the constant, the base, the first value, or the number of the
                           ///< other column.
  std::uint8_t planes = 0;
  std::uint8_t same[max_planes] = {};     ///< The byte that all values share, for a plane that is not stored.
  std::uint32_t stored[max_planes] = {};  ///< Stored size of the plane in bytes. 0: all values share the byte `same`.
                                          ///< One byte per value: the bytes are plain. Fewer bytes: they are a zstd
                                          ///< frame.
  bool rises = false;                     ///< True if no value is less than the previous value. Only the encoder sets
                                          ///< this.
  /// Returns the stored size of all planes in bytes.
  [[nodiscard]] std::size_t stored_bytes() const;
};

/// The encoding that was last chosen for a column. The encoder keeps it so that it need not try all forms on every
/// chunk.
struct column_habit {
  column_form form = column_form::offset;
  std::uint8_t planes = 0;            ///< Number of planes.
  std::uint8_t worth_packing = 0xff;  ///< One bit per plane: zstd makes the plane shorter.
  std::uint8_t has_matches = 0xff;    ///< One bit per plane: zstd should search for matches in the plane.
  std::uint16_t chunks = 0;           ///< Number of chunks written with this encoding, including the chunk for which it
                                      ///< was chosen; 0: none yet.
  std::uint32_t usual_bytes = 0;      ///< The highest number of bytes per 1024 values in the first 32 chunks.
  std::uint32_t last_bytes = 0;       ///< The number of bytes per 1024 values in the last chunk.
  std::uint64_t base = 0;             ///< The base of the form `offset`.
};

/// Encodes columns. Each thread needs its own encoder.
class integer_encoder {
 public:
  explicit integer_encoder(int compression_level);
  ~integer_encoder();
  integer_encoder(integer_encoder&&) noexcept;
  integer_encoder& operator=(integer_encoder&&) noexcept;

  /// Appends the planes of `values` to `out`. `reference`: the values of column `reference_number` in the same rows; if
  /// it is empty, the forms that use another column are not tried. Updates `habit`. O(values). The call takes five
  /// times as long if it tries all forms.
  column_layout encode(std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                       std::uint16_t reference_number, column_habit& habit, std::vector<std::byte>& out);

  /// Appends `bytes` to `out`, as a zstd frame if the frame is shorter, else unchanged. Returns the number of bytes
  /// appended.
  std::size_t pack(std::span<const std::byte> bytes, std::vector<std::byte>& out);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Decodes a column into `values`. `planes` must have `layout.stored_bytes()` bytes, which may be hostile. `reference`:
/// the value of the other column in each row; if it is empty, these values are 0. Returns false if the bytes are
/// invalid. Thread-safe.
[[nodiscard]] bool decode_integers(const column_layout& layout, std::span<const std::byte> planes,
                                   std::span<const std::uint64_t> reference, std::span<std::uint64_t> values);

/// The inverse of `pack`: decodes `stored` into `bytes`. Returns false if the result does not fill `bytes` exactly.
/// Thread-safe.
[[nodiscard]] bool unpack(std::span<const std::byte> stored, std::span<std::byte> bytes);

/// Maps signed values near 0 to small unsigned values: 0, -1, 1, -2 become 0, 1, 2, 3. `unzigzag` is the inverse.
[[nodiscard]] constexpr std::uint64_t zigzag(std::uint64_t value) {
  return (value << 1) ^ (std::uint64_t{0} - (value >> 63));
}
[[nodiscard]] constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (std::uint64_t{0} - (value & 1));
}

}  // namespace sluice::trace
