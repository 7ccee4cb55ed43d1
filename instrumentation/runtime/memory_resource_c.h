#ifndef SLUICE_MEMORY_RESOURCE_C_H
#define SLUICE_MEMORY_RESOURCE_C_H

#include <stddef.h>
#include <stdint.h>

// A memory resource as a table of C functions, so that one can be handed across a C boundary: from a program in another
// language to vtable_memory_resource, and from any resource of the runtime to such a program (export_resource).

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_RESOURCE_VERSION 1u

/// All functions may be called from any thread, with `context` as it is here, and let nothing be thrown across them.
struct sluice_resource {
  uint32_t version;      ///< SLUICE_RESOURCE_VERSION
  uint32_t struct_size;  ///< sizeof(struct sluice_resource): later versions may only add to the end
  void* context;
  /// `bytes` > 0, aligned to `alignment` (a power of two), usable in the order of `stream` (a CUstream; null: the default
  /// stream). Null: there is no memory.
  void* (*allocate)(void* context, size_t bytes, size_t alignment, void* stream);
  /// Given up once the work enqueued on `stream` is done. `address` is never null; `bytes` and `alignment` as they were asked.
  void (*deallocate)(void* context, void* address, size_t bytes, size_t alignment, void* stream);
  /// Called once, when the resource is not used any more; may be null.
  void (*destroy)(void* context);
};

#ifdef __cplusplus
}
#endif

#endif
