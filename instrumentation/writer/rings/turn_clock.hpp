#pragma once

#include <cstdint>

namespace sluice::writer {

/// Limits how long the writer waits for records that may never arrive. In a real recording, it counts turns of the
/// drain loop; in a simulated recording, records, so that equal runs make equal files.
struct turn_clock {
  std::uint64_t turns = 0;
  std::uint64_t records = 0;
  bool simulated = false;

  static constexpr std::uint64_t max_turns = 25;  ///< Half a second at 20 ms per turn.
  static constexpr std::uint64_t max_records = 64;

  /// True if a wait that began at `start` has lasted long enough and should end.
  [[nodiscard]] constexpr bool is_over(const turn_clock& start, std::uint64_t turns_to_wait = max_turns) const {
    return simulated ? records - start.records > max_records : turns - start.turns > turns_to_wait;
  }
};

}  // namespace sluice::writer
