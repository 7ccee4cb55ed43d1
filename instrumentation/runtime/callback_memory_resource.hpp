#pragma once

#include <functional>

#include "instrumentation/runtime/memory_resource.hpp"
#include "instrumentation/runtime/memory_resource_c.h"

// Memory resources whose allocate and deallocate functions are supplied by the caller.

namespace sluice::runtime {

/// A resource made of two callables. Both are required, because memory must return to its source. A recording does not
/// contain these allocations themselves. To record them, allocate through a pool or buffers on top of this resource.
class callback_memory_resource final : public memory_resource {
 public:
  /// Returns `bytes` (> 0) of memory, usable in the stream's order and aligned to `default_alignment`;
  /// null if there is no memory. May throw; the caller of allocate() gets the exception.
  using allocate_function = std::function<void*(std::size_t bytes, const stream_ref& stream)>;
  /// Frees memory from allocate_function once the work that is enqueued on the stream is done. Must not throw.
  using deallocate_function = std::function<void(void* address, std::size_t bytes, const stream_ref& stream)>;

  /// Both functions must be thread-safe, because several threads may call them at the same time. Throws error if either
  /// is empty.
  callback_memory_resource(const device_ref& device, memory_space space, allocate_function allocate,
                           deallocate_function deallocate);

 protected:
  /// Throws out_of_memory if the callable returns null, and error if the callable allocates from this resource (which
  /// would recurse endlessly).
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  allocate_function allocate_;
  deallocate_function deallocate_;
};
static_assert(stream_ordered_resource<callback_memory_resource>);

/// A resource made of a table of C functions.
class vtable_memory_resource final : public memory_resource {
 public:
  /// Copies the table. Throws error for an unknown version or for
  /// missing functions; `destroy` is not called in that case.
  vtable_memory_resource(const device_ref& device, memory_space space, const sluice_resource& table);
  ~vtable_memory_resource() override;

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  sluice_resource table_;
};
static_assert(stream_ordered_resource<vtable_memory_resource>);

/// Exports a resource as a table of C functions. The table keeps the resource alive until
/// `destroy` is called. The functions do not throw; a failed allocation returns null.
[[nodiscard]] sluice_resource export_resource(resource_ptr resource);

}  // namespace sluice::runtime
