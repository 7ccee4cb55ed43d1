#include "instrumentation/capture/process/real_symbol.hpp"

#include <dlfcn.h>

extern "C" {
void* sluice_real_dlsym = nullptr;
}

namespace sluice::capture {

__attribute__((no_sanitize("address", "thread", "undefined"))) void find_real_dlsym() noexcept {
  // This is the oldest version, which every glibc for this processor has.
  if (sluice_real_dlsym == nullptr) sluice_real_dlsym = ::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
}

void* real_symbol(void* library, const char* name) noexcept {
  find_real_dlsym();
  return sluice_real_dlsym == nullptr
             ? nullptr
             : reinterpret_cast<void* (*)(void*, const char*)>(sluice_real_dlsym)(library, name);
}

}  // namespace sluice::capture
