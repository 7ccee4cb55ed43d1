#include "core/base/freed_memory.hpp"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace sluice {
void keep_freed_memory() {
#ifdef __GLIBC__
  // Setting either option disables the library's dynamic adjustment of both. See mallopt(3).
  static_cast<void>(::mallopt(M_TRIM_THRESHOLD, 64 << 20));
  static_cast<void>(::mallopt(M_MMAP_THRESHOLD, 32 << 20));
#endif
}

}  // namespace sluice
