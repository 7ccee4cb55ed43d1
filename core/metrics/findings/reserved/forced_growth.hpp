#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/report/waste/reserved.hpp"
#include "core/trace/model/model.hpp"

/// Finds forced growth: growth of PyTorch's caching allocator that fragmentation causes. The allocator had enough free
/// memory for a request but no hole of the requested size, so it took a segment from the driver. Sizes are in bytes.
namespace sluice::metrics {

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
  std::set<trace::block_id> known_;  ///< The live segments of the sections so far.
};

}  // namespace sluice::metrics
