#pragma once

#include <cstddef>

namespace sluice::collector {

/// Makes a memory file (memfd) of `bytes` zeros with fixed size and allocated pages: accesses cannot fail. Returns its
/// descriptor, which the caller closes; -1: see errno (EFBIG: the program's file size limit is smaller).
[[nodiscard]] int make_memory_file(std::size_t bytes) noexcept;

}  // namespace sluice::collector
