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

/// The figures of a summary, from indexes of parts of a recording or from one of all of it.
namespace sluice::analysis {

/// What indexes of parts do not tell: it comes of rows that they leave out or share, or must be known before the first of them. Of the
/// whole recording.
struct beside_parts {
  std::uint64_t events = 0;                 ///< Rows of events that could be read.
  std::vector<std::string> warnings;        ///< As of `index::warnings`.
  std::vector<recorded_message> messages;   ///< In the order of the file.
  std::vector<gpu_fault> faults;            ///< As of `fault_index::faults`.
  process_memories memories;                ///< As of `memories_of_processes`.
  const import_owners* owners = nullptr;    ///< Of all links; not owned, never null.
  const copy_contents* contents = nullptr;  ///< Of all transfers, settled; not owned, never null.
};

/// Of an index of all, which outlives it. O(blocks).
[[nodiscard]] beside_parts beside_of(const index& whole);

/// Copies that overlap `range`, by their stacks, for each device and direction: gathered from indexes of parts.
class copied_gatherer {
 public:
  explicit copied_gatherer(time_range range) : range_(range) {}

  /// What `from` tells of its run; runs follow one another. O(copies * ways * log).
  void add(const index& from, time_range run);

  using way = std::pair<trace::device_id, trace::direction>;
  [[nodiscard]] const std::map<way, stack_use>& ways() const { return ways_; }
  /// Of none, where there are no copies.
  [[nodiscard]] stack_use of(const way& which) const;
  /// Of all ways together.
  [[nodiscard]] stack_use all() const;

 private:
  [[nodiscard]] stack_use nothing() const;
  const time_range range_;
  std::map<way, stack_use> ways_;
};

/// Gathers `report_figures`. First each part is added, in order of time; then parts that hold certain moments are looked at once more.
/// Not thread-safe. It holds, beside what it gathers, nothing of the indexes.
class figures_builder {
 public:
  /// Of `range`, of the recording `of`, whose steps are `steps`. All outlive this, but for `range`.
  figures_builder(const trace::snapshot& of, const step_facts& steps, const beside_parts& beside, time_range range);

  /// What `from` tells of `run`, which begins where the one before ended; all of them together are `all_time`. O(events in it +
  /// blocks).
  void add(const index& from, time_range run);
  /// Once all was added: the moments to be looked at, in order; each once.
  [[nodiscard]] std::vector<time_ns> moments();
  /// What `from` tells of the moments in its run. O(moments * blocks).
  void look(const index& from, time_range run);
  /// Of all that was added and looked at, once.
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
  bool any_ = false;  ///< A part was added.
  bool peaks_found_ = false;
  std::vector<std::optional<fragmentation_figure>> fragmentation_;  ///< Of each of the peaks.
  std::vector<std::optional<peak_composition>> compositions_;       ///< Likewise.
  report_figures made_;
};

}  // namespace sluice::analysis
