#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

/// The alignment every resource gives without being asked, in bytes.
inline constexpr std::size_t default_alignment = 256;
/// No resource here gives less than this: the driver's own granule and the pools'.
inline constexpr std::size_t greatest_alignment = 512;

/// What every memory resource can do. Allocation and deallocation are ordered on a stream: the memory may be used by
/// work enqueued on that stream after `allocate` returns, and is given up once the work enqueued before `deallocate`
/// is done. The synchronous form is usable on every stream at once. `bytes` 0 gives a null pointer, which may be
/// deallocated.
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

/// A resource behind one type, so that buffers need not be templates. Thread-safe, as all resources here are.
class memory_resource {
 public:
  explicit memory_resource(const device_ref& device, memory_space space) : device_(device), space_(space) {}
  virtual ~memory_resource() = default;
  memory_resource(const memory_resource&) = delete;
  memory_resource& operator=(const memory_resource&) = delete;

  /// `bytes` of memory, aligned to `alignment` bytes (a power of two, at most 512). Throws out_of_memory, error; error also
  /// for a resource that does not keep to the alignment.
  [[nodiscard]] void* allocate(const stream_ref& stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    // By hand: where no processor with an instruction for it may be assumed, std::has_single_bit is a call that counts bits.
    const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (!power_of_two || alignment > greatest_alignment) [[unlikely]]
      refuse_alignment(alignment);
    if (bytes == 0) return nullptr;
    void* const address = do_allocate(stream, bytes);
    if ((reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) != 0) [[unlikely]]
      refuse_address(stream, address, bytes, alignment);
    return address;
  }
  /// `bytes` and `alignment` as in `allocate`; the stream may be another, if the caller has ordered the two. In a capture the
  /// memory may go later: see `graph_capture`.
  void deallocate(const stream_ref& stream, void* address, std::size_t bytes,
                  std::size_t /*alignment*/ = default_alignment) noexcept {
    if (address != nullptr) do_deallocate(stream, address, bytes);
  }

  /// As `allocate`; waits for the default stream where fresh memory is not every stream's at once, and throws what that throws.
  [[nodiscard]] void* allocate_sync(std::size_t bytes, std::size_t alignment = default_alignment);
  /// Waits for nothing: the caller has made sure that no work uses the memory.
  void deallocate_sync(void* address, std::size_t bytes, std::size_t alignment = default_alignment) noexcept;

  [[nodiscard]] memory_space space() const noexcept { return space_; }
  [[nodiscard]] const device_ref& device() const noexcept { return device_; }

 protected:
  /// `bytes` > 0.
  [[nodiscard]] virtual void* do_allocate(const stream_ref& stream, std::size_t bytes) = 0;
  virtual void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept = 0;
  /// False if fresh memory may be used on every stream at once.
  [[nodiscard]] virtual bool ordered() const noexcept { return true; }

 private:
  [[noreturn]] static void refuse_alignment(std::size_t alignment);
  /// What `do_allocate` gave goes back.
  [[noreturn]] void refuse_address(const stream_ref& stream, void* address, std::size_t bytes, std::size_t alignment);

  device_ref device_;
  memory_space space_;
};
static_assert(stream_ordered_resource<memory_resource>);

/// A shared handle to a resource; buffers hold one, so a resource lives as long as its memory.
using resource_ptr = std::shared_ptr<memory_resource>;

/// Device memory straight from the driver (cuMemAlloc); frees wait for the device.
class device_memory_resource final : public memory_resource {
 public:
  explicit device_memory_resource(const device_ref& device = current_device())
      : memory_resource(device, memory_space::device) {}

 protected:
  [[nodiscard]] bool ordered() const noexcept override { return false; }
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;
};

/// Device memory from the driver's stream-ordered pool (cuMemAllocAsync).
class async_memory_resource final : public memory_resource {
 public:
  explicit async_memory_resource(const device_ref& device = current_device())
      : memory_resource(device, memory_space::device) {}

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;
};

/// Page-locked host memory (cuMemHostAlloc), made with `flags`; by default reachable from every device.
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

/// The resource that the calling thread's device buffers use unless told otherwise: that of its innermost scoped_resource for the
/// device, else the device's, which is a device_memory_resource at first.
[[nodiscard]] resource_ptr current_resource(const device_ref& device = current_device());
/// Replaces the device's, for all threads; returns the one before. Null goes back to the first. Throws error, and changes nothing, for
/// a resource of another device or one of pinned memory.
resource_ptr set_current_resource(const device_ref& device, resource_ptr resource);

/// The same for page-locked host memory, which is a pinned_memory_resource at first; error for any other memory.
[[nodiscard]] resource_ptr current_pinned_resource(const device_ref& device = current_device());
resource_ptr set_current_pinned_resource(const device_ref& device, resource_ptr resource);

/// Makes a resource the calling thread's own for a scope, on the resource's device: in place of `current_resource`, or, if it
/// gives pinned memory, of `current_pinned_resource`. Scopes nest; each restores what was before, also when an exception ends
/// it. Must end on the thread that it began on.
class scoped_resource {
 public:
  /// Throws error if `resource` is null.
  explicit scoped_resource(resource_ptr resource);
  ~scoped_resource();
  scoped_resource(const scoped_resource&) = delete;
  scoped_resource& operator=(const scoped_resource&) = delete;
};

}  // namespace sluice::runtime
