#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "instrumentation/runtime/device_span.hpp"
#include "instrumentation/runtime/strided_view.hpp"

// Arrays in device memory and in page-locked host memory. An array shares the ownership of its memory and has a shape.
// Copying an array copies only the handle; both handles refer to the same elements, like NumPy views. The results of
// reshape, slice etc. also share the memory and keep it alive. Element types are trivially copyable. New arrays are
// uninitialized. Extents and strides are in elements. Only the functions in transfer.hpp copy elements.

namespace sluice::runtime {

/// The common base of all arrays. `Array` is the derived class template, `Span` is device_span or host_span.
template <template <class, std::size_t> class Array, template <class> class Span, class T, std::size_t Rank>
class basic_array {
 public:
  static_assert(std::is_trivially_copyable_v<T>, "elements are moved by byte copies");
  using element_type = T;
  static constexpr std::size_t rank() noexcept { return Rank; }

  [[nodiscard]] T* data() const noexcept { return view_.data(); }
  [[nodiscard]] const shape<Rank>& extents() const noexcept { return view_.extents(); }
  [[nodiscard]] const shape<Rank>& strides() const noexcept { return view_.strides(); }
  [[nodiscard]] std::int64_t extent(std::size_t axis) const noexcept { return view_.extent(axis); }
  [[nodiscard]] std::int64_t stride(std::size_t axis) const noexcept { return view_.stride(axis); }
  /// size() counts elements, size_bytes() their bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return view_.size(); }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return view_.size_bytes(); }
  [[nodiscard]] bool empty() const noexcept { return view_.empty(); }
  [[nodiscard]] bool is_contiguous(storage_order order) const noexcept { return view_.is_contiguous(order); }
  [[nodiscard]] bool is_c_contiguous() const noexcept { return view_.is_c_contiguous(); }
  [[nodiscard]] bool is_f_contiguous() const noexcept { return view_.is_f_contiguous(); }

  /// A non-owning view of the elements, which can be passed to kernels.
  [[nodiscard]] const strided_view<T, Rank>& view() const noexcept { return view_; }
  /// The whole memory block that contains the elements.
  [[nodiscard]] const Span<T>& memory() const noexcept { return memory_; }
  [[nodiscard]] device_ref device() const { return memory_.device(); }
  [[nodiscard]] memory_space space() const noexcept { return memory_.space(); }

  /// ravel, reshape, transpose and slice return new views of the same memory. They have the semantics and errors of the
  /// same functions of strided_view.
  [[nodiscard]] Array<T, 1> ravel(storage_order order = storage_order::c) const {
    return {memory_, view_.ravel(order)};
  }
  template <std::size_t Other>
  [[nodiscard]] Array<T, Other> reshape(const shape<Other>& extents, storage_order order = storage_order::c) const {
    return {memory_, view_.reshape(extents, order)};
  }
  [[nodiscard]] Array<T, Rank> transpose() const { return {memory_, view_.transpose()}; }
  [[nodiscard]] Array<T, Rank> slice(std::size_t axis, std::int64_t begin, std::int64_t end,
                                     std::int64_t step = 1) const {
    return {memory_, view_.slice(axis, begin, end, step)};
  }

 protected:
  basic_array() = default;
  basic_array(Span<T> memory, const strided_view<T, Rank>& view) : memory_(std::move(memory)), view_(view) {
    require_inside();
  }

 private:
  // Throws error unless every element is inside the memory, because callers may pass any view.
  void require_inside() const {
    if (view_.empty()) return;
    const offset_range offsets = find_offset_range(view_.extents(), view_.strides(), sizeof(T), "array");
    const std::int64_t begin = view_.data() - memory_.data();
    if (begin + offsets.lowest < 0 || begin + offsets.highest >= static_cast<std::int64_t>(memory_.size())) {
      refuse("array", "shape " + to_string(view_.extents()) + ", strides " + to_string(view_.strides()) +
                          ": exceeds its memory of " + std::to_string(memory_.size()) + " elements");
    }
  }

  Span<T> memory_;
  strided_view<T, Rank> view_;
};

/// An array in device memory, or in any other memory that kernels can access.
template <class T, std::size_t Rank>
class device_array : public basic_array<device_array, device_span, T, Rank> {
  using base = basic_array<device_array, device_span, T, Rank>;

 public:
  /// Creates an empty array.
  device_array() = default;
  /// Allocates memory from `resource` (default: the device's current resource). The memory is usable on `stream` and is
  /// freed there. Throws error for invalid extents, or out_of_memory.
  explicit device_array(const shape<Rank>& extents, storage_order order = storage_order::c,
                        const stream_ref& stream = current_stream(), std::string_view tag = "device_array")
      : device_array(extents, order, stream, current_resource(stream.device()), tag) {}
  device_array(const shape<Rank>& extents, storage_order order, const stream_ref& stream, const resource_ptr& resource,
               std::string_view tag = "device_array")
      : device_array(device_span<std::byte>(device_buffer(element_count(extents, sizeof(T), "device_array") * sizeof(T),
                                                          stream, resource, tag))
                         .template as<T>(),
                     extents, order) {}
  /// A dense array in existing memory, such as `unowned_buffer::as<T>()`, without a copy. Throws error if the memory is
  /// too small.
  device_array(const device_span<T>& memory, const shape<Rank>& extents, storage_order order = storage_order::c)
      : base(memory, strided_view<T, Rank>(memory.data(), extents, order)) {}
  /// An array in existing memory with an arbitrary view. Throws error if the view reaches outside the memory.
  device_array(const device_span<T>& memory, const strided_view<T, Rank>& view) : base(memory, view) {}
};

/// An array in page-locked host memory. Copies from and to it are asynchronous and run at the speed of the link.
template <class T, std::size_t Rank>
class pinned_array : public basic_array<pinned_array, host_span, T, Rank> {
  using base = basic_array<pinned_array, host_span, T, Rank>;

