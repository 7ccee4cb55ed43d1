#pragma once

#include <cstdint>

namespace sample {

/// An address that `outer` returns to, inside `inner`, which is inlined into it.
__attribute__((visibility("default"))) std::uintptr_t outer(int depth);

/// A function that only the symbol table of a stripped library still names.
__attribute__((visibility("default"))) int exported(int value);

}  // namespace sample

/// Named as the CUDA runtime's own functions are where it is linked statically.
extern "C" __attribute__((visibility("default"))) int libcudart_static_0123abcd(int value);
