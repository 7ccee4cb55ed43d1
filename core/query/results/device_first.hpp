#pragma once

#include <cstdint>

#include "core/index/memory/memory_use.hpp"

namespace sluice::query {

/// True if memory of this kind is listed before larger host memory: it is device memory, and its `peak` is at least a
/// hundredth of `largest`, the highest peak of any memory. Both are in bytes.
[[nodiscard]] constexpr bool goes_first(trace::memory_kind kind, std::uint64_t peak, std::uint64_t largest) {
  return index::is_device_resident(kind) && peak >= largest / 100;
}

}  // namespace sluice::query