 public:
  pinned_array() = default;
  /// Allocates from `current_pinned_resource`, or, if `flags` are not the default, directly from the driver with
  /// these flags. Freeing the memory waits for `stream`. Throws error for invalid extents, or out_of_memory.
  explicit pinned_array(const shape<Rank>& extents, storage_order order = storage_order::c, pinned_flags flags = {},
                        const stream_ref& stream = current_stream(), std::string_view tag = "pinned_array")
      : pinned_array(host_span<std::byte>(
                         memory_for(element_count(extents, sizeof(T), "pinned_array") * sizeof(T), flags, stream, tag))
                         .template as<T>(),
                     extents, order) {}
  pinned_array(const host_span<T>& memory, const shape<Rank>& extents, storage_order order = storage_order::c)
      : base(memory, strided_view<T, Rank>(memory.data(), extents, order)) {}
  pinned_array(const host_span<T>& memory, const strided_view<T, Rank>& view) : base(memory, view) {}

  /// Returns the element at these indices, without a bounds check.
  template <class... Index>
  [[nodiscard]] T& operator()(Index... index) const noexcept {
    return this->view()(index...);
  }
  /// All elements, in memory order. Throws error unless the array is C-contiguous or Fortran-contiguous.
  [[nodiscard]] std::span<T> span() const {
    return {this->ravel(this->is_c_contiguous() ? storage_order::c : storage_order::f).data(), this->size()};
  }

 private:
  [[nodiscard]] static pinned_buffer memory_for(std::size_t bytes, pinned_flags flags, const stream_ref& stream,
                                                std::string_view tag) {
    return flags == pinned_flags{} ? pinned_buffer(bytes, stream, tag) : pinned_buffer(bytes, flags, stream, tag);
  }
};

/// An array in page-locked host memory that kernels access in place, over the link. It is meant for data that is rarely
/// accessed.
template <class T, std::size_t Rank>
class mapped_array : public basic_array<mapped_array, host_span, T, Rank> {
  using base = basic_array<mapped_array, host_span, T, Rank>;

 public:
  mapped_array() = default;
  /// Allocates like pinned_array. `flags.mapped` is always set, even if the argument says otherwise.
  explicit mapped_array(const shape<Rank>& extents, storage_order order = storage_order::c, pinned_flags flags = {},
                        const stream_ref& stream = current_stream(), std::string_view tag = "mapped_array")
      : mapped_array(
            host_span<std::byte>(pinned_buffer(element_count(extents, sizeof(T), "mapped_array") * sizeof(T),
                                               pinned_flags{flags.portable, true, flags.write_combined}, stream, tag))
                .template as<T>(),
            extents, order) {}
  /// Uses existing mapped memory, such as a host_registration. Throws error if kernels cannot access it.
  mapped_array(const host_span<T>& memory, const shape<Rank>& extents, storage_order order = storage_order::c)
      : mapped_array(memory, strided_view<T, Rank>(memory.data(), extents, order)) {}
  mapped_array(const host_span<T>& memory, const strided_view<T, Rank>& view) : base(memory, view) {
    if (!this->empty()) offset_ = detail::device_offset(memory.data(), memory.device());
  }

  /// Returns the element at these indices, for use on the host, without a bounds check.
  template <class... Index>
  [[nodiscard]] T& operator()(Index... index) const noexcept {
    return this->view()(index...);
  }
  /// A view of the same elements, at the address that kernels use.
  [[nodiscard]] strided_view<T, Rank> device_view() const {
    auto* const there = reinterpret_cast<T*>(reinterpret_cast<std::byte*>(this->data()) + offset_);
    return {this->empty() ? this->data() : there, this->extents(), this->strides()};
  }

 private:
  std::ptrdiff_t offset_ = 0;  // device address minus host address, in bytes
};

/// An uninitialized array with the shape of `other`: in Fortran order if `other` is contiguous only in Fortran order,
/// otherwise in C order.
template <class T, std::size_t Rank>
[[nodiscard]] device_array<T, Rank> empty_like(const device_array<T, Rank>& other,
                                               const stream_ref& stream = current_stream()) {
  return device_array<T, Rank>(other.extents(), get_order(other.view()), stream);
}
template <class T, std::size_t Rank>
[[nodiscard]] pinned_array<T, Rank> empty_like(const pinned_array<T, Rank>& other, pinned_flags flags = {},
                                               const stream_ref& stream = current_stream()) {
  return pinned_array<T, Rank>(other.extents(), get_order(other.view()), flags, stream);
}
template <class T, std::size_t Rank>
[[nodiscard]] mapped_array<T, Rank> empty_like(const mapped_array<T, Rank>& other, pinned_flags flags = {},
                                               const stream_ref& stream = current_stream()) {
  return mapped_array<T, Rank>(other.extents(), get_order(other.view()), flags, stream);
}

}  // namespace sluice::runtime
