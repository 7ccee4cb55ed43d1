#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/index/memory/shared_memory.hpp"
#include "core/index/work/copy_contents.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/base/stack_use.hpp"
#include "core/metrics/findings/dead_writes/dead_writes.hpp"
#include "core/metrics/findings/fp32_products/fp32_products.hpp"
#include "core/metrics/findings/growth/growth.hpp"
#include "core/metrics/findings/held_twice/held_twice.hpp"
#include "core/metrics/findings/idle_memory/idle_memory.hpp"
#include "core/metrics/findings/ranks/ranks.hpp"
#include "core/metrics/findings/reserved/cache_use.hpp"
#include "core/metrics/findings/reserved/forced_growth.hpp"
#include "core/metrics/findings/reserved/reserved_replays.hpp"
#include "core/metrics/findings/transfers/copy_waste.hpp"
#include "core/metrics/out_of_memory/out_of_memory.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/statistics/fragmentation.hpp"
#include "core/metrics/statistics/tensor_report.hpp"
#include "core/metrics/statistics/unfreed.hpp"

/// Builds the metrics of a report, section by section (consecutive time spans) or from one event store.
namespace sluice::metrics {

/// Facts about the whole recording that a section's event store lacks. They come from rows that the store omits or
/// shares with other sections, or they must be known before the first section is read.
struct unsectioned_facts {
  std::uint64_t events = 0;                       ///< The number of readable event rows.
  std::vector<std::string> warnings;              ///< The result of `event_store::warnings`.
  std::vector<index::recorded_message> messages;  ///< The messages stored in the recording, in file order.
  std::vector<index::gpu_fault> faults;           ///< The result of `fault_index::faults`.
  process_memories memories;                      ///< The result of `memories_of_processes`.
  /// The owners of imported memory, derived from all links; not owned, never null.
  const index::import_owners* owners = nullptr;
  /// The contents of all transfers, after `copy_contents::settle`; not owned, never null.
  const index::copy_contents* contents = nullptr;
};

/// Returns these facts for `whole`, which must cover the whole recording and outlive the result. O(blocks).
[[nodiscard]] unsectioned_facts collect_unsectioned_facts(const index::event_store& whole);

/// Sums the copies that overlap the range by call stack, for each device and direction; works section by section.
class copied_stacks_builder {
 public:
  explicit copied_stacks_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the copies in `run`, the time range that `store` covers. Runs must be added in order of time. O(ways * copies
  /// * log copies).
  void add(const index::event_store& store, time_range run);

  using way = std::pair<trace::device_id, trace::direction>;
  [[nodiscard]] const std::map<way, stack_use>& ways() const { return ways_; }
  /// Returns the sums for one device and direction; empty if there are no such copies.
  [[nodiscard]] stack_use of(const way& which) const;
  /// Returns the sums over all devices and directions.
  [[nodiscard]] stack_use all() const;

 private:
  [[nodiscard]] stack_use nothing() const;
  const metrics_scope& scope_;
  std::map<way, stack_use> ways_;
};

/// Results for consecutive sections that do not depend on earlier sections.
struct run_findings {
  idle_memory_builder::of_run idle;
  held_twice_builder::of_run twice;
};

/// Builds `report_metrics` in two passes over the sections. The caller calls `add` for every section in order of time,
/// then `revisit` for the sections that contain a time from `moments`. Keeps no reference to an event store. Only
/// `find` is thread-safe. For a growing recording, the caller adds the finished sections to the builder and the other
/// sections to a copy, and then finishes the copy.
class metrics_builder {
 public:
  /// Computes the metrics of `scope`, in a recording with the given steps. All arguments must outlive this object and
  /// its copies.
  metrics_builder(const metrics_scope& scope, const index::step_facts& steps, const unsectioned_facts& unsectioned);

  /// Continues with the facts of a later snapshot, which must have been assigned to `scope` before. Keeps everything
  /// added up to `until`. Returns false if the kept results are no longer valid, because the facts on which they depend
  /// have changed. This object is then unusable. O(steps + links).
  [[nodiscard]] bool go_on(const index::step_facts& steps, const unsectioned_facts& unsectioned, time_ns until);

  /// Adds the events in `run`, the time range that `store` covers. Each `run` begins where the previous run ended.
  /// Together, the runs must cover `all_time`. O(events in `run` + blocks).
  void add(const index::event_store& store, time_range run);
  /// Calling `add` for a section is equivalent to calling `add_found` with the result of `find`, and `add_piece` for
  /// each number below `pieces`. These calls may be made at the same time by different threads.
  void add_found(const run_findings& found, const index::event_store& store, time_range run);
  void add_piece(std::size_t piece, const index::event_store& store, time_range run);
  static constexpr std::size_t pieces = 2;
  /// Several threads may call this function for different sections at the same time, even while other sections are
  /// added.
  [[nodiscard]] run_findings find(const index::event_store& store, time_range run) const;
  /// Returns the times of the memory peaks, sorted and without duplicates. Must be called after the last `add`.
  [[nodiscard]] std::vector<time_ns> moments();
  /// Finds the blocks live at the peaks in `run`, the time range that `store` covers. O(peaks * blocks).
  void revisit(const index::event_store& store, time_range run);
  /// Returns the metrics. Must be called once, after the last `revisit`.
  [[nodiscard]] report_metrics take();

  [[nodiscard]] const copied_stacks_builder& copied() const { return copied_; }
  [[nodiscard]] const index::step_facts& steps() const { return *facts_; }

 private:
  /// Counts blocks, collects failures, and determines the time up to which device work is complete.
  void count(const index::event_store& store, time_range run);
  void find_peaks();
  void find_failures();

  const metrics_scope& scope_;
  const index::step_facts* facts_;        ///< Never null.
  const unsectioned_facts* unsectioned_;  ///< Never null.
  range_measurer measured_;
  unfreed_builder unfreed_;
  fragmentation_builder segments_;
  index::imported_memory_builder imports_;
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
  fp32_products_builder products_;
  out_of_memory_builder out_of_memory_;
  reserved_replays_builder replays_;
  std::vector<trace::alloc_failed_event> failed_;  ///< All failures of the recording.
  std::map<trace::process_id, time_ns> watermarks_;
  std::uint64_t blocks_ = 0;
  bool peaks_found_ = false;
  struct peak_details {
    std::optional<fragmentation_metric> fragmentation;
    std::optional<peak_composition> composition;
  };
  std::vector<peak_details> details_;  ///< One per peak.
  report_metrics made_;
};

}  // namespace sluice::metrics
