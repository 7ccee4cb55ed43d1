#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "instrumentation/runtime/arrays/shape.hpp"
#include "instrumentation/runtime/buffer.hpp"

// Parts of blocks that share the block's ownership: a part may outlive the scope, and every other part, of the buffer
// that it came from. Copying one costs a reference count. Thread-safe as std::shared_ptr is: different objects from
// different threads.

namespace sluice::runtime {

/// Keeps memory alive for as long as it exists; null for memory that somebody else looks after.
using memory_owner = std::shared_ptr<const void>;

/// What device_span and host_span share: values of T in a block, with a share in the block.
template <class T, class Derived>
class owning_span {
 public:
  using element_type = T;

  owning_span() = default;
  /// `count` values at `data`, alive for as long as `owner` is. Nothing is checked: `unowned_buffer` checks.
  owning_span(T* data, std::size_t count, memory_owner owner, memory_space space, const device_ref& device)
      : data_(data), count_(count), owner_(std::move(owner)), space_(space), device_(device) {}

  [[nodiscard]] T* data() const noexcept { return data_; }
  /// Values, and what they take in bytes.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return count_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] const memory_owner& owner() const noexcept { return owner_; }
  [[nodiscard]] memory_space space() const noexcept { return space_; }
  /// The device that it belongs to; the current one for a span that was never given memory.
  [[nodiscard]] device_ref device() const { return device_ ? *device_ : current_device(); }

  /// `count` values from `offset` on. Throws error if they leave the span. O(1), no copy.
  [[nodiscard]] Derived subspan(std::size_t offset, std::size_t count) const {
    if (offset > count_ || count > count_ - offset) {
      refuse("subspan", "[" + std::to_string(offset) + ", " + std::to_string(offset) + " + " + std::to_string(count) +
                            ") of " + std::to_string(count_) + " values");
    }
    return Derived(data_ + offset, count, owner_, space_, device());
  }
  /// The rest from `offset` on.
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

// Throws error unless [data, data + bytes) holds whole, aligned values of `size` bytes.
void require_values(const void* data, std::size_t bytes, std::size_t size, std::size_t alignment, const char* call);

// From the host's address of mapped memory to the device's, in bytes. Throws error if kernels do not reach it.
[[nodiscard]] std::ptrdiff_t device_offset(const void* address, const device_ref& device);

// A buffer turned into something shared; the buffer's destructor runs when the last share goes.
struct shared_buffer {
  explicit shared_buffer(buffer memory);
  void* data;
  std::size_t bytes;
  memory_space space;
  device_ref device;
  memory_owner owner;
};

}  // namespace detail

/// Values that kernels and copies may use: device memory, managed memory, or host memory that the device reaches.
template <class T = std::byte>
class device_span : public owning_span<T, device_span<T>> {
 public:
  using owning_span<T, device_span<T>>::owning_span;
  /// Takes the buffer over. Throws error for a buffer that has been moved from.
  explicit device_span(buffer memory) requires std::is_same_v<T, std::byte>
      : device_span(detail::shared_buffer(std::move(memory))) {}

  /// The same bytes as values of U. Throws error unless they are whole and aligned. O(1).
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

/// Values that the host may touch: pinned memory, managed memory, or ordinary host memory with an owner.
template <class T = std::byte>
class host_span : public owning_span<T, host_span<T>> {
 public:
  using owning_span<T, host_span<T>>::owning_span;
  /// Takes the buffer over. Throws error for device memory, and for a buffer that has been moved from.
  explicit host_span(buffer memory) requires std::is_same_v<T, std::byte>
      : host_span(detail::shared_buffer(std::move(memory))) {}

  template <class U>
  [[nodiscard]] host_span<U> as() const {
    detail::require_values(this->data(), this->size_bytes(), sizeof(U), alignof(U), "host_span::as");
    return {reinterpret_cast<U*>(this->data()), this->size_bytes() / sizeof(U), this->owner(), this->space(),
            this->device()};
  }

  /// Not checked.
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return this->data()[i]; }
  [[nodiscard]] T* begin() const noexcept { return this->data(); }
  [[nodiscard]] T* end() const noexcept { return this->data() + this->size(); }
  /// Without the ownership.
  [[nodiscard]] std::span<T> span() const noexcept { return {this->data(), this->size()}; }

 private:
  explicit host_span(detail::shared_buffer b)
      : host_span(static_cast<std::byte*>(b.data), b.bytes, std::move(b.owner), b.space, b.device) {
    if (b.space == memory_space::device) refuse("host_span", "device memory: the host cannot touch it");
  }
};

/// Memory of somebody else's, as this runtime's: checked, and never freed by it. Copies are cheap.
class unowned_buffer {
 public:
  /// `bytes` at `data`, kept alive by `owner`, which may be null for memory that is looked after elsewhere. Throws
  /// error: null, a range that wraps around, memory that the driver does not know or that is another device's, and,
  /// where the driver can say how long the allocation is, a range that leaves it. O(1), a few calls of the driver.
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
