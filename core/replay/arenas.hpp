#pragma once

#include <cstdint>
#include <vector>

#include "core/replay/recorded_events.hpp"

namespace sluice::replay {

/// Segments that were given back one after the other, without a request in between.
struct emptying {
  std::size_t event = 0;              ///< The position of the first in `recorded_events::events`.
  std::vector<std::uint32_t> given;   ///< Segments.
  std::vector<std::uint32_t> kept;    ///< Segments that were free and stayed.
  std::uint64_t reserved_before = 0;  ///< Bytes.
  std::uint64_t taken_next = 0;       ///< Bytes of the segment that was taken right after; 0: none was.
  bool refused = false;               ///< The driver had refused memory just before.
};

/// What explains that a free block was not taken.
enum class explanation : std::uint8_t {
  arenas,  ///< It belongs to another stream or pool.
  delays,  ///< Another stream still used it: it was free later than the program freed it.
};

inline constexpr std::uint32_t no_delay = ~std::uint32_t{0};

/// What follows from the places of recorded blocks.
struct inferred_arenas {
  /// For each block, the position of the event at which it really became free; `no_delay`: when it was freed, or never.
  std::vector<std::uint32_t> free_at;
  /// For each block, the least that may have been asked for, in bytes: less than its size if it took a free block whole.
  std::vector<std::uint64_t> least_asked;
  std::vector<std::uint16_t> of_segment;  ///< The arena of each segment.
  std::uint32_t count = 1;
  std::vector<emptying> emptyings;
  std::uint64_t peak_reserved = 0;  ///< Bytes.
  std::uint64_t peak_segments = 0;
  std::uint64_t driver_calls = 0;
};

/// Recordings rarely name the stream or the graph's pool of a block, so it is inferred. All segments of one size class
/// begin in one arena. Where the native allocator would have taken another free block than it did, or needed no new
/// segment, the two segments are of different arenas, and so are free segments of which one was given back and the
/// other was not. Arenas are then coloured greedily, in the order of the segments. O(events * log blocks), and up to
/// 256 steps more for each request that other arenas could have served. With `explanation::delays` there is one arena
/// for each size class, and blocks that were passed over become free when they are used again. Internal to core/replay.
[[nodiscard]] inferred_arenas infer_arenas(const recorded_events& of, explanation by);

}  // namespace sluice::replay
