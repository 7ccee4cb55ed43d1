#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/index/event_store.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/findings/reserved/cache_use.hpp"
#include "core/metrics/report/waste/reserved.hpp"
#include "core/replay/recorded_events.hpp"

/// Computes how much memory PyTorch's allocator would have reserved for the recorded requests under other settings.
/// Sizes are in bytes.
namespace sluice::metrics {

/// The error of the models of other settings relative to measurements on a GPU, as a share of the modelled value. Most
/// request streams of tests/device/run-whatif have a smaller error.
inline constexpr double replay_error = 0.1;

/// Collects the requests to PyTorch's allocator section by section, in order of time, and replays them.
class reserved_replays_builder {
 public:
  /// `scope` must outlive this object. Does nothing unless `scope` is the whole recording, because the reserved size
  /// depends on all earlier requests.
  explicit reserved_replays_builder(const metrics_scope& scope) : scope_(scope), events_(max_blocks) {}

  /// Adds the blocks allocated in `run`. O(blocks).
  void add(const index::memory_use& use, time_range run) {
    if (is_whole()) events_.add(use, run);
  }
  /// Replays the requests of allocators that hold more than they need. Returns nothing if the recording has more than
  /// `max_blocks` framework blocks. Must be called only once. O(requests * log live blocks).
  [[nodiscard]] std::vector<reserved_replay> take(std::span<const cache_use> caches);

  /// Replaying this many blocks takes about a second and 200 MB, as measured.
  static constexpr std::uint64_t max_blocks = 200'000;

 private:
  [[nodiscard]] bool is_whole() const { return scope_.range == index::recorded_range(*scope_.trace); }

  const metrics_scope& scope_;
  replay::recorded_events_builder events_;
};

}  // namespace sluice::metrics
