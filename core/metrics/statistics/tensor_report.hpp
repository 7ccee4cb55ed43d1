#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/index/work/steps.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/symbols/frames.hpp"

/// Computes what a report says about tensors: the composition of the peak, the cost of each step, and memory held
/// unused. Sizes are in bytes, times in ns.
namespace sluice::index {
class event_store;
class step_facts;
struct tensor_facts;
}  // namespace sluice::index

namespace sluice::metrics {

struct memory_peak;
struct naming;

/// The blocks of one category at a peak.
struct category_share {
  index::category category = index::category::none;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  /// Bytes of blocks that the program tagged. The category of all other blocks is inferred.
  std::uint64_t exact_bytes = 0;
};
SLUICE_MEMBERS(category_share, member<&row::category>{"category"}, member<&row::bytes>(), member<&row::blocks>(),
               member<&row::exact_bytes>())

/// The composition of the maximum use of a layer's memory.
struct peak_composition {
  trace::device_id device{};
  trace::layer layer = trace::layer::framework;
  trace::memory_kind kind = trace::memory_kind::device;
  std::uint64_t bytes = 0;
  time_ns time = 0;
  std::uint64_t kept_gradient_bytes = 0;  ///< Bytes of gradients that are live at the starts of at least two steps.
  std::vector<category_share> shares;     ///< Most bytes first; their sum is `bytes`.
  [[nodiscard]] std::uint64_t get_bytes(index::category wanted) const;
  /// True if any category is inferred.
  [[nodiscard]] bool inferred() const;
};
SLUICE_MEMBERS(peak_composition, member<&row::device>(), member<&row::layer>(), member<&row::kind>(),
               member<&row::bytes>(), member<&row::time>{"time_ns"}, member<&row::kept_gradient_bytes>(),
               member<&row::shares>())

/// One step. Memory metrics refer to `step_summary::device`, `layer` and `kind`. Transfers of all devices count, by the
/// share inside the step.
struct step_metrics {
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
SLUICE_MEMBERS(step_metrics, member<&row::number>(), member<&row::span>{"span", {}, inlined}, member<&row::event>(),
               member<&row::peak>{"maximum_bytes"}, member<&row::peak_time>{"maximum_time_ns"},
               member<&row::at_begin>{"at_begin_bytes"}, member<&row::at_end>{"at_end_bytes"},
               member<&row::allocations>(), member<&row::allocated_bytes>(), member<&row::h2d_bytes>(),
               member<&row::d2h_bytes>())

/// The steps of one process.
struct step_summary {
  trace::process_id process{};
  index::step_source source = index::step_source::none;
  trace::device_id device{};
  trace::layer layer = trace::layer::framework;
  trace::memory_kind kind = trace::memory_kind::device;
  std::uint64_t count = 0;
  /// In order of time. If there are more than `limit` steps, only the first and the last `limit` / 2 and the step with
  /// the highest peak are listed.
  std::vector<step_metrics> steps;
  time_ns median_duration = 0;
  std::size_t highest = 0;  ///< Index in `steps` of the step with the highest peak.
  /// The average growth, per step, of the bytes in use at the start of a step. Counts from the third step on, because
  /// earlier steps set up state.
  double growth = 0;
  /// True if at least 80 % of the steps begin with more bytes than the step before, and no step begins with fewer bytes
  /// than the third step. This is a likely leak.
  bool keeps_growing = false;

