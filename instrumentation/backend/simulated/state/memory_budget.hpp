#pragma once

#include <cstdint>

#include "instrumentation/backend/device_types.hpp"

namespace sluice::backend::simulated {

/// Counts the bytes of device memory in use: plain and physical blocks, managed memory on the device, live memory of
/// graphs, segments of driver pools, and the driver's own context. Not thread-safe: the device's lock guards it.
class memory_budget {
 public:
  memory_budget(std::uint64_t total_bytes, std::uint64_t context_bytes) noexcept
      : total_bytes_(total_bytes), used_bytes_(context_bytes) {}

  /// Counts `bytes` as used. The caller has checked that they are free.
  void take(std::uint64_t bytes) noexcept { used_bytes_ += bytes; }
  void give_back(std::uint64_t bytes) noexcept { used_bytes_ -= bytes; }
  [[nodiscard]] memory_info info() const noexcept;

 private:
  std::uint64_t total_bytes_;
  std::uint64_t used_bytes_;
};

}  // namespace sluice::backend::simulated
