#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "instrumentation/runtime/array.hpp"
#include "instrumentation/runtime/copy.hpp"

// Copies of whole arrays between host and device. A copy is asynchronous only if the host memory is page-locked.
// With ordinary memory, the driver stages the data and the call waits. Recordings show the kind of each transfer.

namespace sluice::runtime {

/// The kind of memory at an address, as seen by a device. Host memory that the driver does not know is pageable.
[[nodiscard]] inline memory_space find_memory_space(const void* address, const device_ref& device = current_device()) {
  return device.find_memory_space(address);
}

/// A copy to the host that may still be running. The object is move-only and keeps the source memory alive. A
/// pending_array also keeps the destination alive. The destructor waits for the copy.
class pending_copy {
 public:
  /// A finished copy.
  pending_copy() = default;
  ~pending_copy();
  pending_copy(pending_copy&& other) noexcept;
  pending_copy& operator=(pending_copy&& other) noexcept;

  /// False if the host memory was pageable, because the copy was then finished when copy_to_host returned.
  [[nodiscard]] bool asynchronous() const noexcept { return asynchronous_; }
  /// True if the copy is finished. Does not wait. Throws error on failure.
  [[nodiscard]] bool is_done() const;
  /// Waits for this copy only, not for later work on the stream. Throws error on failure.
  void sync() const;

 private:
  friend pending_copy copy_to_host(void* to, const void* origin, std::size_t bytes, memory_owner source,
                                   const stream_ref& stream);
  std::optional<event> done_;
  memory_owner source_;
  bool asynchronous_ = false;
};

/// Enqueues a copy of `bytes` bytes to the host on `stream`. Keeps `source` alive until the copy is done.
[[nodiscard]] pending_copy copy_to_host(void* to, const void* origin, std::size_t bytes, memory_owner source,
                                        const stream_ref& stream);

/// Enqueues a copy of device memory into a host span of at least the
/// same length. `to` must live until the copy is done.
template <class T>
[[nodiscard]] pending_copy copy_to_host(const device_span<T>& span, std::span<std::remove_const_t<T>> to,
                                        const stream_ref& stream = current_stream()) {
  if (to.size() < span.size()) {
    refuse("copy_to_host",
           "the destination holds " + std::to_string(to.size()) + " of " + std::to_string(span.size()) + " values");
  }
  return copy_to_host(to.data(), span.data(), span.size_bytes(), span.owner(), stream);
}

namespace detail {

// Throws error unless both arrays have the same shape and are contiguous in the same order.
void require_same_layout(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                         std::span<const std::int64_t> other_extents, std::span<const std::int64_t> other_strides,
                         const char* call);

template <class T, class U, std::size_t Rank>
void require_same_layout(const strided_view<T, Rank>& a, const strided_view<U, Rank>& b, const char* call) {
  require_same_layout(a.extents(), a.strides(), b.extents(), b.strides(), call);
}

}  // namespace detail

/// Enqueues a copy into an array of the same shape. Throws error unless both are
/// contiguous in the same order, because a copy does not rearrange elements.
template <class T, std::size_t Rank>
[[nodiscard]] pending_copy copy_to_host(const device_array<T, Rank>& array,
                                        const strided_view<std::remove_const_t<T>, Rank>& to,
                                        const stream_ref& stream = current_stream()) {
  detail::require_same_layout(array.view(), to, "copy_to_host");
  return copy_to_host(to.data(), array.data(), array.size_bytes(), array.memory().owner(), stream);
}

/// A host array that a running copy fills.
template <class T, std::size_t Rank>
class pending_array {
 public:
  pending_array(pinned_array<T, Rank> array, pending_copy copy) : array_(std::move(array)), copy_(std::move(copy)) {}

  [[nodiscard]] bool asynchronous() const noexcept { return copy_.asynchronous(); }
  [[nodiscard]] bool is_done() const { return copy_.is_done(); }
  /// Waits for the copy and returns the array. Throws error on failure.
  [[nodiscard]] pinned_array<T, Rank> get() && {
    copy_.sync();
    return std::move(array_);
  }

