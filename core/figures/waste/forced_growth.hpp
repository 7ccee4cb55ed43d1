#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Growth of PyTorch's caching allocator that fragmentation forced: it took a segment from the driver although its free
/// memory was as large as the request, because no hole was. Sizes are in bytes.
namespace sluice::analysis {

struct cache_use;

/// One such growth.
struct forced_growth {
  trace::device_id device{};
  trace::process_id process{};
  trace::block_id segment{};  ///< What the driver gave.
  std::uint64_t segment_bytes = 0;
  time_ns time = 0;
  time_ns died = 0;         ///< Of the segment; `latest_time`: never freed.
  trace::stack_id stack{};  ///< Who asked.
  std::uint64_t asked = 0;  ///< As the allocator rounds it.
  std::uint64_t free = 0;   ///< In segments of the same sort: those above 2 MiB.
  std::uint64_t largest_hole = 0;
  /// The live blocks between holes that are easiest to do without: without them a hole would have been large enough. No
  /// segment was large enough if there are none.
  std::uint64_t pins = 0;
  std::uint64_t pinned_bytes = 0;
  trace::stack_id pin_stack{};  ///< Of the largest of them.
  trace::block_id largest_pin{};
};

/// The forced growths of a device that are part of the most that its allocator held.
struct forced_growths {
  trace::device_id device{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< Of their segments.
  std::uint64_t reserved_maximum = 0;
  forced_growth largest;
};

/// Finds forced growths in indexes of sections, in order of time. Requests of up to 1 MiB, which PyTorch takes from small
/// segments, and mapped segments (expandable_segments) are not looked at.
class forced_growth_builder {
 public:
  explicit forced_growth_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the segments born in `run`. O(blocks * log blocks), and O(live blocks) for each forced growth; O(blocks) if
  /// there are no new segments.
  void add(const memory_use& from, time_range run);
  /// By device. `caches`: when each device's allocator held most.
  [[nodiscard]] std::vector<forced_growths> figures(std::span<const cache_use> caches) const;

  static constexpr std::uint64_t small_request = std::uint64_t{1} << 20U;  ///< kSmallSize of PyTorch's allocator.
  static constexpr std::uint64_t small_segment = std::uint64_t{2} << 20U;  ///< kSmallBuffer.

 private:
  void find(const memory_use& from, time_range here);
  static constexpr std::size_t most_growths = 1024;
  const figures_scope& scope_;
  std::vector<forced_growth> all_;
};

}  // namespace sluice::analysis
