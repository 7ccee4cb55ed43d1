#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/index/event_store.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/report/report.hpp"

namespace sluice::metrics {

/// Decides whether a block was allocated too late to be called a leak. If the block's process was killed, or the end of
/// the process was not recorded, a block allocated in the last half second may not have been freed yet, or its free may
/// be lost. Immutable.
class cut_end {
 public:
  static constexpr time_ns uncertain = 500'000'000;
  /// An imported file has no process ends, so a block counts as too late only if the file is incomplete.
  explicit cut_end(const trace::snapshot& recording)
      : of_(recording), from_(index::recorded_range(recording).end - uncertain) {}

  [[nodiscard]] bool hides(const index::block_record& block) const;

 private:
  const trace::snapshot& of_;
  const time_ns from_;
};

/// True if the block counts as never freed. Its process must own the memory and must have allocated it during the
/// recording, and the block must certainly have been live when the recording ended.
[[nodiscard]] bool is_unfreed(const index::block_record& block, const cut_end& cut);

/// Collects the blocks that were allocated in a range and never freed, section by section. Private to core.
class unfreed_builder {
 public:
  explicit unfreed_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// If `run`, the time range that `use` covers, is the last run, adds the blocks that were never freed. O(blocks).
  void add(const index::memory_use& use, time_range run);
  /// Returns the groups, most bytes first. Must be called once, after the last `add`.
  [[nodiscard]] std::vector<unfreed_group> take(const trace::tables& tables);

 private:
  struct gathered {
    unfreed_group group;
    std::vector<time_ns> births;  ///< Unsorted.
  };
  const metrics_scope& scope_;
  std::map<std::tuple<trace::process_id, trace::layer, trace::memory_kind>, gathered> groups_;
};

}  // namespace sluice::metrics
