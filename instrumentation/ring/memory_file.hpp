#pragma once

#include <cstddef>

namespace sluice::ring {

/// Makes a memory file (memfd) of `bytes` zeros. Its size is fixed and its pages are allocated, so accesses cannot
/// fail. Returns its descriptor, which the caller closes. On failure, returns -1 and sets errno (EFBIG: the program's
/// limit on file sizes is below `bytes`).
[[nodiscard]] int make_memory_file(std::size_t bytes) noexcept;

}  // namespace sluice::ring
