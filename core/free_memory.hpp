#pragma once

#include <cstdint>
#include <string>

namespace sluice {

/// Bytes of memory that this process may still take without anybody being swapped out or killed: what the machine has, or the rest of the
/// control group's limit if that is less. UINT64_MAX where the system does not say. Reads /proc and /sys.
[[nodiscard]] std::uint64_t free_memory_bytes();

/// The same from files that lie under `root`; for tests.
[[nodiscard]] std::uint64_t free_memory_bytes(const std::string& root);

}  // namespace sluice
