#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/error.hpp"

namespace sluice::remote {

/// Limits the disk space for the copies of one recording. A server can send data without end and announce any size, so
/// there must be a limit, and only received bytes count.
struct copy_limits {
  /// The most bytes of all copies together. The recording of a training takes 1.5 bytes per event
  /// (tests/bench/README.md), so this limit allows some 40 billion events. A longer recording can be viewed by opening
  /// its file by path.
  std::uint64_t max_bytes = std::uint64_t{64} << 30;
  /// The bytes to leave free on the disk, or a twentieth of the disk if that is less. On a full disk, the recorder and
  /// other programs would lose data. A twentieth is also what ext4 reserves for root.
  std::uint64_t max_reserve = std::uint64_t{1} << 30;
};

/// Counts the bytes of all copies of one recording, and enforces the limits. Thread-safe.
class copy_room {
 public:
  explicit copy_room(const copy_limits& limits) : limits_(limits) {}
  copy_room(const copy_room&) = delete;
  copy_room& operator=(const copy_room&) = delete;

  /// Reserves `bytes` that are about to be written to the open file `descriptor`. Errors: no_space if they exceed the
  /// limits. In this case, nothing is reserved.
  [[nodiscard]] result<void> take(int descriptor, std::uint64_t bytes);
  /// Releases reserved bytes that were not written, or that were deleted.
  void give_back(std::uint64_t bytes) { taken_ -= bytes; }

 private:
  const copy_limits limits_;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace sluice::remote
