#pragma once

#include <map>
#include <optional>
#include <set>

#include "core/figures/report.hpp"
#include "core/index/memory/memory_use.hpp"

namespace sluice::analysis {

/// Collects, from indexes of sections, the segments (blocks that contain blocks of a higher layer). All segments of the
/// recording are needed: one without a live block at a peak is free space, too. Private to core.
class fragmentation_builder {
 public:
  /// Adds the segments of the blocks born in `run`, the time range that `from` covers. O(blocks).
  void add(const memory_use& from, time_range run);

  /// Call after the last `add`. Returns the free space in segments at `peak`; `from` must cover its time. Nothing for
  /// the driver layer, for blocks without segments, or if addresses contradict the nesting. O(blocks + segments).
  [[nodiscard]] std::optional<fragmentation_figure> at(const memory_peak& peak, const memory_use& from) const;

 private:
  std::map<memory_key, std::set<trace::block_id>> parents_;
};

}  // namespace sluice::analysis
