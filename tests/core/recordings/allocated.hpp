#pragma once

#include <malloc.h>

#include <cstddef>

namespace sluice {

/// The number of bytes that this process has allocated from malloc and not freed.
inline std::size_t allocated() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

}  // namespace sluice
