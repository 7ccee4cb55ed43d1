#ifndef SLUICE_MEMORY_RESOURCE_C_H
#define SLUICE_MEMORY_RESOURCE_C_H

#include <stddef.h>
#include <stdint.h>

// A memory resource as a table of C functions. Such a table passes a resource across a C boundary, either from a
// program in another language to the runtime (vtable_memory_resource), or from the runtime to that program
// (export_resource).

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_RESOURCE_VERSION 1u

/// All functions may be called from any thread, get `context` as their first argument, and must not throw.
struct sluice_resource {
  uint32_t version;      ///< SLUICE_RESOURCE_VERSION
  uint32_t struct_size;  ///< sizeof(struct sluice_resource); later versions only append members
  void* context;
  /// Allocates `bytes` (> 0), aligned to `alignment` (a power of two), usable in the order
  /// of `stream` (a CUstream; null: the default stream). Returns null if there is no memory.
  void* (*allocate)(void* context, size_t bytes, size_t alignment, void* stream);
  /// Frees memory once the work enqueued on `stream` is done. `address` is not null; `bytes` and `alignment` are those
  /// passed to `allocate`.
  void (*deallocate)(void* context, void* address, size_t bytes, size_t alignment, void* stream);
  /// Called once, when the resource is no longer used. May be null.
  void (*destroy)(void* context);
};

#ifdef __cplusplus
}
#endif

#endif
