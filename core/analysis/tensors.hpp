#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "core/analysis/categories.hpp"
#include "core/analysis/memory_use.hpp"
#include "core/analysis/steps.hpp"
#include "core/summary/slice_set.hpp"
#include "core/trace/reader.hpp"

/// What can only be said of a recording as a whole: its steps, and what each block is for. Worked out when first asked for,
/// once for each state of the index.
namespace sluice::analysis {

class index;

/// A layer's memory by what it is for; with `category::none` it adds up to the layer's total at any time.
using category_use = std::array<summaries::level_tree, category_count>;

struct tensor_facts {
  std::map<trace::process_id, step_list> steps;  ///< Of processes that have any.
  std::map<trace::process_id, summaries::slice_set>
      step_slices;                         ///< The same, to be drawn; `bytes` is the step's number.
  std::vector<block_category> categories;  ///< By position in `memory_use::blocks()`.
  std::map<memory_key, category_use> use;  ///< Where any block has a category.
  bool tagged = false;                     ///< Some category is exact.

  [[nodiscard]] const step_list* steps_of(trace::process_id process) const {
    const auto found = steps.find(process);
    return found == steps.end() ? nullptr : &found->second;
  }
};

/// Steps as slices to be drawn.
[[nodiscard]] summaries::slice_set step_slices_of(const step_list& list);

/// O(blocks * log blocks); see `index::tensors`, which keeps the answer.
[[nodiscard]] tensor_facts find_tensor_facts(const index& from, const trace::snapshot& trace);

}  // namespace sluice::analysis
