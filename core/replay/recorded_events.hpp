#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/tables.hpp"

namespace sluice::replay {

/// A block of the framework as it was recorded.
struct recorded_block {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  trace::block_id id{};
  std::uint32_t segment = 0;  ///< A position in `recorded_events::segments`; `no_segment` if none is known.
};
inline constexpr std::uint32_t no_segment = ~std::uint32_t{0};

/// Memory that the framework's allocator took from the driver.
struct recorded_segment {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool mapped = false;    ///< A piece of an address space, mapped by the program.
  std::uint64_t key = 0;  ///< Segments with different keys never share requests: stream, pool, or address space.
};

/// A segment of the allocator in which no block began, as of a cache that is older than the recording.
struct empty_segment {
  std::uint64_t bytes = 0;
  trace::time_ns taken = 0;
  trace::time_ns given_back = trace::unknown_time;  ///< `unknown_time`: never.
};

enum class recorded_kind : std::uint8_t { segment_taken, allocated, freed, segment_given_back, refused };

struct recorded_event {
  trace::time_ns time = 0;
  std::uint64_t order = 0;  ///< The event's id: order among events of one time.
  recorded_kind what{};
  std::uint32_t at = 0;  ///< A position in `blocks` or `segments`.
};

/// What the recording says of one allocator: a device in a process.
struct recorded_events {
  trace::process_id process{};
  trace::device_id device{};
  std::vector<recorded_block> blocks;
  std::vector<recorded_segment> segments;
  std::vector<recorded_event> events;  ///< Sorted.
  std::vector<empty_segment> empty_segments;
};

/// Collects the events of the frameworks' allocators from indexes of sections, in order of time. Memory: about 80 bytes
/// for each block of a framework.
class recorded_events_builder {
 public:
  /// Gives up, and forgets all, when there are more blocks than `most_blocks`.
  explicit recorded_events_builder(std::uint64_t most_blocks = std::numeric_limits<std::uint64_t>::max());
  recorded_events_builder(const recorded_events_builder& other);  ///< The copy goes on alone.
  ~recorded_events_builder();
  recorded_events_builder& operator=(const recorded_events_builder&) = delete;

  /// Adds the blocks that are born or end in `run`. Each `run` begins where the one before ended. O(blocks).
  void add(const analysis::memory_use& memory, analysis::time_range run);
  /// True if there were more blocks than allowed.
  [[nodiscard]] bool gave_up() const;
  /// The allocators, by process and device; none if it gave up. Call once. O(blocks * log blocks).
  [[nodiscard]] std::vector<recorded_events> take(const trace::tables& tables);

 private:
  class state;
  std::unique_ptr<state> state_;
};

/// The allocators of frameworks in the recording, by process and device. O(blocks * log blocks).
[[nodiscard]] std::vector<recorded_events> recorded_allocators(const analysis::memory_use& memory,
                                                               const trace::tables& tables);

}  // namespace sluice::replay
