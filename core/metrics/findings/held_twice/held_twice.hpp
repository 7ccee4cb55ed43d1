#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/report/waste/held_twice.hpp"
#include "core/trace/model/model.hpp"

/// Finds tensors that are held in two data types. A kernel made a copy of a quarter, half, two or four times the size,
/// and both the original and the copy stay allocated. Sizes are in bytes.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

struct memory_peak;

/// Finds such pairs section by section, in order of time. Finds nothing if no uses (touches) were recorded. The first
/// use of the copy must be a kernel that uses only the original and the copy, and both blocks must be live for most of
/// the remaining time. Gradients, activations and inputs do not count.
class held_twice_builder {
 public:
  explicit held_twice_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// The pairs whose copies are allocated in one run of sections.
  class of_run;
  /// Finds the pairs in `run`, the time range that `store` covers. May be called from several threads at the same time.
  /// O(blocks + accesses).
  [[nodiscard]] of_run find(const index::event_store& store, time_range run) const;
  /// Adds the pairs in `found`, and records which blocks of earlier pairs end in `run`. Must be called for every run,
  /// in order of time. O(pairs).
  void add(const of_run& found, const index::event_store& store, time_range run);
  /// Returns the groups, sorted by bytes of the copies, most first. `active` is `range_statistics::active`.
  [[nodiscard]] std::vector<held_twice> metrics(std::span<const memory_peak> peaks, time_range active) const;

  static constexpr std::uint64_t min_bytes = std::uint64_t{1} << 16U;  ///< Smaller blocks are ignored.
  /// The tolerance for sizes, in bytes. Allocators round sizes up, so ratios of sizes are not exact.
  static constexpr std::uint64_t rounding = 2048;
  static constexpr std::size_t limit = 32;

 private:
  struct half {
    trace::stack_id stack{};
    std::uint64_t bytes = 0;
    time_ns died = latest_time;  ///< `latest_time` if never freed.
  };
  struct pair {
    index::memory_key memory;
    half original;
    half copy;
    trace::block_id block{};  ///< The block of the copy.
    time_ns copied = 0;
  };
  struct live_half {
    trace::block_id block{};
    half side;
    bool ended = false;  ///< True once the block's free time and the members below are set.
    bool lasts = false;  ///< True if the block's category indicates that it is long-lived.
    bool categorised = false;
    time_ns last_use = 0;
  };
  struct live_pair {
    index::memory_key memory;
    live_half original;
    live_half copy;
    time_ns copied = 0;
  };
  static constexpr std::size_t max_pairs = 65536;
  /// Keeps the pair if it meets the conditions above. `ended` must be true for both halves.
  void keep(const live_pair& subject);
  const metrics_scope& scope_;
  std::vector<live_pair> live_;  ///< Pairs of which at least one block is still live.
  std::vector<pair> pairs_;
  time_ns last_use_ =
      -latest_time;  ///< Last use of any block of a pair. If device times are known, the active time does not end
                     ///< before this time.
};

class held_twice_builder::of_run {
  friend class held_twice_builder;
  std::vector<live_pair> pairs_;
};

}  // namespace sluice::metrics
