#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/figures/fragmentation.hpp"
#include "core/figures/out_of_memory/out_of_memory.hpp"
#include "core/figures/report.hpp"
#include "core/figures/stack_use.hpp"
#include "core/figures/tensor_report.hpp"
#include "core/figures/unfreed.hpp"
#include "core/index/memory/shared_memory.hpp"
#include "core/index/work/copy_contents.hpp"

/// Builds a report's figures from indexes of the recording's sections (consecutive time spans) or from one index.
namespace sluice::analysis {

/// Facts about the whole recording that the index of a section does not contain: they come from rows that it omits or
/// shares with other sections, or must be known before the first section is read.
struct unsectioned_facts {
  std::uint64_t events = 0;                 ///< The number of event rows that could be read.
  std::vector<std::string> warnings;        ///< As `index::warnings` returns them.
  std::vector<recorded_message> messages;   ///< The messages that the recording stores, in file order.
  std::vector<gpu_fault> faults;            ///< As `fault_index::faults` returns them.
  process_memories memories;                ///< As `memories_of_processes` returns them.
  const import_owners* owners = nullptr;    ///< Owners of imported memory, from all links; not owned, never null.
  const copy_contents* contents = nullptr;  ///< Contents of all transfers, `settle` called; not owned, never null.
};

/// Returns these facts as found in `whole`, an index of the whole recording; it must outlive the result. O(blocks).
[[nodiscard]] unsectioned_facts unsectioned_facts_of(const index& whole);

/// Sums the copies that overlap the range by call stack, for each device and direction, from indexes of sections.
class copied_stacks_builder {
 public:
  explicit copied_stacks_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the copies in `run`, the time range of `from`. Call in order of time. O(ways * copies * log copies).
  void add(const index& from, time_range run);

  using way = std::pair<trace::device_id, trace::direction>;
  [[nodiscard]] const std::map<way, stack_use>& ways() const { return ways_; }
  /// The sums for one device and direction; empty if no copy has them.
  [[nodiscard]] stack_use of(const way& which) const;
  /// The sums over all devices and directions.
  [[nodiscard]] stack_use all() const;

 private:
  [[nodiscard]] stack_use nothing() const;
  const figures_scope& scope_;
  std::map<way, stack_use> ways_;
};

/// What an index of consecutive sections tells without those before it.
struct run_findings {
  idle_memory_builder::of_run idle;
  held_twice_builder::of_run twice;
};

/// Builds `report_figures` in two passes over indexes of sections: call `add` for every section in order of time, then
/// `look` for the sections that contain a time from `moments`. Keeps no reference to an index. Not thread-safe, but for
/// `find`. For a recording that grows, add the sections that are over; add those that follow to a copy, and go on with it.
class figures_builder {
 public:
  /// For the figures of `scope`, in a recording with these steps. All arguments must outlive this and its copies.
  figures_builder(const figures_scope& scope, const step_facts& steps, const unsectioned_facts& unsectioned);

  /// Call after `scope` became that of a later snapshot, with the new facts. What was added, up to `until`, is kept. False
  /// if that is not right any more, as what it was found by came out otherwise: then this is unusable. O(steps + links).
  [[nodiscard]] bool go_on(const step_facts& steps, const unsectioned_facts& unsectioned, time_ns until);

  /// Adds the events in `run`, the time range that the index `from` covers. Each `run` begins where the previous one
  /// ended; together the runs must cover `all_time`. O(events in `run` + blocks).
  void add(const index& from, time_range run);
  /// `add` for a section is `add_found` with what `find` found, and each piece below `pieces`. These may be added at the
  /// same time, by different threads.
  void add_found(const run_findings& found, const index& from, time_range run);
  void add_piece(std::size_t piece, const index& from, time_range run);
  static constexpr std::size_t pieces = 2;
  /// Other threads may do this for several sections at the same time, and while others are added.
  [[nodiscard]] run_findings find(const index& from, time_range run) const;
  /// Call after the last `add`. Returns the times of the memory peaks, sorted and without duplicates.
  [[nodiscard]] std::vector<time_ns> moments();
  /// Computes what was live at the peaks in `run`, the time range that `from` covers. O(peaks * blocks).
  void look(const index& from, time_range run);
  /// Returns the figures. Call once, after the last `look`.
  [[nodiscard]] report_figures take();

  [[nodiscard]] const copied_stacks_builder& copied() const { return copied_; }
  [[nodiscard]] const step_facts& steps() const { return *facts_; }

 private:
  /// Counts blocks, failures, and how far device work is known.
  void count(const index& from, time_range run);
  void find_peaks();
  void find_failures();

  const figures_scope& scope_;
  const step_facts* facts_;               ///< Never null.
  const unsectioned_facts* unsectioned_;  ///< Never null.
  range_measurer measured_;
  unfreed_builder unfreed_;
  fragmentation_builder segments_;
  imported_memory_builder imports_;
  steps_builder steps_;
  unused_memory_builder unused_;
  duplicates_builder duplicates_;
  marks_builder marks_;
  copied_stacks_builder copied_;
  retries_builder retries_;
  idle_memory_builder idle_;
  growth_builder growth_;
  dead_writes_builder dead_writes_;
  idle_gaps_builder gaps_;
  copy_waste_builder copy_waste_;
  cache_use_builder caches_;
  ranks_builder ranks_;
  held_twice_builder twice_;
  forced_growth_builder forced_;
  out_of_memory_builder out_of_memory_;
  reserved_replays_builder replays_;
  std::vector<trace::alloc_failed_event> failed_;  ///< All failures of the recording.
  std::map<trace::process_id, time_ns> watermarks_;
  std::uint64_t blocks_ = 0;
  bool peaks_found_ = false;
  std::vector<std::optional<fragmentation_figure>> fragmentation_;  ///< One per peak.
  std::vector<std::optional<peak_composition>> compositions_;       ///< One per peak.
  report_figures made_;
};

}  // namespace sluice::analysis
