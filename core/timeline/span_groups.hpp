#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/timeline/time_range.hpp"

namespace sluice::analysis {

/// Finds the spans of a list that overlap a time range, fast if neighbors are near in time. Immutable once filled.
class span_groups {
 public:
  /// Appends the span [first, last], both ends included.
  void add(time_ns first, time_ns last) {
    if (spans_.size() % group == 0) groups_.push_back({first, last});
    groups_.back().first = std::min(groups_.back().first, first);
    groups_.back().last = std::max(groups_.back().last, last);
    spans_.push_back({first, last});
  }

  /// Calls `use(index)` in order for each span that overlaps `range`. O(spans / 64 + spans in overlapping groups).
  template <class Use>
  void for_each_in(time_range range, Use&& use) const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!groups_[g].overlaps(range)) continue;
      const std::size_t behind = std::min(spans_.size(), (g + 1) * group);
      for (std::size_t i = g * group; i < behind; ++i)
        if (spans_[i].overlaps(range)) use(i);
    }
  }

 private:
  static constexpr std::size_t group = 64;
  struct span {
    time_ns first = 0;
    time_ns last = 0;
    [[nodiscard]] bool overlaps(time_range range) const { return first < range.end && last >= range.begin; }
  };
  std::vector<span> spans_;
  std::vector<span> groups_;  ///< Element i: the hull of spans i * `group` to (i + 1) * `group` - 1.
};

}  // namespace sluice::analysis
