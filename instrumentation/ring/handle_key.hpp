#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::ring {

inline constexpr std::uint64_t handle_key_factor = 0x9E3779B97F4A7C15U;

/// The key of a `share_record`: a hash of the bytes of the handle that one process passes to another. Both processes
/// compute the same key. It is never 0. The top bit is always set, which distinguishes it from keys of file
/// descriptors.
[[nodiscard]] inline std::uint64_t key_of_handle(const void* handle, std::size_t bytes) {
  std::uint64_t key = bytes;
  const auto* at = static_cast<const unsigned char*>(handle);
  for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t), at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    key = (key ^ word) * handle_key_factor;
    key ^= key >> 29;
  }
  return key | (std::uint64_t{1} << 63);
}

}  // namespace sluice::ring
