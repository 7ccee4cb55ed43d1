#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/error.hpp"

namespace sluice::remote {

/// How much of this machine's disk the copies of one recording may take. A server can send without end, and say that any
/// size is to come: only what has come takes room.
struct copy_limits {
  /// Bytes of all copies together. A training takes 1.5 bytes an event (tests/bench/README.md): some 40 billion events.
  /// A viewer opens the file of a longer recording by its path.
  std::uint64_t most_bytes = std::uint64_t{64} << 30;
  /// Bytes that stay free on the disk, for the recorder and everybody else, if its twentieth part is not less: a full
  /// disk loses the work of others, and a twentieth is what ext4 keeps for root.
  std::uint64_t most_reserve = std::uint64_t{1} << 30;
};

/// Counts what copies take. Thread-safe.
class copy_room {
 public:
  explicit copy_room(const copy_limits& limits) : limits_(limits) {}
  copy_room(const copy_room&) = delete;
  copy_room& operator=(const copy_room&) = delete;

  /// Sets `bytes` aside, which are then written to the open file `descriptor`. Errors: no_space, if that would be more
  /// than the limits allow. Nothing is set aside then.
  [[nodiscard]] result<void> take(int descriptor, std::uint64_t bytes);
  /// So many bytes were not written, or are there no more.
  void give_back(std::uint64_t bytes) { taken_ -= bytes; }

 private:
  const copy_limits limits_;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace sluice::remote
