#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "instrumentation/runtime/error.hpp"

// Functions that compute with the shapes of arrays: extents and strides of up to `max_axes` axes, in elements. Shapes
// may come from other libraries, so every product and sum is checked for overflow. The functions are pure and O(axes).

namespace sluice::runtime {

/// The axis that varies fastest in memory: the last one (C, row-major) or the first one (Fortran, column-major).
enum class storage_order : std::uint8_t { c, f };

/// Extents or strides of an array with `Rank` axes, in elements. Rank 0 is a single value.
template <std::size_t Rank>
using shape = std::array<std::int64_t, Rank>;

/// The maximum number of axes. No array library supports more (NumPy's limit is 64).
inline constexpr std::size_t max_axes = 64;

/// The lowest and highest element offset from the data pointer, in elements, both inclusive.
struct offset_range {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};

/// The number of elements. `item_bytes` is the size of one element; `call` is the function
/// named in errors. Throws error if an extent is negative or the total exceeds 2^63 - 1 bytes.
[[nodiscard]] std::uint64_t element_count(std::span<const std::int64_t> extents, std::size_t item_bytes,
                                          const char* call);

/// Computes the strides of a dense array. `strides` is as long as `extents`. Call element_count on the extents first.
void dense_strides(std::span<const std::int64_t> extents, storage_order order, std::span<std::int64_t> strides);

/// True if the elements are contiguous in this order. As in NumPy, axes of extent
/// 1 may have any stride, and an empty array is contiguous in both orders.
[[nodiscard]] bool is_contiguous(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                                 storage_order order) noexcept;

/// The range of element offsets. The array must not be empty. Throws error if an offset exceeds 2^63 - 1 bytes.
[[nodiscard]] offset_range find_offset_range(std::span<const std::int64_t> extents,
                                             std::span<const std::int64_t> strides, std::size_t item_bytes,
                                             const char* call);

/// Replaces an extent of -1 (at most one) by the value that makes the product of all extents `count`,
/// as in NumPy's reshape. Throws error if no value fits, or if the product differs from `count`.
void complete_extents(std::span<std::int64_t> extents, std::uint64_t count, const char* call);

/// Text for messages, such as "(3, 4)".
[[nodiscard]] std::string to_string(std::span<const std::int64_t> extents);

/// Throws error with code invalid_value and function name `call`.
[[noreturn]] void refuse(const char* call, std::string why);

}  // namespace sluice::runtime
