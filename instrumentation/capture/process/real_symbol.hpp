#pragma once

extern "C" {
/// The C library's dlsym; null before `find_real_dlsym`. For the assembly code of our replacement for dlsym.
extern __attribute__((visibility("hidden"))) void* sluice_real_dlsym;
}

namespace sluice::capture {

/// Sets `sluice_real_dlsym`. Any thread may call this at any time, even before a sanitizer's runtime is ready.
void find_real_dlsym() noexcept;

/// Function `name` of `library`, found by the C library's dlsym rather than our replacement for dlsym. Null if there is
/// none.
[[nodiscard]] void* real_symbol(void* library, const char* name) noexcept;

}  // namespace sluice::capture
