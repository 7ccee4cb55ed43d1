#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/work/steps.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/trace/file/reader.hpp"

/// What can only be said of a recording as a whole: its steps, and what each block is for. Worked out when first asked for,
/// once for each state of the index.
namespace sluice::analysis {

class index;

/// A layer's memory by what it is for; with `category::none` it adds up to the layer's total at any time.
using category_use = std::array<timeline::level_tree, category_count>;

/// Steps as they are drawn, by process, in one lane; `bytes` is a step's number.
using step_slices = std::map<trace::process_id, timeline::slice_set>;
void add_slices(trace::process_id process, std::span<const step> steps, step_slices& to);

/// The steps of a recording: those that were found, or those that its file keeps, which are read when somebody first asks for one.
/// Immutable once shared; then thread-safe.
class step_facts {
 public:
  step_facts() = default;
  /// Those that the file of `from` keeps, of processes of which it is known how they were found.
  step_facts(std::shared_ptr<const trace::snapshot> from, std::map<trace::process_id, step_source> sources);
  /// Of one more process that has some.
  void add(trace::process_id process, step_list found);

  /// How those of each process were found that has any.
  [[nodiscard]] const std::map<trace::process_id, step_source>& sources() const { return sources_; }
  /// By process; what cannot be read is missing. O(steps) the first time.
  [[nodiscard]] const std::map<trace::process_id, step_list>& lists() const;

 private:
  void read() const;

  std::shared_ptr<const trace::snapshot> from_;  ///< Null: they are known.
  std::map<trace::process_id, step_source> sources_;
  mutable std::once_flag was_read_;
  mutable std::map<trace::process_id, step_list> lists_;
};

struct tensor_facts {
  std::shared_ptr<const step_facts> steps;  ///< Never null once the facts are found.
  std::vector<block_category> categories;   ///< By position in `memory_use::blocks()`.
  std::map<memory_key, category_use> use;   ///< Where any block has a category.
  bool tagged = false;                      ///< Some category is exact.
  step_slices drawn_steps;                  ///< Of a part those with something in it.

  /// Null if there are none. May read them (`step_facts`).
  [[nodiscard]] const step_list* steps_of(trace::process_id process) const {
    const auto found = steps->lists().find(process);
    return found == steps->lists().end() ? nullptr : &found->second;
  }
};

/// O(blocks * log blocks); see `index::tensors`, which keeps the answer.
[[nodiscard]] tensor_facts find_tensor_facts(const index& from, const trace::snapshot& trace);

}  // namespace sluice::analysis
