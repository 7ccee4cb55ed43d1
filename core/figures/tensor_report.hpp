#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/work/steps.hpp"
#include "core/symbols/frames.hpp"
#include "core/timeline/time_range.hpp"

/// What a recording reveals about tensors: what the peak consists of, what each step costs, which memory was held
/// unused. Part of the report. Sizes are in bytes, times in ns.
namespace sluice::analysis {

class index;
struct memory_peak;
struct naming;
class step_facts;
struct tensor_facts;

/// The blocks of one category at a peak.
struct category_share {
  category what = category::none;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t exact_bytes = 0;  ///< Bytes of blocks tagged by the program; for the others the category is inferred.
};

/// What the highest use of a layer's memory consisted of.
struct peak_composition {
  trace::device_id device{};
  trace::layer layer = trace::layer::framework;
  trace::memory_kind kind = trace::memory_kind::device;
  std::uint64_t bytes = 0;
  time_ns time = 0;
  std::uint64_t kept_gradient_bytes = 0;  ///< Bytes of gradients that lived across the begins of at least two steps.
  std::vector<category_share> shares;     ///< Most bytes first; their sum is `bytes`.
  [[nodiscard]] std::uint64_t bytes_of(category what) const;
  /// True if any category is inferred.
  [[nodiscard]] bool inferred() const;
};

/// One step. Memory figures refer to `step_summary::device`, `layer` and `kind`. Transfers are those of all devices,
/// counted by the share inside the step.
struct step_figures {
  std::int64_t number = 0;
  time_range span;
  trace::event_id event{};
  std::uint64_t peak = 0;
  time_ns peak_time = 0;
  std::uint64_t at_begin = 0;
  std::uint64_t at_end = 0;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  double h2d_bytes = 0;
  double d2h_bytes = 0;
};

/// The steps of one process.
struct step_summary {
  trace::process_id process{};
  step_source source = step_source::none;
  trace::device_id device{};
  trace::layer layer = trace::layer::framework;
  trace::memory_kind kind = trace::memory_kind::device;
  std::uint64_t count = 0;
  /// In order of time. Of more than `limit` steps, only the first and the last `limit` / 2 are listed, and the highest.
  std::vector<step_figures> steps;
  time_ns median_duration = 0;
  std::size_t highest = 0;  ///< Index in `steps` of the step with the highest peak, which is always kept.
  /// Average growth per step of the bytes in use at a step's begin, from the third step on (earlier ones set up state).
  double growth = 0;
  /// True if at least 80 % of steps begin with more bytes than the last, none with fewer than the third: a likely leak.
  bool keeps_growing = false;

  static constexpr std::size_t limit = 256;
};

/// Blocks from one line of the program, held after their last use.
struct unused_group {
  trace::stack_id stack{};   ///< The stack of the group's first block; none: no stack was recorded.
  symbols::frame_line line;  ///< Only valid if `stack` is not none.
  trace::string_id name{};
  category what = category::none;
  bool exact = false;  ///< True if the category of all blocks is exact, not inferred.
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;          ///< Total size of the blocks.
  std::uint64_t bytes_at_peak = 0;  ///< Size of the blocks live at the peak but not used after it.
  double mean_bytes = 0;            ///< Bytes held unused, averaged over the range.
  time_ns longest = 0;              ///< Longest time from a block's last use to its free or the end.
  trace::block_id longest_block{};
};

/// Memory held after its last use: a copy, or a kernel with the block's address as argument. Other uses are unknown.
struct unused_memory {
  trace::device_id device{};
  trace::layer layer = trace::layer::framework;
  trace::memory_kind kind = trace::memory_kind::device;
  time_ns peak_time = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t bytes_at_peak = 0;  ///< Bytes live at the peak but not used after it.
  double mean_bytes = 0;
  std::vector<unused_group> groups;       ///< By bytes at the peak, then by mean; largest first, at most `limit`.
  std::uint64_t other_bytes_at_peak = 0;  ///< Sum of the groups beyond the limit.
  std::uint64_t never_touched = 0;        ///< Blocks never used by any launch or copy; not counted above.
  std::uint64_t never_touched_bytes = 0;

  static constexpr std::size_t limit = 12;
};

/// Returns the composition of `peak`; nothing for a layer without tensors. `from` must cover its time. O(blocks).
[[nodiscard]] std::optional<peak_composition> composition_at(const memory_peak& peak, const index& from,
                                                             const trace::snapshot& trace);

/// The kinds of device-resident memory in which each process has blocks.
using process_memories = std::map<trace::process_id, std::set<memory_key>>;
/// Finds the device-resident memory of each process. O(blocks).
[[nodiscard]] process_memories memories_of_processes(const memory_use& memory);

/// Collects the steps that overlap a range, by process, from indexes of sections in order of time.
class steps_builder {
 public:
  steps_builder(const step_facts& steps, const process_memories& memories, time_range range);
  steps_builder(const steps_builder& other);
  steps_builder(steps_builder&& other) noexcept;
  steps_builder& operator=(steps_builder&& other) noexcept;
  ~steps_builder();

  /// Adds the events in `run`, the time range that `from` covers. O((blocks + steps in `run`) * log).
  void add(const index& from, time_range run);
  /// Takes over what `earlier` found in runs up to `until`. False, and this is unusable, if the steps up to then were others.
  [[nodiscard]] bool take_over(steps_builder&& earlier, time_ns until);
  /// Returns the steps. Call once, after the last `add`.
  [[nodiscard]] std::vector<step_summary> take();

 private:
  struct gathered;
  std::vector<gathered> all_;
  std::map<memory_key, std::vector<std::size_t>> users_;  ///< Positions in `all_` of the processes that use the memory.
};

/// Collects memory held unused in a range, from indexes of sections; empty if no uses (touches) were recorded. A
/// never-freed block counts only if idle for over two steps (without steps: a tenth of the recording): most state is
/// last used near the end. Groups are by stack (not yet by line), name and category; sums over groups are missing.
class unused_memory_builder {
 public:
  explicit unused_memory_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the blocks that end in `run`, the time range that `from` covers. O(blocks).
  void add(const index& from, time_range run);
  /// Call after the last `add`. Sums the bytes held unused at `peak`; `from` must cover the peak's time. O(blocks).
  void look(const memory_peak& peak, const index& from);
  /// Returns one element for each of `peaks` with unused memory, in the order of `peaks`.
  [[nodiscard]] std::vector<unused_memory> figures(const std::vector<memory_peak>& peaks) const;

 private:
  using origin = std::tuple<trace::stack_id, trace::string_id, category>;
  struct gathered {
    std::map<origin, unused_group> groups;
    std::uint64_t never_touched = 0;
    std::uint64_t never_touched_bytes = 0;
  };
  [[nodiscard]] time_ns idle_of(const block_record& block, const touch& last, const tensor_facts& facts) const;

  const figures_scope& scope_;
  std::map<memory_key, gathered> all_;
};

/// Regroups `figures` by the program line that stands for each stack, and computes the sums over groups. O(groups).
[[nodiscard]] std::vector<unused_memory> name_unused(const std::vector<unused_memory>& figures,
                                                     const trace::tables& tables, const naming& names);

}  // namespace sluice::analysis
