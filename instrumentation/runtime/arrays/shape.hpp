#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "instrumentation/runtime/error.hpp"

// Shapes: extents and strides of up to `most_axes` axes, in elements. They come from other libraries too, so nothing is
// believed: every product and sum is checked. Pure functions, O(axes).

namespace sluice::runtime {

/// Which axis varies fastest in memory: the last (C, row-major) or the first (Fortran, column-major).
enum class storage_order : std::uint8_t { c, f };

/// Extents or strides of an array of `Rank` axes, in elements. Rank 0 is a single value.
template <std::size_t Rank>
using shape = std::array<std::int64_t, Rank>;

/// More axes than this no array library makes (NumPy's own limit is 64).
inline constexpr std::size_t most_axes = 64;

/// The offsets that an array's elements have from its data pointer, in elements, both inclusive.
struct offset_range {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};

/// The number of elements; `item_bytes` is the size of one. `call` names the caller in errors. Throws error: an
/// extent below 0, more than 2^63 - 1 bytes.
[[nodiscard]] std::uint64_t element_count(std::span<const std::int64_t> extents, std::size_t item_bytes,
                                          const char* call);

/// The strides of a dense array. `strides` is as long as `extents`. The extents must have passed element_count.
void dense_strides(std::span<const std::int64_t> extents, storage_order order, std::span<std::int64_t> strides);

/// True if the elements lie without gaps in this order. As in NumPy, axes of extent 1 may have any stride, and an
/// empty array is contiguous in both orders.
[[nodiscard]] bool is_contiguous(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                                 storage_order order) noexcept;

/// Where the elements reach; the array must not be empty. Throws error if an offset passes 2^63 - 1 bytes.
[[nodiscard]] offset_range offsets_of(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                                      std::size_t item_bytes, const char* call);

/// Extents for `count` elements, in which one may be -1 for "what is left", as in NumPy. Changes it in place. Throws
/// error if they do not come to `count`.
void complete_extents(std::span<std::int64_t> extents, std::uint64_t count, const char* call);

/// "(3, 4)", for messages.
[[nodiscard]] std::string to_string(std::span<const std::int64_t> extents);

/// Throws error: invalid_value, in `call`.
[[noreturn]] void refuse(const char* call, std::string why);

}  // namespace sluice::runtime
