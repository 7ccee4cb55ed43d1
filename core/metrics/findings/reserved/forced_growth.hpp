#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/trace/model/model.hpp"

/// Finds forced growth: growth of PyTorch's caching allocator that fragmentation causes. The allocator had enough free
/// memory for a request but no hole of the requested size, so it took a segment from the driver. Sizes are in bytes.
namespace sluice::metrics {

struct cache_use;

/// One forced growth.
struct forced_growth {
  trace::device_id device{};
  trace::process_id process{};
  trace::block_id segment{};  ///< The new segment.
  std::uint64_t segment_bytes = 0;
  time_ns time = 0;
  time_ns died = 0;         ///< When the segment was freed; `latest_time` if never.
  trace::stack_id stack{};  ///< The stack that made the request.
  std::uint64_t asked = 0;  ///< The requested size, rounded by the allocator.
  std::uint64_t free = 0;   ///< Free bytes in segments of the class that serves the request. These are the segments
                            ///< larger than 2 MiB.
  std::uint64_t largest_hole = 0;
  /// A large enough hole would have existed without some of the live blocks between holes. This is the number of blocks
  /// in the cheapest set of these blocks; 0 if no segment was large enough. `pinned_bytes` is the size of the blocks in
  /// that set.
  std::uint64_t pins = 0;
  std::uint64_t pinned_bytes = 0;
  trace::stack_id pin_stack{};  ///< The stack of the largest block in that set.
  trace::block_id largest_pin{};
};

/// The forced growths whose segments a device's allocator held when it held the most memory.
struct forced_growths {
  trace::device_id device{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< Total size of the new segments.
  std::uint64_t reserved_maximum = 0;
  forced_growth largest;
};

/// Finds forced growths section by section, in order of time. Ignores requests of up to 1 MiB, which PyTorch serves
/// from small segments, and mapped segments (`expandable_segments`).
class forced_growth_builder {
 public:
  explicit forced_growth_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the segments allocated in `run`. O(blocks * log blocks), plus O(live blocks) per forced growth; only
  /// O(blocks) if there are no new segments.
  void add(const index::memory_use& use, time_range run);
  /// Returns one element per device, sorted by device. `caches` gives the time at which each device's allocator held
  /// the most memory.
  [[nodiscard]] std::vector<forced_growths> metrics(std::span<const cache_use> caches) const;

  static constexpr std::uint64_t small_request = std::uint64_t{1} << 20U;  ///< kSmallSize of PyTorch's allocator.
  static constexpr std::uint64_t small_segment = std::uint64_t{2} << 20U;  ///< kSmallBuffer of PyTorch's allocator.

 private:
  void find(const index::memory_use& use, time_range here);
  static constexpr std::size_t max_growths = 1024;
  const metrics_scope& scope_;
  std::vector<forced_growth> all_;
};

}  // namespace sluice::metrics