 private:
  pinned_array<T, Rank> array_;
  pending_copy copy_;  // destroyed first; its destructor waits for the copy
};

/// Enqueues a copy into a new pinned array of the same shape and order.
/// Throws error unless the source is contiguous, or out_of_memory.
template <class T, std::size_t Rank>
[[nodiscard]] pending_array<std::remove_const_t<T>, Rank> copy_to_host(const device_array<T, Rank>& array,
                                                                       const stream_ref& stream = current_stream()) {
  pinned_array<std::remove_const_t<T>, Rank> to(array.extents(), get_order(array.view()), {}, stream, "copy_to_host");
  pending_copy copy = copy_to_host(array, to.view(), stream);
  return {std::move(to), std::move(copy)};
}

/// Copies all elements, in memory order, to ordinary host memory, and waits for the copy. Throws error unless the array
/// is contiguous.
template <class T, std::size_t Rank>
[[nodiscard]] std::vector<std::remove_const_t<T>> to_vector(const device_array<T, Rank>& array,
                                                            const stream_ref& stream = current_stream()) {
  std::vector<std::remove_const_t<T>> out(array.size());
  const auto flat = array.ravel(get_order(array.view()));
  copy_to_host(out.data(), flat.data(), flat.size_bytes(), flat.memory().owner(), stream).sync();
  return out;
}

/// Enqueues, on `stream`, a copy of a host view into a new device array of the same order. Pinned host memory must not
/// change until the copy is done. Ordinary memory may change at once. Throws error unless the view is contiguous, or
/// out_of_memory.
template <class T, std::size_t Rank>
[[nodiscard]] device_array<std::remove_const_t<T>, Rank> to_device(const strided_view<T, Rank>& view,
                                                                   const stream_ref& stream = current_stream()) {
  device_array<std::remove_const_t<T>, Rank> out(view.extents(), get_order(view), stream, "to_device");
  detail::require_same_layout(out.view(), view, "to_device");
  copy_async(out.data(), view.data(), view.size_bytes(), stream);
  return out;
}
template <class T, std::size_t Rank>
[[nodiscard]] device_array<T, Rank> to_device(const pinned_array<T, Rank>& array,
                                              const stream_ref& stream = current_stream()) {
  return to_device(array.view(), stream);
}
/// Enqueues, on `stream`, a copy of one-dimensional host values (a vector, `mapped_file::as<T>()`) into a new device
/// array.
template <class T>
[[nodiscard]] device_array<std::remove_const_t<T>, 1> to_device(std::span<T> items,
                                                                const stream_ref& stream = current_stream()) {
  return to_device(strided_view<T, 1>(items.data(), {static_cast<std::int64_t>(items.size())}), stream);
}

/// Whether to_device copies an array that is already on the device.
enum class copying : std::uint8_t { if_needed, always };

/// An array for work on `stream`. Returns `array` itself if it is on the stream's device and no
/// copy is requested. Throws error if a non-contiguous array must be copied, or out_of_memory.
template <class T, std::size_t Rank>
[[nodiscard]] device_array<std::remove_const_t<T>, Rank> to_device(const device_array<T, Rank>& array,
                                                                   const stream_ref& stream, copying copy) {
  if constexpr (!std::is_const_v<T>) {
    if (copy == copying::if_needed && array.device() == stream.device()) return array;
  }
  return to_device(array.view(), stream);
}

/// Enqueues a copy of a host view into a device array. Throws error unless shape and contiguous order match.
template <class T, std::size_t Rank>
void copy_to_device(const device_array<T, Rank>& to, const strided_view<const T, Rank>& view,
                    const stream_ref& stream = current_stream()) {
  detail::require_same_layout(to.view(), view, "copy_to_device");
  copy_async(to.data(), view.data(), view.size_bytes(), stream);
}

}  // namespace sluice::runtime
