#pragma once

#include <cstdint>

#include "core/index/memory/memory_use.hpp"

namespace sluice::query {

/// True if memory of a device is to be shown before larger memory of the host: it has at least a hundredth of `largest`,
/// the highest peak of all, in bytes.
[[nodiscard]] constexpr bool goes_first(trace::memory_kind kind, std::uint64_t peak, std::uint64_t largest) {
  return analysis::is_device_resident(kind) && peak >= largest / 100;
}

}  // namespace sluice::query
