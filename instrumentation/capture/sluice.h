/* sluice.h: what a program may tell its recorder. C and C++, no library to link, nothing to build: under `sluice record` the
 * functions are found in the library that is loaded already; otherwise each call does nothing (one load and a branch).
 *
 *   sluice_step(-1);                                    a step begins (-1: the one after the last)
 *   sluice_push("forward"); ... sluice_pop();           a scope, nested by thread
 *   sluice_mark("loss was not finite");                 a point in time
 *   sluice_pause(); ... sluice_resume();                in between only memory and what you say yourself is recorded
 *   sluice_tag(weights, "weight", "layer1.weight");     what a block is, by any address in it
 *   sluice_block_alloc(p, bytes, device, "my pool");    a block of your own allocator, inside the driver's
 *   sluice_block_free(p);                               before its address may be given out again
 *
 * Categories: "weight", "gradient", "optimizer state", "activation", "input", "workspace". Either text of a tag may be null.
 * All calls may be made from any thread. */
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
    if (found == NULL) found = (void*)kept; /* Looked for, and not there. */
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

/** 1 while this process is recorded, else 0. */
static inline int sluice_recording(void) {
  typedef int (*type)(void);
  int answer = 0;
  SLUICE_CALL_("sluice_recording", type, answer = function())
  return answer;
}
/** Step `number` begins, counted from 0; -1: the one after the last. */
static inline void sluice_step(int64_t number) {
  typedef void (*type)(int64_t);
  SLUICE_CALL_("sluice_step", type, function(number))
}
/** No copies, kernels and waits are recorded until `sluice_resume`; allocations and frees are. */
static inline void sluice_pause(void) {
  typedef void (*type)(void);
  SLUICE_CALL_("sluice_pause", type, function())
}
static inline void sluice_resume(void) {
  typedef void (*type)(void);
  SLUICE_CALL_("sluice_resume", type, function())
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
/** `device` is CUDA's number for it. */
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
