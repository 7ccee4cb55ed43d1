#include "core/base/freed_memory.hpp"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace sluice {
void use_few_arenas() {
#ifdef __GLIBC__
  static_cast<void>(::mallopt(M_ARENA_MAX, 2));
#endif
}

void keep_freed_memory() {
#ifdef __GLIBC__
  // Setting either of these options disables the library's dynamic adjustment of both. See mallopt(3).
  static_cast<void>(::mallopt(M_TRIM_THRESHOLD, 16 << 20));
  static_cast<void>(::mallopt(M_MMAP_THRESHOLD, 32 << 20));
#endif
}

void give_freed_memory_back() {
#ifdef __GLIBC__
  static_cast<void>(::malloc_trim(0));
#endif
}

}  // namespace sluice
