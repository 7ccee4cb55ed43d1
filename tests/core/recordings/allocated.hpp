#pragma once

#include <malloc.h>

#include <cstddef>

namespace sluice {

/// Bytes that this process has from malloc.
inline std::size_t allocated() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

}  // namespace sluice
