#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/index/event_store.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/findings/reserved/cache_use.hpp"
#include "core/replay/recorded_events.hpp"

/// Computes how much memory PyTorch's allocator would have reserved for the recorded requests under other settings.
/// Sizes are in bytes.
namespace sluice::metrics {

/// The error of the models of other settings relative to measurements on a GPU, as a share of the modelled value. Most
/// request streams of tests/device/run-whatif have a smaller error.
inline constexpr double replay_error = 0.1;

/// The allocator's behaviour under one setting.
struct policy_outcome {
  std::string policy;  ///< As written in PYTORCH_CUDA_ALLOC_CONF.
  std::uint64_t peak_reserved = 0;
  std::uint64_t retries = 0;   ///< The number of times that the allocator emptied its cache because it had reached its
                               ///< limit.
  std::uint64_t failures = 0;  ///< Number of allocations that would have failed.
};

/// The replay of one device's allocator, whose native model reproduces the recording.
struct reserved_replay {
  trace::device_id device{};
  std::uint64_t peak_reserved = 0;
  std::uint64_t retries = 0;
  std::vector<policy_outcome> policies;  ///< Empty if all reserved memory was in use.
  /// `late_reserved` is the maximum reserved in the low parts at the end (`cache_use::low_parts`). `late_emptied` is
  /// what that maximum would be if the cache had been emptied at the start of the low parts. Both are 0 if there are no
  /// low parts.
  std::uint64_t late_reserved = 0;
  std::uint64_t late_emptied = 0;
};

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
