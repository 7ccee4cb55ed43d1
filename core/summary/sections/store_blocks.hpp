#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/index/event_store.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/base/listed_block.hpp"
#include "core/metrics/statistics/unfreed.hpp"

namespace sluice::summary {

/// The blocks of an event store, with what else the store knows about each. A block is identified by its position in
/// `records`. The constructor's arguments must outlive the object. Immutable, thus thread-safe.
class store_blocks {
 public:
  store_blocks(const index::event_store& store, const trace::snapshot& trace)
      : store_(store), facts_(store.tensors(trace)), cut_(trace) {}

  [[nodiscard]] std::span<const index::block_record> records() const { return store_.memory().blocks(); }
  /// Returns the positions of the blocks that were allocated in `run`, in ascending order. Of a recording's consecutive
  /// runs, exactly one has a block. O(blocks).
  [[nodiscard]] std::vector<std::uint32_t> begun_in(time_range run) const {
    std::vector<std::uint32_t> places;
    const auto blocks = records();
    for (std::uint32_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].allocated && run.holds(blocks[i].born)) places.push_back(i);
    return places;
  }
  [[nodiscard]] const std::shared_ptr<const index::step_facts>& steps() const { return facts_->steps; }
  [[nodiscard]] index::block_category category(std::size_t place) const {
    return place < facts_->categories.size() ? facts_->categories[place] : index::block_category{};
  }
  /// True if the block counts as never freed.
  [[nodiscard]] bool unfreed(std::size_t place) const { return metrics::is_unfreed(records()[place], cut_); }
  /// True if the uses of some blocks were recorded.
  [[nodiscard]] bool uses_known() const { return !store_.touches().empty(); }
  [[nodiscard]] index::block_touches uses(std::size_t place) const { return store_.touches().of(records()[place]); }
  [[nodiscard]] metrics::listed_block listed(std::size_t place, bool with_uses) const {
    metrics::listed_block row = metrics::listed(records()[place], category(place));
    if (with_uses) row.set_uses(uses(place));
    return row;
  }

 private:
  const index::event_store& store_;
  const std::shared_ptr<const index::tensor_facts> facts_;
  const metrics::cut_end cut_;
};

}  // namespace sluice::summary
