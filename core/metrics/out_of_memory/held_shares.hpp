#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/base/saturating.hpp"
#include "core/metrics/out_of_memory/block_uses.hpp"

namespace sluice::metrics {

/// Sums blocks by call stack and category. Private to core/metrics.
class held_shares_builder {
 public:
  held_share& add(const index::block_record& block, index::category wanted, time_ns last_use = trace::unknown_time) {
    held_share& to = all_[{block.stack, wanted}];
    to.stack = block.stack;
    to.category = wanted;
    ++to.blocks;
    saturating_add(to.bytes, block.bytes);
    if (to.largest == trace::block_id::none || block.bytes > to.largest_bytes ||
        (block.bytes == to.largest_bytes && block.id < to.largest)) {
      to.largest = block.id;
      to.largest_bytes = block.bytes;
      to.last_use = last_use;
    }
    return to;
  }

  /// Returns the sums, most bytes first.
  [[nodiscard]] std::vector<held_share> take() const {
    std::vector<held_share> shares;
    for (const auto& [key, each] : all_) shares.push_back(each);
    std::stable_sort(shares.begin(), shares.end(),
                     [](const held_share& a, const held_share& b) { return a.bytes > b.bytes; });
    return shares;
  }

 private:
  std::map<std::pair<trace::stack_id, index::category>, held_share> all_;
};

}  // namespace sluice::metrics
