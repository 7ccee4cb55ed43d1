#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/index/work/steps.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/trace/file/reader.hpp"

/// Facts that can only be computed from the whole recording: its steps, and the category (purpose) of each block. They
/// are computed on first use, once for each state of the index.
namespace sluice::index {

class event_store;

/// The bytes over time of one `memory_key`, by category. At any time, all categories together, including
/// `category::none`, add up to the key's total.
using category_use = std::array<timeline::level_tree, category_count>;

/// For each process, its steps as slices to draw, in one lane. The `bytes` of a slice hold the number of the step.
using step_slices = std::map<trace::process_id, timeline::slice_set>;
void add_slices(trace::process_id process, std::span<const step> steps, step_slices& to);

/// The steps of a recording, either inferred from its events or stored in its file. Stored steps are read on first use.
/// Immutable once shared, and then thread-safe.
class step_facts {
 public:
  step_facts() = default;
  /// Uses the steps stored in the file of `recording`. Processes that are not in `sources` are ignored.
  step_facts(std::shared_ptr<const trace::snapshot> recording, std::map<trace::process_id, step_source> sources);
  /// Adds the steps of one more process.
  void add(trace::process_id process, step_list found);

  /// For each process that has steps, how they were found.
  [[nodiscard]] const std::map<trace::process_id, step_source>& sources() const { return sources_; }
  /// The steps of each process. Steps that cannot be read are missing. The first call takes O(steps).
  [[nodiscard]] const std::map<trace::process_id, step_list>& lists() const;
  /// True if both objects have steps of the same processes, found in the same way, and the steps that start before
  /// `until` start at the same times. O(steps).
  [[nodiscard]] bool begin_alike(const step_facts& other, time_ns until) const;

 private:
  void read() const;

  std::shared_ptr<const trace::snapshot> from_;  ///< Null if the steps are already in memory.
  std::map<trace::process_id, step_source> sources_;
  mutable std::once_flag was_read_;
  mutable std::map<trace::process_id, step_list> lists_;
};

/// The steps of a recording and the categories of its blocks.
struct tensor_facts {
  std::shared_ptr<const step_facts> steps;  ///< Not null once the facts have been computed.
  std::vector<block_category> categories;   ///< Indexed by the block's position in `memory_use::blocks()`.
  std::map<memory_key, category_use> use;   ///< Only for keys that have a block with a category.
  bool tagged = false;                      ///< True if the program itself assigned a category to some block.
  step_slices drawn_steps;                  ///< In an index of a section, only the steps that overlap the section.

  /// Returns null if the process has no steps. May read the file (see `step_facts`).
  [[nodiscard]] const step_list* get_steps(trace::process_id process) const {
    const auto found = steps->lists().find(process);
    return found == steps->lists().end() ? nullptr : &found->second;
  }
};

/// Computes the facts. O(blocks * log blocks). `event_store::tensors` caches the result.
[[nodiscard]] tensor_facts find_tensor_facts(const event_store& store, const trace::snapshot& trace);

}  // namespace sluice::index
