#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/analysis/memory_use.hpp"
#include "core/analysis/summary.hpp"

namespace sluice::analysis {

/// The blocks born in a range that nobody freed: gathered from indexes of parts of the recording. Private to core/analysis.
class unfreed_gatherer {
 public:
  explicit unfreed_gatherer(time_range range) : range_(range) {}

  /// What `from` tells of the blocks born in `run`. O(blocks).
  void add(const memory_use& from, time_range run);
  /// Most bytes first; once.
  [[nodiscard]] std::vector<unfreed_group> take(const trace::tables& tables);

 private:
  struct gathered {
    unfreed_group group;
    std::vector<time_ns> births;  ///< In any order.
  };
  const time_range range_;
  std::map<std::tuple<trace::process_id, trace::layer, trace::memory_kind>, gathered> groups_;
};

}  // namespace sluice::analysis
