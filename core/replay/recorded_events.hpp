#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/tables.hpp"

namespace sluice::replay {

/// A block of the framework, as recorded.
struct recorded_block {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  trace::block_id id{};
  std::uint32_t segment = 0;  ///< A position in `recorded_events::segments`; `no_segment` if the segment is unknown.
};
inline constexpr std::uint32_t no_segment = ~std::uint32_t{0};

/// Memory that the framework's allocator took from the driver.
struct recorded_segment {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool mapped = false;    ///< True if the segment is a piece of an address space that the program mapped.
  std::uint64_t key = 0;  ///< Identifies the stream, pool or address space. No request can be served from segments with
                          ///< different keys.
};

/// A segment in which no block was allocated, for example a cache that existed before the recording.
struct empty_segment {
  std::uint64_t bytes = 0;
  trace::time_ns taken = 0;
  trace::time_ns given_back = trace::unknown_time;  ///< `unknown_time` if the segment was never released.
};

/// The kind of a `recorded_event`.
enum class recorded_kind : std::uint8_t { segment_taken, allocated, freed, segment_given_back, refused };

/// A segment or block that was taken, allocated, freed or released, or a refused request.
struct recorded_event {
  trace::time_ns time = 0;
  std::uint64_t order = 0;  ///< The id of the event, by which events with the same time are ordered.
  recorded_kind kind{};
  std::uint32_t at = 0;  ///< A position in `recorded_events::blocks` or `recorded_events::segments`, depending on
                         ///< `what`.
};

/// The recorded events of one allocator, which serves one device in one process.
struct recorded_events {
  trace::process_id process{};
  trace::device_id device{};
  std::vector<recorded_block> blocks;
  std::vector<recorded_segment> segments;
  std::vector<recorded_event> events;  ///< Sorted by time and order.
  std::vector<empty_segment> empty_segments;
};

/// Collects the events of framework allocators, section by section, in order of time. Takes about 80 bytes of memory
/// per framework block.
class recorded_events_builder {
 public:
  /// If there are more blocks than `max_blocks`, the builder gives up and discards everything.
  explicit recorded_events_builder(std::uint64_t max_blocks = std::numeric_limits<std::uint64_t>::max());
  recorded_events_builder(const recorded_events_builder& other);  ///< The copy is independent.
  ~recorded_events_builder();
  recorded_events_builder& operator=(const recorded_events_builder&) = delete;

  /// Adds the blocks that were allocated or freed in `run`. Each `run` must begin where the previous `run` ended.
  /// O(blocks).
  void add(const index::memory_use& memory, time_range run);
  /// True if there were more than `max_blocks` blocks.
  [[nodiscard]] bool gave_up() const;
  /// Returns the allocators, ordered by process and device, each with at least one block; none if the builder gave up.
  /// Must be called only once. O(blocks * log blocks).
  [[nodiscard]] std::vector<recorded_events> take(const trace::tables& tables);

 private:
  class state;
  std::unique_ptr<state> state_;
};

/// Returns the framework allocators in the recording, ordered by process and device. O(blocks * log blocks).
[[nodiscard]] std::vector<recorded_events> recorded_allocators(const index::memory_use& memory,
                                                               const trace::tables& tables);

}  // namespace sluice::replay
