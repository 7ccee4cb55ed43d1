#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

/// The alignment, in bytes, if the caller does not specify an alignment.
inline constexpr std::size_t default_alignment = 256;
/// The largest alignment that allocate() accepts, in bytes. The driver and the pools always align at least this much.
inline constexpr std::size_t greatest_alignment = 512;

/// The requirements for a memory resource. Allocation and deallocation are stream-ordered: work
/// enqueued on the stream after `allocate` may use the memory, and the memory is freed once the
/// work enqueued before `deallocate` is done. Memory from `allocate_sync` is usable on every
/// stream immediately. Allocating 0 bytes returns a null pointer, which may be deallocated.
template <class R>
concept stream_ordered_resource = requires(R& r, const stream_ref& s, void* p, std::size_t n) {
  { r.allocate(s, n, n) } -> std::same_as<void*>;
  { r.deallocate(s, p, n, n) }
  noexcept->std::same_as<void>;
  { r.allocate_sync(n, n) } -> std::same_as<void*>;
  { r.deallocate_sync(p, n, n) }
  noexcept->std::same_as<void>;
  { r.space() }
  noexcept->std::same_as<memory_space>;
  { r.device() }
  noexcept->std::same_as<const device_ref&>;
};

/// The common base of all memory resources, so that buffers need not be templates. It is thread-safe, like all
/// resources here.
class memory_resource {
 public:
  explicit memory_resource(const device_ref& device, memory_space space) : device_(device), space_(space) {}
  virtual ~memory_resource() = default;
  memory_resource(const memory_resource&) = delete;
  memory_resource& operator=(const memory_resource&) = delete;

  /// Allocates `bytes` bytes, aligned to `alignment` bytes (a power of two, at most 512).
  /// Throws out_of_memory, or error (also if the resource returns a misaligned address).
  [[nodiscard]] void* allocate(const stream_ref& stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    // This avoids std::has_single_bit, which compiles to a slow call because the baseline CPU has no popcount
    // instruction.
    const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (!power_of_two || alignment > greatest_alignment) [[unlikely]]
      refuse_alignment(alignment);
    if (bytes == 0) return nullptr;
    void* const address = do_allocate(stream, bytes);
    if ((reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) != 0) [[unlikely]]
      refuse_address(stream, address, bytes, alignment);
    return address;
  }
  /// Frees memory. `bytes` and `alignment` must be those passed to `allocate`. The stream may differ if the caller has
  /// ordered the two streams. During a capture, the memory may be freed later: see `graph_capture`.
  void deallocate(const stream_ref& stream, void* address, std::size_t bytes,
                  std::size_t /*alignment*/ = default_alignment) noexcept {
    if (address != nullptr) do_deallocate(stream, address, bytes);
  }

  /// Like `allocate`, but usable on every stream. May wait for the default stream, and throws the errors of that wait.
  [[nodiscard]] void* allocate_sync(std::size_t bytes, std::size_t alignment = default_alignment);
  /// Frees memory without waiting for other streams. The caller must ensure that no work still uses it.
  void deallocate_sync(void* address, std::size_t bytes, std::size_t alignment = default_alignment) noexcept;

  /// The kind of memory that the resource allocates.
  [[nodiscard]] memory_space space() const noexcept { return space_; }
  [[nodiscard]] const device_ref& device() const noexcept { return device_; }

 protected:
  /// Called with `bytes` > 0 only.
  [[nodiscard]] virtual void* do_allocate(const stream_ref& stream, std::size_t bytes) = 0;
  virtual void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept = 0;
  /// True if new memory is only usable in stream order; false if every stream may use it immediately.
  [[nodiscard]] virtual bool ordered() const noexcept { return true; }

 private:
  [[noreturn]] static void refuse_alignment(std::size_t alignment);
  /// Returns a misaligned block from `do_allocate` to the resource, then throws.
  [[noreturn]] void refuse_address(const stream_ref& stream, void* address, std::size_t bytes, std::size_t alignment);

  device_ref device_;
  memory_space space_;
};
static_assert(stream_ordered_resource<memory_resource>);

/// Shared ownership of a resource. Each buffer has one of these pointers, so a resource outlives its memory.
using resource_ptr = std::shared_ptr<memory_resource>;

/// Device memory directly from the driver (cuMemAlloc). Freeing waits for the device.
class device_memory_resource final : public memory_resource {
 public:
  explicit device_memory_resource(const device_ref& device = current_device())
      : memory_resource(device, memory_space::device) {}

 protected:
  [[nodiscard]] bool ordered() const noexcept override { return false; }
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;
};

/// Device memory from the driver's default stream-ordered pool (cuMemAllocAsync).
class async_memory_resource final : public memory_resource {
 public:
  explicit async_memory_resource(const device_ref& device = current_device())
      : memory_resource(device, memory_space::device) {}

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;
};

/// Page-locked host memory (cuMemHostAlloc) with the given flags. By default, all devices can access it.
class pinned_memory_resource final : public memory_resource {
 public:
  explicit pinned_memory_resource(const device_ref& device = current_device(), backend::pinned_flags flags = {})
      : memory_resource(device, memory_space::pinned), flags_(flags) {}

 protected:
  [[nodiscard]] bool ordered() const noexcept override { return false; }
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  backend::pinned_flags flags_;
};

/// Managed memory (cuMemAllocManaged).
class managed_memory_resource final : public memory_resource {
 public:
  explicit managed_memory_resource(const device_ref& device = current_device())
      : memory_resource(device, memory_space::managed) {}

 protected:
  [[nodiscard]] bool ordered() const noexcept override { return false; }
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;
};

static_assert(stream_ordered_resource<device_memory_resource>);
static_assert(stream_ordered_resource<async_memory_resource>);
static_assert(stream_ordered_resource<pinned_memory_resource>);
static_assert(stream_ordered_resource<managed_memory_resource>);

// --- the current resource

/// The resource that device buffers of the calling thread use by default: the resource of the innermost
/// scoped_resource for this device, or else the device's own (initially a device_memory_resource).
[[nodiscard]] resource_ptr current_resource(const device_ref& device = current_device());
/// Sets the device's resource for all threads and returns the previous resource. Null restores the initial
/// resource. Throws error, and changes nothing, if the resource is for another device or allocates pinned memory.
resource_ptr set_current_resource(const device_ref& device, resource_ptr resource);

/// The default resource for page-locked host memory, initially a pinned_memory_resource.
[[nodiscard]] resource_ptr current_pinned_resource(const device_ref& device = current_device());
/// Sets the default resource for page-locked memory and returns the previous resource. Null restores the initial
/// resource. Throws error if the resource allocates other memory.
resource_ptr set_current_pinned_resource(const device_ref& device, resource_ptr resource);

/// Sets the calling thread's resource for a scope, on the resource's device. It replaces `current_resource`, or, if it
/// allocates pinned memory, `current_pinned_resource`. Scopes nest. Each restores the previous resource, also after an
/// exception. A scope must be destroyed on the thread that created it.
class scoped_resource {
 public:
  /// Throws error if `resource` is null.
  explicit scoped_resource(resource_ptr resource);
  ~scoped_resource();
  scoped_resource(const scoped_resource&) = delete;
  scoped_resource& operator=(const scoped_resource&) = delete;
};

}  // namespace sluice::runtime
