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

/// What can only be determined for a recording as a whole: its steps, and the category of each block (what the block is
/// for). Computed on first use, once for each state of the index.
namespace sluice::analysis {

class index;

/// Bytes over time of one `memory_key`, by category. The sum, with `category::none`, is the key's total at any time.
using category_use = std::array<timeline::level_tree, category_count>;

/// Steps as slices to draw, by process, in one lane. A slice's `bytes` holds the step's number.
using step_slices = std::map<trace::process_id, timeline::slice_set>;
void add_slices(trace::process_id process, std::span<const step> steps, step_slices& to);

/// The steps of a recording, either as found by analysis or as stored in its file. Stored steps are read on first use.
/// Immutable once shared; then thread-safe.
class step_facts {
 public:
  step_facts() = default;
  /// Steps stored in the file of `from`. Processes not in `sources` are ignored.
  step_facts(std::shared_ptr<const trace::snapshot> from, std::map<trace::process_id, step_source> sources);
  /// Adds the steps of one more process.
  void add(trace::process_id process, step_list found);

  /// How the steps of each process with steps were found.
  [[nodiscard]] const std::map<trace::process_id, step_source>& sources() const { return sources_; }
  /// The steps by process; those that cannot be read are missing. O(steps) the first time.
  [[nodiscard]] const std::map<trace::process_id, step_list>& lists() const;
  /// True if the same processes have steps in both, found in the same way, and those before `until` begin alike. O(steps).
  [[nodiscard]] bool begin_alike(const step_facts& other, time_ns until) const;

 private:
  void read() const;

  std::shared_ptr<const trace::snapshot> from_;  ///< Null: the steps are already in memory.
  std::map<trace::process_id, step_source> sources_;
  mutable std::once_flag was_read_;
  mutable std::map<trace::process_id, step_list> lists_;
};

struct tensor_facts {
  std::shared_ptr<const step_facts> steps;  ///< Never null once the facts are known.
  std::vector<block_category> categories;   ///< By position in `memory_use::blocks()`.
  std::map<memory_key, category_use> use;   ///< Only keys with a block that has a category.
  bool tagged = false;                      ///< Some category is exact: the program named it.
  step_slices drawn_steps;                  ///< For a section, the steps that overlap it.

  /// Returns null if the process has no steps. May read the file (see `step_facts`).
  [[nodiscard]] const step_list* steps_of(trace::process_id process) const {
    const auto found = steps->lists().find(process);
    return found == steps->lists().end() ? nullptr : &found->second;
  }
};

/// Computes the facts. O(blocks * log blocks). `index::tensors` caches the result.
[[nodiscard]] tensor_facts find_tensor_facts(const index& from, const trace::snapshot& trace);

}  // namespace sluice::analysis
