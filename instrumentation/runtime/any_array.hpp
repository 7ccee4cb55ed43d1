#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "instrumentation/runtime/array.hpp"

// Arrays whose element type and rank are known only at run time. They serve to exchange arrays with other libraries.

namespace sluice::runtime {

enum class element_kind : std::uint8_t { integer, unsigned_integer, floating, brain_float, complex, boolean };

/// An element type: its kind, and its size in bits (for complex numbers, the size of both parts together).
struct element_type {
  element_kind kind = element_kind::integer;
  std::uint16_t bits = 0;

  [[nodiscard]] std::size_t bytes() const noexcept { return bits / 8; }
  friend bool operator==(const element_type&, const element_type&) = default;
};

/// The NumPy name of the type, such as "float32" or "complex64".
[[nodiscard]] std::string to_string(element_type type);

/// Maps a C++ type to its element type. Specialize it for your own types, such as a half-precision float.
template <class T>
struct element_type_of;

template <class T>
requires std::is_integral_v<T> &&(!std::is_same_v<T, bool>)struct element_type_of<T> {
  static constexpr element_type value{std::is_signed_v<T> ? element_kind::integer : element_kind::unsigned_integer,
                                      8 * sizeof(T)};
};
template <class T>
requires std::is_floating_point_v<T> &&(sizeof(T) <= 8) struct element_type_of<T> {
  static constexpr element_type value{element_kind::floating, 8 * sizeof(T)};
};
template <>
struct element_type_of<bool> {
  static constexpr element_type value{element_kind::boolean, 8};
};
template <class T>
struct element_type_of<std::complex<T>> {
  static constexpr element_type value{element_kind::complex, 16 * sizeof(T)};
};

/// An array of any element type and rank. Shares ownership of its memory. The constructor validates its arguments.
class any_array {
 public:
  /// Strides are in elements. `first` is the byte offset in `memory` of the element with all indices 0; with negative
  /// strides, elements may precede it. Throws error if an extent is negative, the size overflows, an element is
  /// outside the memory, or elements are misaligned (complex numbers need the alignment of one part). O(axes).
  any_array(device_span<std::byte> memory, std::size_t first, element_type type, std::vector<std::int64_t> extents,
            std::vector<std::int64_t> strides, bool read_only = false);
  template <class T, std::size_t Rank>
  // NOLINTNEXTLINE(google-explicit-constructor): every array is one of these
  any_array(const device_array<T, Rank>& array)
      : any_array({reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(array.memory().data())),
                   array.memory().size_bytes(), array.memory().owner(), array.space(), array.device()},
                  array.empty() ? 0 : static_cast<std::size_t>(array.data() - array.memory().data()) * sizeof(T),
                  element_type_of<std::remove_const_t<T>>::value, {array.extents().begin(), array.extents().end()},
                  {array.strides().begin(), array.strides().end()}, std::is_const_v<T>) {}

  /// The address of the element with all indices 0; null if the array is empty.
  [[nodiscard]] void* data() const noexcept { return size_ == 0 ? nullptr : memory_.data() + first_; }
  [[nodiscard]] element_type type() const noexcept { return type_; }
  [[nodiscard]] std::size_t rank() const noexcept { return extents_.size(); }
  [[nodiscard]] const std::vector<std::int64_t>& extents() const noexcept { return extents_; }
  /// For each axis: the distance from one element to the next, in elements (not bytes).
  [[nodiscard]] const std::vector<std::int64_t>& strides() const noexcept { return strides_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_ * type_.bytes(); }
  [[nodiscard]] bool is_contiguous(storage_order order) const noexcept {
    return runtime::is_contiguous(extents_, strides_, order);
  }
  [[nodiscard]] bool read_only() const noexcept { return read_only_; }
  /// The memory that contains the elements.
  [[nodiscard]] const device_span<std::byte>& memory() const noexcept { return memory_; }
  [[nodiscard]] device_ref device() const { return memory_.device(); }
  [[nodiscard]] memory_space space() const noexcept { return memory_.space(); }

  /// Returns the same array, but keeps `owner` alive instead of the previous owner.
  [[nodiscard]] any_array owned_by(memory_owner owner) const;

  /// Returns the array as a typed device_array, without a copy. Throws error if the
  /// element type or rank differs, or if the array is read-only and T is not const.
  template <class T, std::size_t Rank>
  [[nodiscard]] device_array<T, Rank> as() const {
    require(element_type_of<std::remove_const_t<T>>::value, Rank, std::is_const_v<T>);
    shape<Rank> extents{}, strides{};
    for (std::size_t axis = 0; axis < Rank; ++axis) extents[axis] = extents_[axis];
    for (std::size_t axis = 0; axis < Rank; ++axis) strides[axis] = strides_[axis];
    if (size_ == 0) return device_array<T, Rank>(device_span<T>(nullptr, 0, {}, space(), device()), extents);
    // The offset of the first element need not be a multiple of sizeof(T): count whole values from the offset `from`.
    const std::size_t before = first_ / sizeof(T), from = first_ % sizeof(T);
    auto* const begin = reinterpret_cast<T*>(memory_.data() + from);
    const device_span<T> values(begin, (memory_.size() - from) / sizeof(T), memory_.owner(), space(), device());
    return device_array<T, Rank>(values, strided_view<T, Rank>(begin + before, extents, strides));
  }

 private:
  void require(element_type type, std::size_t rank, bool read_only) const;

  device_span<std::byte> memory_;
  std::size_t first_;
  element_type type_;
  std::vector<std::int64_t> extents_, strides_;
  std::uint64_t size_ = 0;
  bool read_only_;
};

/// An array description received from another library. Nothing in it has been validated yet.
struct foreign_array {
  void* data = nullptr;
  element_type type{};
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;  ///< in elements
  bool read_only = false;
};

/// Validates the description and returns the array, without an owner. Throws the errors of the constructors of
/// any_array and unowned_buffer; messages name the function `call`. Asks the driver whether the memory exists.
[[nodiscard]] any_array checked_array(const foreign_array& array, const device_ref& device, const char* call);

}  // namespace sluice::runtime
