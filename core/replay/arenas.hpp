#pragma once

#include <cstdint>
#include <vector>

#include "core/replay/recorded_events.hpp"

namespace sluice::replay {

/// A series of segments that were released one after another, without a request in between.
struct emptying {
  std::size_t event = 0;              ///< The position of the first release in `recorded_events::events`.
  std::vector<std::uint32_t> given;   ///< The segments that were released.
  std::vector<std::uint32_t> kept;    ///< The segments that were free but were not released.
  std::uint64_t reserved_before = 0;  ///< Bytes that were reserved before the releases.
  std::uint64_t taken_next = 0;       ///< The size of the segment that was taken right afterwards, in bytes; 0: no
                                      ///< segment was taken.
  bool refused = false;               ///< True if the driver had just refused to provide memory.
};

/// The assumed reason why a free block was not used.
enum class explanation : std::uint8_t {
  arenas,  ///< The block belongs to another stream or pool.
  delays,  ///< Another stream was still using the block, so it became free later than when the program freed it.
};

inline constexpr std::uint32_t no_delay = ~std::uint32_t{0};

/// The arenas of recorded blocks, and other facts that the addresses of the blocks imply.
struct inferred_arenas {
  /// For each block, the position of the event at which it really became free. `no_delay`: it became free when the
  /// program freed it, or never.
  std::vector<std::uint32_t> free_at;
  /// For each block, the smallest size that may have been requested, in bytes. This size is less than the size of the
  /// block if the block took a whole free block.
  std::vector<std::uint64_t> min_asked;
  std::vector<std::uint16_t> of_segment;  ///< The arena of each segment.
  std::uint32_t count = 1;
  std::vector<emptying> emptyings;
  std::uint64_t peak_reserved = 0;  ///< In bytes.
  std::uint64_t peak_segments = 0;
  std::uint64_t driver_calls = 0;
};

/// Infers the arenas of blocks, because recordings rarely name the stream or graph pool of a block. At first, all
/// segments of one size class are in the same arena. If the native allocator would have taken another free block than
/// the recorded block, or would not have needed a new segment, the two segments involved must be in different arenas.
/// The same is true for two free segments if only one of them was released. The arenas are then coloured greedily, in
/// the order of the segments. O(events * log blocks), plus up to 256 steps for each request that other arenas could
/// have served. With `explanation::delays`, there is one arena per size class. Blocks that were not used, although they
/// fit, then become free when they are next used. Internal to core/replay.
[[nodiscard]] inferred_arenas infer_arenas(const recorded_events& events, explanation by);

}  // namespace sluice::replay
