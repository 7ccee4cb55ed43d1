#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/figures/waste/cache_use.hpp"
#include "core/index/index.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/replay/recorded_events.hpp"

/// What PyTorch's allocator would have reserved for the recorded requests under other settings. Sizes are in bytes.
namespace sluice::analysis {

/// How far the models of other settings are from what a GPU measures, as a share of what they say. Most of the request
/// streams of tests/device/run-whatif are within it.
inline constexpr double replay_error = 0.1;

/// What the allocator would have done under one setting.
struct policy_outcome {
  std::string policy;  ///< As in PYTORCH_CUDA_ALLOC_CONF.
  std::uint64_t peak_reserved = 0;
  std::uint64_t retries = 0;   ///< Times that the cache was emptied because the limit was reached.
  std::uint64_t failures = 0;  ///< Allocations that would have failed.
};

/// The allocator of one device. Its native model reproduces what was recorded.
struct reserved_replay {
  trace::device_id device{};
  std::uint64_t peak_reserved = 0;
  std::uint64_t retries = 0;
  std::vector<policy_outcome> policies;  ///< Empty if what is reserved was in use.
  /// The most that was reserved in the last parts of `cache_use`, and what it would be if the cache was emptied at the
  /// begin of them; 0 if there are no such parts.
  std::uint64_t late_reserved = 0;
  std::uint64_t late_emptied = 0;
};

/// Collects the requests from indexes of sections, in order of time, and replays them.
class reserved_replays_builder {
 public:
  /// Does nothing if `scope` is not the whole recording: what is reserved depends on all that was before. It must outlive
  /// this.
  explicit reserved_replays_builder(const figures_scope& scope) : scope_(scope), events_(most_blocks) {}

  /// Adds the blocks that are born in `run`. O(blocks).
  void add(const memory_use& from, time_range run) {
    if (is_whole()) events_.add(from, run);
  }
  /// Replays the allocators that hold more than they need. None if the recording has more than `most_blocks` blocks of a
  /// framework. Call once. O(requests * log live blocks).
  [[nodiscard]] std::vector<reserved_replay> take(std::span<const cache_use> caches);

  /// Measured: replaying so many takes about a second and 200 MB.
  static constexpr std::uint64_t most_blocks = 200'000;

 private:
  [[nodiscard]] bool is_whole() const { return scope_.range == time_range_of(*scope_.trace); }

  const figures_scope& scope_;
  replay::recorded_events_builder events_;
};

}  // namespace sluice::analysis
