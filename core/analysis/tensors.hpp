#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
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

/// The steps of a recording. Immutable once shared.
struct step_facts {
  std::map<trace::process_id, step_list> lists;               ///< Of processes that have any.
  std::map<trace::process_id, summaries::slice_set> to_draw;  ///< The same; `bytes` is the step's number.
  void add(trace::process_id process, step_list found);
};

struct tensor_facts {
  std::shared_ptr<const step_facts> steps;  ///< Never null once the facts are found.
  std::vector<block_category> categories;   ///< By position in `memory_use::blocks()`.
  std::map<memory_key, category_use> use;   ///< Where any block has a category.
  bool tagged = false;                      ///< Some category is exact.

  [[nodiscard]] const step_list* steps_of(trace::process_id process) const {
    const auto found = steps->lists.find(process);
    return found == steps->lists.end() ? nullptr : &found->second;
  }
};

/// O(blocks * log blocks); see `index::tensors`, which keeps the answer.
[[nodiscard]] tensor_facts find_tensor_facts(const index& from, const trace::snapshot& trace);

}  // namespace sluice::analysis
