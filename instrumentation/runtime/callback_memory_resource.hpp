#pragma once

#include <functional>

#include "instrumentation/runtime/memory_resource.hpp"
#include "instrumentation/runtime/memory_resource_c.h"

// Resources made of functions.

namespace sluice::runtime {

/// A resource made of any pair of callables. Both are needed: memory comes back to whoever gave it. What it gives out is no block
/// of the recording's own: put a pool over it, or buffers in it.
class callback_memory_resource final : public memory_resource {
 public:
  /// Memory for `bytes` > 0, usable in the order of the stream and aligned to `default_alignment`; null: there is none. It may
  /// throw, which goes to the caller.
  using allocate_function = std::function<void*(std::size_t bytes, const stream_ref& stream)>;
  /// Takes back what the other gave, once the work enqueued on the stream is done. Must not throw.
  using deallocate_function = std::function<void(void* address, std::size_t bytes, const stream_ref& stream)>;

  /// Both may be called by several threads at once. Throws error if either is empty.
  callback_memory_resource(const device_ref& device, memory_space space, allocate_function allocate,
                           deallocate_function deallocate);

 protected:
  /// Throws out_of_memory for null, and error for an `allocate` that allocates from this resource itself, which would never end.
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
  /// Copies the table. Throws error for a version that it does not know, and for missing functions; then `destroy` is not
  /// called.
  vtable_memory_resource(const device_ref& device, memory_space space, const sluice_resource& table);
  ~vtable_memory_resource() override;

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  sluice_resource table_;
};
static_assert(stream_ordered_resource<vtable_memory_resource>);

/// A resource as a table of C functions. It holds the resource until its `destroy` is called. Its functions throw nothing: what
/// fails is null.
[[nodiscard]] sluice_resource export_resource(resource_ptr resource);

}  // namespace sluice::runtime
