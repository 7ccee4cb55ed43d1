/* sluice.h: lets a program describe itself to the recorder. It is for C and C++, and there is no library to link
 * or build. Under `sluice record`, the functions are found in the preloaded library. Otherwise, each call only costs a
 * load and a branch.
 *
 *   sluice_step(-1);                                    begins a step (-1: the last step's number plus 1)
 *   sluice_push("forward"); ... sluice_pop();           a scope; scopes nest, per thread
 *   sluice_mark("loss was not finite");                 marks a point in time
 *   sluice_pause(); ... sluice_resume();                in between, only memory and sluice_* calls are recorded
 *   sluice_pause_sampling(); ... sluice_resume_sampling();   in between, host threads are not sampled
 *   sluice_tag(weights, "weight", "layer1.weight");     names a block's content; any address in the block works
 *   sluice_block_alloc(p, bytes, device, "my pool");    a block of your own allocator, inside the driver's
 *   sluice_block_free(p);                               call this before the address can be reused
 *
 * Categories: "weight", "gradient", "optimizer state", "activation", "input", "workspace".
 * Both texts of a tag may be null. All functions may be called from any thread. */
#ifndef SLUICE_H
#define SLUICE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void* sluice_find_once_(void** kept, const char* name) {
  void* found = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
  if (found == NULL) {
    found = dlsym(NULL, name);              /* RTLD_DEFAULT */
    if (found == NULL) found = (void*)kept; /* Searched, but not found. */
    __atomic_store_n(kept, found, __ATOMIC_RELEASE);
  }
  return found == (void*)kept ? NULL : found;
}

#define SLUICE_CALL_(symbol, type, call)                  \
  static void* kept = NULL;                               \
  void* const found = sluice_find_once_(&kept, symbol);   \
  if (found != NULL) {                                    \
    type function;                                        \
    __builtin_memcpy(&function, &found, sizeof function); \
    call;                                                 \
  }

/** Returns 1 while this process is recorded, else 0. */
static inline int sluice_recording(void) {
  typedef int (*type)(void);
  int result = 0;
  SLUICE_CALL_("sluice_recording", type, result = function())
  return result;
}
/** Begins step `number`, counted from 0; -1 means the last step's number plus 1. */
static inline void sluice_step(int64_t number) {
  typedef void (*type)(int64_t);
  SLUICE_CALL_("sluice_step", type, function(number))
}
/** Stops recording copies, kernels and waits, and sampling host threads, until `sluice_resume`. Allocations and frees
 * are still recorded. */
static inline void sluice_pause(void) {
  typedef void (*type)(void);
  SLUICE_CALL_("sluice_pause", type, function())
}
static inline void sluice_resume(void) {
  typedef void (*type)(void);
  SLUICE_CALL_("sluice_resume", type, function())
}
/** Stops sampling this process's host threads until `sluice_resume_sampling`; all else is recorded. Both take effect
 * within 0.1 s. A second pause does nothing. The pause is shown as time without samples, not as time in which threads
 * wait. A child of fork is sampled until it pauses itself. To sample only a part of a program, pause at its start. */
static inline void sluice_pause_sampling(void) {
  typedef void (*type)(void);
  SLUICE_CALL_("sluice_pause_sampling", type, function())
}
static inline void sluice_resume_sampling(void) {
  typedef void (*type)(void);
  SLUICE_CALL_("sluice_resume_sampling", type, function())
}
static inline void sluice_mark(const char* name) {
  typedef void (*type)(const char*);
  SLUICE_CALL_("sluice_mark", type, function(name))
}
static inline void sluice_push(const char* name) {
  typedef void (*type)(const char*);
  SLUICE_CALL_("sluice_push", type, function(name))
}
static inline void sluice_pop(void) {
  typedef void (*type)(void);
  SLUICE_CALL_("sluice_pop", type, function())
}
static inline void sluice_tag(const void* address, const char* category, const char* name) {
  typedef void (*type)(const void*, const char*, const char*);
  SLUICE_CALL_("sluice_tag", type, function(address, category, name))
}
/** Records that your own allocator has allocated a block. `device` is CUDA's device number. */
static inline void sluice_block_alloc(const void* address, size_t bytes, int device, const char* allocator) {
  typedef void (*type)(const void*, size_t, int, const char*);
  SLUICE_CALL_("sluice_block_alloc", type, function(address, bytes, device, allocator))
}
static inline void sluice_block_free(const void* address) {
  typedef void (*type)(const void*);
  SLUICE_CALL_("sluice_block_free", type, function(address))
}

#ifdef __cplusplus
}
#endif
#endif
