#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/report/waste/idle_memory.hpp"

/// Finds memory that is held while no kernel or copy needs it, and computes how much lower the peak would be without
/// that memory. Sizes are in bytes, times in ns.
namespace sluice::index {
class event_store;
struct tensor_facts;
}  // namespace sluice::index

namespace sluice::metrics {

struct memory_peak;

/// Finds idle memory of device-resident blocks section by section. Finds nothing if no uses (touches) were recorded.
/// "Much other work" means at least `idle_works` launches and copies, or fewer in a program that has few launches and
/// copies. Idle intervals between two uses are only detected within a section.
class idle_memory_builder {
 public:
  explicit idle_memory_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// The idle memory found in one run of sections.
  class of_run;
  /// Finds the idle memory in `run`, the time range that `store` covers. May be called from several threads at the same
  /// time. O((blocks + accesses) * log).
  [[nodiscard]] of_run find(const index::event_store& store, time_range run) const;
  /// Adds the result of `find`. Must be called for every run, in order of time. O(groups).
  void add(const of_run& found);
  /// Counts the blocks that are idle at `peak`. Must be called after the last `add`. `store` must cover the time of
  /// `peak`. O(blocks).
  void revisit(const memory_peak& peak, const index::event_store& store);
  /// Returns one element per peak with idle memory, in the order of `peaks`.
  [[nodiscard]] std::vector<idle_memory> metrics(const std::vector<memory_peak>& peaks) const;

  /// A block with fewer other launches and copies than this in its idle interval does not count as idle, because its
  /// next user may be about to run. In a program with few launches, a lower number suffices: one per `few_touches`
  /// recorded uses of blocks.
  static constexpr std::uint64_t idle_works = 8;
  static constexpr std::uint64_t few_touches = 40;
  /// A block is worth moving to the host if it is idle for at least this many times the duration of moving it there and
  /// back.
  static constexpr double worth_moving = 4;
  static constexpr std::uint64_t reassigned_works = 3;  ///< See `idle_group::reassigned`.
  /// Blocks with fewer bytes than this are not considered reusable.
  static constexpr std::uint64_t min_reusable = std::uint64_t{1} << 20U;

 private:
  using origin = std::tuple<idle_reason, trace::stack_id, trace::string_id, index::category>;
  using cause = std::pair<idle_reason, index::category>;
  struct change {
    time_ns time = 0;
    std::int64_t bytes = 0;
  };
  struct group {
    double highest = 0;  ///< Maximum use of this kind of memory in the runs so far, without the group's idle bytes.
    idle_group found;
  };
  struct memory {
    double highest = 0;
    std::uint64_t works = 0;
    std::uint64_t kernels = 0;
    std::set<trace::process_id> processes;
    std::map<origin, group> groups;
    std::map<cause, double> together;  ///< As `group::highest`, without the idle bytes of all groups of a cause.
    std::vector<idle_group> accumulating;
  };
  struct memory_in_run;
  struct interval {
    idle_reason reason{};
    time_range idle;
  };

  /// Finds the blocks that could reuse the memory of another block of the same size. Returns, for the position of each
  /// such block, the time until which it could do so. With `of_one`, considers only that kind of memory.
  [[nodiscard]] static std::map<std::size_t, time_ns> find_reusable(const index::event_store& store, time_range run,
                                                                    std::optional<index::memory_key> of_one = {});
  /// Adds the idle time of a block to its group.
  static void add_idle(memory_in_run& to, const index::block_record& block, index::category wanted,
                       const interval& each, time_range run);
  /// Counts a block that is idle at the peak.
  static void count(const index::block_record& block, const interval& each, const index::event_store& store,
                    idle_group& in);
  [[nodiscard]] std::vector<interval> list_intervals(const index::block_record& block,
                                                     const index::block_category& category,
                                                     const index::event_store& store) const;
  [[nodiscard]] double compute_rate(trace::device_id device) const;
  /// Finds the stacks whose blocks were hardly ever freed before the peak. The saving of such a stack is the size of
  /// all its blocks but one.
  static void find_accumulating(const index::event_store& store, const index::tensor_facts& facts,
                                const index::memory_key& key, time_ns peak, std::vector<idle_group>& into);
  /// Finds the maximum use in the run, for each group, and for all groups of a cause, without their idle bytes.
  static void sweep(const timeline::level_tree& use, time_range run, memory_in_run& in_run);

  /// The maximum number of groups per kind of memory. More groups would not be worth the memory that they take.
  static constexpr std::size_t max_groups = 8192;
  const metrics_scope& scope_;
  std::map<index::memory_key, memory> all_;
};

struct idle_memory_builder::memory_in_run {
  struct group {
    std::vector<change> changes;  ///< Changes of the idle bytes, kept until `sweep` has used them.
    double highest = 0;           ///< Maximum use in the run, without the idle bytes.
  };
  double highest = 0;  ///< Maximum use in the run.
  std::set<trace::process_id> processes;
  std::map<origin, group> groups;
  std::map<cause, group> together;  ///< All groups of a cause.
};

class idle_memory_builder::of_run {
  friend class idle_memory_builder;
  std::map<index::memory_key, memory_in_run> all_;
};

}  // namespace sluice::metrics
