#pragma once

#include <map>
#include <optional>
#include <set>

#include "core/figures/report.hpp"
#include "core/index/memory/memory_use.hpp"

namespace sluice::analysis {

/// What segments there are under the blocks of each layer, of the whole recording: one in which no block lives at the moment of a peak is
/// a hole, too. Gathered from indexes of parts. Private to core.
class fragmentation_gatherer {
 public:
  /// What `from` tells of the blocks born in `run`. O(blocks).
  void add(const memory_use& from, time_range run);

  /// Once all was added: the holes at a peak, whose moment `from` has. None of the driver's layer, of one whose blocks lie in nothing,
  /// and where addresses contradict what lies in what. O(blocks + segments).
  [[nodiscard]] std::optional<fragmentation_figure> at(const memory_peak& peak, const memory_use& from) const;

 private:
  std::map<memory_key, std::set<trace::block_id>> parents_;
};

}  // namespace sluice::analysis
