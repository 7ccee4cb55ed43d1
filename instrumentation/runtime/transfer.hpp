#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "instrumentation/runtime/array.hpp"
#include "instrumentation/runtime/copy.hpp"

// Whole arrays between host and device. A copy runs beside the host only if the host's side is page-locked; with
// ordinary memory the driver stages it and the call waits. A recording says of each transfer which it was.

namespace sluice::runtime {

/// Where an address lives, as a device sees it; host memory that the driver does not know is pageable.
[[nodiscard]] inline memory_space memory_space_of(const void* address, const device_ref& device = current_device()) {
  return device.memory_space_of(address);
}

/// A copy to the host that may be under way. Move-only. It holds the memory that it reads, and, where it owns it, the
/// memory that it writes; the destructor waits.
class pending_copy {
 public:
  /// A copy that is done.
  pending_copy() = default;
  ~pending_copy();
  pending_copy(pending_copy&& other) noexcept;
  pending_copy& operator=(pending_copy&& other) noexcept;

  /// False if the host's side was pageable: the copy was over when the call that made this returned.
  [[nodiscard]] bool asynchronous() const noexcept { return asynchronous_; }
  [[nodiscard]] bool is_done() const;
  /// Waits for this copy, not for what was enqueued after it. Throws error.
  void sync() const;

 private:
  friend pending_copy copy_to_host(void* to, const void* from, std::size_t bytes, memory_owner source,
                                   const stream_ref& stream);
  std::optional<event> done_;
  memory_owner source_;
  bool asynchronous_ = false;
};

/// Enqueues a copy of `bytes` to the host on `stream`. `source` is kept until the copy is done. Throws error.
[[nodiscard]] pending_copy copy_to_host(void* to, const void* from, std::size_t bytes, memory_owner source,
                                        const stream_ref& stream);

/// Enqueues a copy of device memory into a host span of at least its length. `to` must live until the copy is done.
/// Throws error.
template <class T>
[[nodiscard]] pending_copy copy_to_host(const device_span<T>& from, std::span<std::remove_const_t<T>> to,
                                        const stream_ref& stream = current_stream()) {
  if (to.size() < from.size()) {
    refuse("copy_to_host", "room for " + std::to_string(to.size()) + " of " + std::to_string(from.size()) + " values");
  }
  return copy_to_host(to.data(), from.data(), from.size_bytes(), from.owner(), stream);
}

namespace detail {

// Throws error unless both have one shape and lie without gaps in the same order.
void require_same_layout(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                         std::span<const std::int64_t> other_extents, std::span<const std::int64_t> other_strides,
                         const char* call);

template <class T, class U, std::size_t Rank>
void require_same_layout(const strided_view<T, Rank>& a, const strided_view<U, Rank>& b, const char* call) {
  require_same_layout(a.extents(), a.strides(), b.extents(), b.strides(), call);
}

}  // namespace detail

/// Enqueues a copy into an array of the same shape. Throws error unless both lie without gaps in the same order: a
/// copy moves bytes and does not rearrange them.
template <class T, std::size_t Rank>
[[nodiscard]] pending_copy copy_to_host(const device_array<T, Rank>& from,
                                        const strided_view<std::remove_const_t<T>, Rank>& to,
                                        const stream_ref& stream = current_stream()) {
  detail::require_same_layout(from.view(), to, "copy_to_host");
  return copy_to_host(to.data(), from.data(), from.size_bytes(), from.memory().owner(), stream);
}

/// A host array on its way.
template <class T, std::size_t Rank>
class pending_array {
 public:
  pending_array(pinned_array<T, Rank> array, pending_copy copy) : array_(std::move(array)), copy_(std::move(copy)) {}

  [[nodiscard]] bool asynchronous() const noexcept { return copy_.asynchronous(); }
  [[nodiscard]] bool is_done() const { return copy_.is_done(); }
  /// Waits, and hands the array over. Throws error.
  [[nodiscard]] pinned_array<T, Rank> get() && {
    copy_.sync();
    return std::move(array_);
  }

 private:
  pinned_array<T, Rank> array_;
  pending_copy copy_;  // goes first, and waits
};

/// Enqueues a copy into a fresh pinned array of the same shape and order. Throws error: no gaps are copied, see above;
/// out_of_memory.
template <class T, std::size_t Rank>
[[nodiscard]] pending_array<std::remove_const_t<T>, Rank> copy_to_host(const device_array<T, Rank>& from,
                                                                       const stream_ref& stream = current_stream()) {
  pinned_array<std::remove_const_t<T>, Rank> to(from.extents(), order_of(from.view()), {}, stream, "copy_to_host");
  pending_copy copy = copy_to_host(from, to.view(), stream);
  return {std::move(to), std::move(copy)};
}

/// The elements as they lie in memory, in ordinary host memory; waits. Throws error for an array with gaps.
template <class T, std::size_t Rank>
[[nodiscard]] std::vector<std::remove_const_t<T>> to_vector(const device_array<T, Rank>& from,
                                                            const stream_ref& stream = current_stream()) {
  std::vector<std::remove_const_t<T>> out(from.size());
  const auto flat = from.ravel(order_of(from.view()));
  copy_to_host(out.data(), flat.data(), flat.size_bytes(), flat.memory().owner(), stream).sync();
  return out;
}

/// A device array with the elements of a host view, in its order; enqueued on `stream`. Where the host's side is
/// pinned, it must stay as it is until the stream has passed; ordinary memory may change at once. Throws error: a view
/// with gaps, out_of_memory.
template <class T, std::size_t Rank>
[[nodiscard]] device_array<std::remove_const_t<T>, Rank> to_device(const strided_view<T, Rank>& from,
                                                                   const stream_ref& stream = current_stream()) {
  device_array<std::remove_const_t<T>, Rank> out(from.extents(), order_of(from), stream, "to_device");
  detail::require_same_layout(out.view(), from, "to_device");
  copy_async(out.data(), from.data(), from.size_bytes(), stream);
  return out;
}
template <class T, std::size_t Rank>
[[nodiscard]] device_array<T, Rank> to_device(const pinned_array<T, Rank>& from,
                                              const stream_ref& stream = current_stream()) {
  return to_device(from.view(), stream);
}
/// The same of one axis: vectors, `mapped_file::as<T>()`.
template <class T>
[[nodiscard]] device_array<std::remove_const_t<T>, 1> to_device(std::span<T> from,
                                                                const stream_ref& stream = current_stream()) {
  return to_device(strided_view<T, 1>(from.data(), {static_cast<std::int64_t>(from.size())}), stream);
}

/// Whether to_device of something that is on the device already makes another array.
enum class copying : std::uint8_t { if_needed, always };

/// An array for work on `stream`: the same one, if it is on the stream's device and a copy is not asked for. Throws
/// error: a copy of an array with gaps, out_of_memory.
template <class T, std::size_t Rank>
[[nodiscard]] device_array<std::remove_const_t<T>, Rank> to_device(const device_array<T, Rank>& from,
                                                                   const stream_ref& stream, copying copy) {
  if constexpr (!std::is_const_v<T>) {
    if (copy == copying::if_needed && from.device() == stream.device()) return from;
  }
  return to_device(from.view(), stream);
}

/// Enqueues a copy of a host view into an array of the same shape and order. Throws error, as above.
template <class T, std::size_t Rank>
void copy_to_device(const device_array<T, Rank>& to, const strided_view<const T, Rank>& from,
                    const stream_ref& stream = current_stream()) {
  detail::require_same_layout(to.view(), from, "copy_to_device");
  copy_async(to.data(), from.data(), from.size_bytes(), stream);
}

}  // namespace sluice::runtime
