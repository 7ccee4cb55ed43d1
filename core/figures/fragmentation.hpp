#pragma once

#include <map>
#include <optional>
#include <set>

#include "core/figures/report.hpp"
#include "core/index/memory/memory_use.hpp"

namespace sluice::analysis {

/// Collects, from section indexes, the segments that the blocks of each layer lie in. They are needed for the whole
/// recording: a segment with no live block at a peak is free space, too. Private to core.
class fragmentation_gatherer {
 public:
  /// Adds the blocks born in `run`. O(blocks).
  void add(const memory_use& from, time_range run);

  /// Call after the last `add`. Computes the free space at a peak; `from` must cover its time. Returns nothing for the
  /// driver layer, for blocks without segments, or if addresses contradict the nesting. O(blocks + segments).
  [[nodiscard]] std::optional<fragmentation_figure> at(const memory_peak& peak, const memory_use& from) const;

 private:
  std::map<memory_key, std::set<trace::block_id>> parents_;
};

}  // namespace sluice::analysis
