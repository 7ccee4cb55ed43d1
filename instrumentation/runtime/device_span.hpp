#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/shape.hpp"

// Spans with shared ownership of their memory. A span remains valid after the buffer that it was created from, and
// other spans of that memory, are destroyed. Copying a span increments one reference count. Spans are thread-safe like
// std::shared_ptr: different threads may use different objects.

namespace sluice::runtime {

/// Keeps memory alive as long as a copy of this pointer exists. Null if other code manages the memory.
using memory_owner = std::shared_ptr<const void>;

/// The common base of device_span and host_span: `size()` values of T in a block, with shared ownership of the block.
template <class T, class Derived>
class owning_span {
 public:
  using element_type = T;

  owning_span() = default;
  /// Refers to `count` values at `data`; `owner` keeps them alive. Nothing is checked (unlike `unowned_buffer`).
  owning_span(T* data, std::size_t count, memory_owner owner, memory_space space, const device_ref& device)
      : data_(data), count_(count), owner_(std::move(owner)), space_(space), device_(device) {}

  [[nodiscard]] T* data() const noexcept { return data_; }
  /// size() counts values, size_bytes() their bytes.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return count_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// The object that keeps the memory alive; null if other code manages the memory.
  [[nodiscard]] const memory_owner& owner() const noexcept { return owner_; }
  [[nodiscard]] memory_space space() const noexcept { return space_; }
  /// The device that the memory belongs to; for a default-constructed span, the current device.
  [[nodiscard]] device_ref device() const { return device_ ? *device_ : current_device(); }

  /// The `count` values that start at `offset`. Throws error if they are not all inside the span. O(1), no copy.
  [[nodiscard]] Derived subspan(std::size_t offset, std::size_t count) const {
    if (offset > count_ || count > count_ - offset) {
      refuse("subspan", "[" + std::to_string(offset) + ", " + std::to_string(offset) + " + " + std::to_string(count) +
                            ") of " + std::to_string(count_) + " values");
    }
    return Derived(data_ + offset, count, owner_, space_, device());
  }
  /// All values from `offset` to the end.
  [[nodiscard]] Derived subspan(std::size_t offset) const {
    return subspan(offset, offset > count_ ? 0 : count_ - offset);
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
  memory_owner owner_;
  memory_space space_ = memory_space::device;
  std::optional<device_ref> device_;
};

namespace detail {

// Throws error unless [data, data + bytes) consists of whole, aligned values of `size` bytes.
void require_values(const void* data, std::size_t bytes, std::size_t size, std::size_t alignment, const char* call);

// Device address minus host address of mapped memory, in bytes. Throws error if kernels cannot access the memory.
[[nodiscard]] std::ptrdiff_t device_offset(const void* address, const device_ref& device);

// Turns a buffer into memory with shared ownership. The buffer's destructor runs when the last owner is destroyed.
struct shared_buffer {
  explicit shared_buffer(buffer memory);
  void* data;
  std::size_t bytes;
  memory_space space;
  device_ref device;
  memory_owner owner;
};

}  // namespace detail

/// A span of values that kernels and copies may use: device, managed, or host memory that the device can access.
template <class T = std::byte>
class device_span : public owning_span<T, device_span<T>> {
 public:
  using owning_span<T, device_span<T>>::owning_span;
  /// Takes over the buffer. Throws error if the buffer was moved from.
  explicit device_span(buffer memory) requires std::is_same_v<T, std::byte>
      : device_span(detail::shared_buffer(std::move(memory))) {}

  /// Views the span's bytes as values of U. Throws error unless they form whole, aligned values of U. O(1).
  template <class U>
  [[nodiscard]] device_span<U> as() const {
    detail::require_values(this->data(), this->size_bytes(), sizeof(U), alignof(U), "device_span::as");
    return {reinterpret_cast<U*>(this->data()), this->size_bytes() / sizeof(U), this->owner(), this->space(),
            this->device()};
  }

 private:
  explicit device_span(detail::shared_buffer b)
      : device_span(static_cast<std::byte*>(b.data), b.bytes, std::move(b.owner), b.space, b.device) {}
};

/// A span of values that the host may access: pinned memory, managed memory, or ordinary host memory with an owner.
template <class T = std::byte>
class host_span : public owning_span<T, host_span<T>> {
 public:
  using owning_span<T, host_span<T>>::owning_span;
  /// Takes over the buffer. Throws error for device memory, or if the buffer was moved from.
  explicit host_span(buffer memory) requires std::is_same_v<T, std::byte>
      : host_span(detail::shared_buffer(std::move(memory))) {}

  template <class U>
  [[nodiscard]] host_span<U> as() const {
    detail::require_values(this->data(), this->size_bytes(), sizeof(U), alignof(U), "host_span::as");
    return {reinterpret_cast<U*>(this->data()), this->size_bytes() / sizeof(U), this->owner(), this->space(),
            this->device()};
  }

  /// The value at index `i`, without a bounds check.
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return this->data()[i]; }
  [[nodiscard]] T* begin() const noexcept { return this->data(); }
  [[nodiscard]] T* end() const noexcept { return this->data() + this->size(); }
  /// Returns the values as a std::span, which does not keep the memory alive.
  [[nodiscard]] std::span<T> span() const noexcept { return {this->data(), this->size()}; }

 private:
  explicit host_span(detail::shared_buffer b)
      : host_span(static_cast<std::byte*>(b.data), b.bytes, std::move(b.owner), b.space, b.device) {
    if (b.space == memory_space::device) refuse("host_span", "the host cannot access device memory");
  }
};

/// Validated access to memory that other code allocated. This object never frees the memory. It is cheap to copy.
class unowned_buffer {
 public:
  /// Refers to `bytes` bytes at `data`. `owner` keeps them alive; it may be null if other code manages the memory.
  /// Throws error if `data` is null, if the range overflows, if the memory is unknown to the driver or on another
  /// device, or if the range exceeds the allocation (if the driver knows the allocation's size). O(1); makes a few
  /// driver calls.
  unowned_buffer(void* data, std::size_t bytes, memory_owner owner = {}, const device_ref& device = current_device());

  [[nodiscard]] void* data() const noexcept { return span_.data(); }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return span_.size(); }
  [[nodiscard]] const device_span<std::byte>& span() const noexcept { return span_; }
  template <class T>
  [[nodiscard]] device_span<T> as() const {
    return span_.as<T>();
  }

 private:
  device_span<std::byte> span_;
};

}  // namespace sluice::runtime