  static constexpr std::size_t limit = 256;
};

/// Blocks that one program line allocated and that were held after their last use.
struct unused_group {
  trace::stack_id stack{};   ///< The stack of the group's first block; `none` if no stack was recorded.
  symbols::frame_line line;  ///< Only valid if `stack` is not `none`.
  trace::string_id name{};
  index::category category = index::category::none;
  bool exact = false;  ///< True if the categories of all blocks are exact, not inferred.
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;          ///< Total size of the blocks.
  std::uint64_t bytes_at_peak = 0;  ///< Total size of the blocks that are live at the peak but not used after it.
  double mean_bytes = 0;            ///< Bytes held unused, averaged over the range.
  time_ns longest = 0;              ///< Longest time from a block's last use to its free or to the end of the range.
  trace::block_id longest_block{};  ///< The block that was held for `longest`.
};

/// Memory held after its last use. Copies, and kernels with the block's address as an argument, count as uses; other
/// uses are unknown.
struct unused_memory {
  trace::device_id device{};
  trace::layer layer = trace::layer::framework;
  trace::memory_kind kind = trace::memory_kind::device;
  time_ns peak_time = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t bytes_at_peak = 0;  ///< Bytes of blocks that are live at the peak but not used after it.
  double mean_bytes = 0;
  /// Sorted by bytes at the peak, then by mean; largest first, at most `limit`.
  std::vector<unused_group> groups;
  std::uint64_t other_bytes_at_peak = 0;  ///< The sum of `bytes_at_peak` over the groups beyond the limit.
  /// Number of blocks that no launch or copy ever used. The members above do not count these blocks.
  std::uint64_t never_touched = 0;
  std::uint64_t never_touched_bytes = 0;

  static constexpr std::size_t limit = 12;
};

/// Returns the composition of `peak`; nothing for a layer without tensors. `store` must cover the time of `peak`.
/// O(blocks).
[[nodiscard]] std::optional<peak_composition> composition_at(const memory_peak& peak, const index::event_store& store,
                                                             const trace::snapshot& trace);

/// For each process, the kinds of device-resident memory in which the process has blocks.
using process_memories = std::map<trace::process_id, std::set<index::memory_key>>;
/// Finds the device-resident memory of each process. O(blocks).
[[nodiscard]] process_memories memories_of_processes(const index::memory_use& memory);

/// Collects the steps that overlap a range, for each process, section by section in order of time.
class steps_builder {
 public:
  steps_builder(const index::step_facts& steps, const process_memories& memories, time_range range);
  steps_builder(const steps_builder& other);
  steps_builder(steps_builder&& other) noexcept;
  steps_builder& operator=(steps_builder&& other) noexcept;
  ~steps_builder();

  /// Adds the events in `run`, the time range that `store` covers. O((blocks + steps in `run`) * log).
  void add(const index::event_store& store, time_range run);
  /// Takes over what `earlier` found in runs up to `until`. Returns false if the steps up to `until` are not the same.
  /// This object is then unusable.
  [[nodiscard]] bool take_over(steps_builder&& earlier, time_ns until);
  /// Returns the steps. Must be called once, after the last `add`.
  [[nodiscard]] std::vector<step_summary> take();

 private:
  struct gathered;
  std::vector<gathered> all_;
  /// For each kind of memory, the processes that use it, as positions in `all_`.
  std::map<index::memory_key, std::vector<std::size_t>> users_;
};

/// Collects memory held unused in a range, section by section. Finds nothing if no uses (touches) were recorded. A
/// block that is never freed counts only if it is idle for more than two steps or, without steps, a tenth of the
/// recording, because most state is last used near the end. Groups are formed by stack (not yet by line), name and
/// category. Sums over groups are not computed.
class unused_memory_builder {
 public:
  explicit unused_memory_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the blocks that end in `run`, the time range that `store` covers. O(blocks).
  void add(const index::event_store& store, time_range run);
  /// Sums the bytes held unused at `peak`. Must be called after the last `add`. `store` must cover the time of `peak`.
  /// O(blocks).
  void revisit(const memory_peak& peak, const index::event_store& store);
  /// Returns one element per peak with unused memory, in the order of `peaks`.
  [[nodiscard]] std::vector<unused_memory> metrics(const std::vector<memory_peak>& peaks) const;

 private:
  using origin = std::tuple<trace::stack_id, trace::string_id, index::category>;
  struct gathered {
    std::map<origin, unused_group> groups;
    std::uint64_t never_touched = 0;
    std::uint64_t never_touched_bytes = 0;
  };
  [[nodiscard]] time_ns get_idle(const index::block_record& block, const index::touch& last,
                                 const index::tensor_facts& facts) const;

  const metrics_scope& scope_;
  std::map<index::memory_key, gathered> all_;
};

/// Groups `metrics` by the program line to which each stack is attributed, and computes the sums over groups.
/// O(groups).
[[nodiscard]] std::vector<unused_memory> name_unused(const std::vector<unused_memory>& metrics,
                                                     const trace::tables& tables, const naming& names);

}  // namespace sluice::metrics
