#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/work/steps.hpp"
#include "core/symbols/frames.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/file/reader.hpp"

/// What a recording says about tensors: what the peak is made of, what the steps cost, what was kept without use. Part of
/// the summary. Bytes are bytes, times ns.
namespace sluice::analysis {

class index;
struct memory_peak;
struct naming;
class step_facts;
struct tensor_facts;

/// Part of a peak: the blocks of one category.
struct category_share {
  category what = category::none;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t exact_bytes = 0;  ///< Of blocks that the program tagged; the others' category is inferred.
};

/// What the highest use of a layer's memory was made of.
struct peak_composition {
  trace::device_id device{};
  trace::layer layer = trace::layer::framework;
  trace::memory_kind kind = trace::memory_kind::device;
  std::uint64_t bytes = 0;
  time_ns time = 0;
  std::uint64_t kept_gradient_bytes = 0;  ///< Of gradients that live over the begins of two steps or more.
  std::vector<category_share> shares;     ///< Most bytes first; they add up to `bytes`.
  [[nodiscard]] std::uint64_t bytes_of(category what) const;
  /// Some category of it is inferred.
  [[nodiscard]] bool inferred() const;
};

/// One step. Memory is that of `step_summary::device`, `layer` and `kind`; transfers are of all devices, by the share of a
/// transfer that lies inside the step.
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
  /// In order of time. Of more than `limit` the first and the last half of so many.
  std::vector<step_figures> steps;
  time_ns median_duration = 0;
  std::size_t highest = 0;  ///< In `steps`: the one with the highest peak of all steps, which is always kept.
  /// What is in use when a step begins grows by so much a step, on average, from the third on (the first ones set up state).
  double growth = 0;
  /// At least eight steps in ten begin higher than the one before, and none lower than the third: as with a leak.
  bool keeps_growing = false;

  static constexpr std::size_t limit = 256;
};

/// Blocks of one origin, the line that their stacks are named by, that were held after their last use.
struct unused_group {
  trace::stack_id stack{};   ///< The first of them; none: no stack was recorded.
  symbols::frame_line line;  ///< Means something if there is a stack.
  trace::string_id name{};
  category what = category::none;
  bool exact = false;  ///< The category, of all of them.
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;          ///< Of all of them.
  std::uint64_t bytes_at_peak = 0;  ///< Of those live at the peak that nothing used from then on.
  double mean_bytes = 0;            ///< Held without use, averaged over the range.
  time_ns longest = 0;              ///< From a block's last use to its free, or to the end.
  trace::block_id longest_block{};
};

/// Memory that was held after its last use. Only kernels that name a block in their arguments, and copies, count as uses.
struct unused_memory {
  trace::device_id device{};
  trace::layer layer = trace::layer::framework;
  trace::memory_kind kind = trace::memory_kind::device;
  time_ns peak_time = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t bytes_at_peak = 0;  ///< Live at the peak, and never used after it.
  double mean_bytes = 0;
  std::vector<unused_group> groups;       ///< Most at the peak first, then by the mean; at most `limit`.
  std::uint64_t other_bytes_at_peak = 0;  ///< Of groups beyond the limit.
  std::uint64_t never_touched = 0;  ///< Blocks that no launch and no copy named at all: they are not counted above.
  std::uint64_t never_touched_bytes = 0;

  static constexpr std::size_t limit = 12;
};

/// What a peak is made of; none of a layer that holds no tensors. `from` has the moment of the peak. O(blocks).
[[nodiscard]] std::optional<peak_composition> composition_at(const memory_peak& peak, const index& from,
                                                             const trace::snapshot& trace);

/// What a process has blocks in, among memory that lies in devices for certain.
using process_memories = std::map<trace::process_id, std::set<memory_key>>;
/// O(blocks).
[[nodiscard]] process_memories memories_of_processes(const memory_use& memory);

/// The steps that overlap a range, by process: gathered from indexes of parts, in order of time.
class step_gatherer {
 public:
  step_gatherer(const step_facts& steps, const process_memories& memories, time_range range);
  ~step_gatherer();
  step_gatherer(const step_gatherer&) = delete;
  step_gatherer& operator=(const step_gatherer&) = delete;

  /// What `from` tells of its run. O((blocks + steps in it) * log).
  void add(const index& from, time_range run);
  /// Of all that was added, once.
  [[nodiscard]] std::vector<step_summary> take();

 private:
  struct gathered;
  std::vector<gathered> all_;
};

/// What was held without use in a range: gathered likewise. Nothing when the recording has no touches. A block that was never freed
/// counts only when it was idle for more than two steps (a tenth of the recording, without steps): most state is last used near the
/// end. Before lines are named: the groups are by stack, name and category, all of them, without their sums.
class unused_gatherer {
 public:
  unused_gatherer(const trace::snapshot& trace, time_range range) : trace_(trace), range_(range) {}

  void add(const index& from, time_range run);
  /// Once all was added: what of it was live at a peak, whose moment `from` has. O(blocks).
  void look(const memory_peak& peak, const index& from);
  /// In the order of the peaks.
  [[nodiscard]] std::vector<unused_memory> figures(const std::vector<memory_peak>& peaks) const;

 private:
  using origin = std::tuple<trace::stack_id, trace::string_id, category>;
  struct gathered {
    std::map<origin, unused_group> groups;
    std::uint64_t never_touched = 0;
    std::uint64_t never_touched_bytes = 0;
  };
  time_ns idle_of(const block_record& block, const touch& last, const tensor_facts& facts);

  const trace::snapshot& trace_;
  const time_range range_;
  std::map<memory_key, gathered> all_;
  std::map<trace::process_id, time_ns> patience_;
};

/// The same with groups by the line that their stacks are named after. O(groups).
[[nodiscard]] std::vector<unused_memory> name_unused(const std::vector<unused_memory>& figures,
                                                     const trace::tables& tables, const naming& names);

}  // namespace sluice::analysis
