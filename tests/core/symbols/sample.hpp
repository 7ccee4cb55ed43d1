#pragma once

#include <cstdint>

namespace sample {

/// Returns a return address in `outer`, within the inlined function `inner`.
__attribute__((visibility("default"))) std::uintptr_t outer(int depth);

/// A function whose name, in a stripped library, is only in the dynamic symbol table.
__attribute__((visibility("default"))) int exported(int value);

}  // namespace sample

/// Named like the CUDA runtime's own functions when it is linked statically.
extern "C" __attribute__((visibility("default"))) int libcudart_static_0123abcd(int value);
