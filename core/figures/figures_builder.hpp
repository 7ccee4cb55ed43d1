#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/figures/fragmentation.hpp"
#include "core/figures/report.hpp"
#include "core/figures/stack_use.hpp"
#include "core/figures/tensor_report.hpp"
#include "core/figures/unfreed.hpp"
#include "core/index/memory/shared_memory.hpp"
#include "core/index/work/copy_contents.hpp"

/// Builds a report's figures, from the indexes of a recording's sections or from one index of all of it.
namespace sluice::analysis {

/// Facts about the whole recording that indexes of sections do not contain: they come from rows that such an index
/// omits or shares with others, or must be known before the first section.
struct beside_parts {
  std::uint64_t events = 0;                 ///< The number of event rows that could be read.
  std::vector<std::string> warnings;        ///< As from `index::warnings`.
  std::vector<recorded_message> messages;   ///< In file order.
  std::vector<gpu_fault> faults;            ///< As from `fault_index::faults`.
  process_memories memories;                ///< As from `memories_of_processes`.
  const import_owners* owners = nullptr;    ///< Built from all links; not owned, never null.
  const copy_contents* contents = nullptr;  ///< Built from all transfers, settled; not owned, never null.
};

/// Takes the facts from an index of the whole recording, which must outlive the result. O(blocks).
[[nodiscard]] beside_parts beside_of(const index& whole);

/// Sums the copies that overlap `range` by call stack, for each device and direction, from section indexes.
class copied_gatherer {
 public:
  explicit copied_gatherer(time_range range) : range_(range) {}

  /// Adds `run`, the time range that `from` covers. Call in order of time. O(copies * ways * log).
  void add(const index& from, time_range run);

  using way = std::pair<trace::device_id, trace::direction>;
  [[nodiscard]] const std::map<way, stack_use>& ways() const { return ways_; }
  /// The copies of one device and direction; empty if there are none.
  [[nodiscard]] stack_use of(const way& which) const;
  /// The copies of all devices and directions together.
  [[nodiscard]] stack_use all() const;

 private:
  [[nodiscard]] stack_use nothing() const;
  const time_range range_;
  std::map<way, stack_use> ways_;
};

/// Builds `report_figures` in two passes over the section indexes: `add` for every section in order of time, then
/// `look` for those that contain a time from `moments`. Keeps no reference to an index. Not thread-safe.
class figures_builder {
 public:
  /// Computes the figures of `range` in recording `of`, with its steps. All arguments but `range` must outlive this.
  figures_builder(const trace::snapshot& of, const step_facts& steps, const beside_parts& beside, time_range range);

  /// Adds `run`, the time range that `from` covers. It begins where the previous one ended; together they must cover
  /// `all_time`. O(events in it + blocks).
  void add(const index& from, time_range run);
  /// Call after the last `add`. Returns the times of the peaks, sorted and without duplicates.
  [[nodiscard]] std::vector<time_ns> moments();
  /// Evaluates the moments that lie in `run`, the range of `from`. O(moments * blocks).
  void look(const index& from, time_range run);
  /// Returns the result. Call once, at the end.
  [[nodiscard]] report_figures take();

  [[nodiscard]] const copied_gatherer& copied() const { return copied_; }

 private:
  void find_peaks();

  const trace::snapshot& of_;
  const beside_parts& beside_;
  const time_range range_;
  range_measurer measured_;
  unfreed_gatherer unfreed_;
  fragmentation_gatherer segments_;
  import_gatherer imports_;
  step_gatherer steps_;
  unused_gatherer unused_;
  duplicate_gatherer duplicates_;
  mark_gatherer marks_;
  copied_gatherer copied_;
  std::map<trace::process_id, time_ns> watermarks_;
  std::uint64_t blocks_ = 0;
  bool any_ = false;  ///< `add` has been called.
  bool peaks_found_ = false;
  std::vector<std::optional<fragmentation_figure>> fragmentation_;  ///< One per peak.
  std::vector<std::optional<peak_composition>> compositions_;       ///< One per peak.
  report_figures made_;
};

}  // namespace sluice::analysis
