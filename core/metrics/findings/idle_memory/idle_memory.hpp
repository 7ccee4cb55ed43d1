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
#include "core/metrics/base/metrics_scope.hpp"

/// Finds memory that is held while no kernel or copy needs it, and computes how much lower the peak would be without
/// that memory. Sizes are in bytes, times in ns.
namespace sluice::index {
class event_store;
struct tensor_facts;
}  // namespace sluice::index

namespace sluice::metrics {

struct memory_peak;

/// Why memory counts as idle.
enum class idle_reason : std::uint8_t {
  never_used,       ///< No kernel or copy ever uses the block.
  allocated_early,  ///< Idle from its allocation to its first use, with much other work in between.
  held_late,        ///< Idle from its last use to its free or the end of the range, with much other work in between.
  between_uses,     ///< Idle between two uses, for long enough to move the block to the host and back.
  kept_gradient,    ///< A gradient, idle between its clearing and the backward pass that adds to it.
  reusable,         ///< Held while another block of the same size, past its last use, could be used instead.
  accumulating      ///< Not idle, but one of many blocks of one stack that were never freed: see `idle_group::spread`.
};
inline constexpr std::size_t idle_reason_count = 7;

/// The blocks that have the same call stack, name and category, and are idle for the same reason.
struct idle_group {
  idle_reason reason{};
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::stack_id stack{};  ///< The stack that allocated all blocks of the group; `none` if no stack was recorded.
  trace::string_id name{};
  index::category category = index::category::none;
  std::uint64_t blocks_at_peak = 0;  ///< Number of the group's blocks that are idle at the peak.
  std::uint64_t bytes_at_peak = 0;   ///< Total size of these blocks.
  /// How much lower the maximum use of this memory would be if no block of the group had existed while it was idle. To
  /// compute this, the maximum of the live bytes is found again without the idle bytes.
  std::uint64_t saved = 0;
  trace::block_id largest{};  ///< The largest of the group's blocks that are idle at the peak.
  std::uint64_t largest_bytes = 0;
  time_range idle;          ///< The interval in which the block `largest` is idle.
  std::uint64_t works = 0;  ///< Number of other launches and copies of the same process in `idle`.
  /// Allocation time of the first of the blocks idle at the peak. This member and the next three members are only set
  /// for `held_late` and `accumulating`.
  time_ns first_birth = 0;
  time_ns last_birth = 0;  ///< Allocation time of the last of the blocks idle at the peak.
  /// The kernels from `first_birth` to the peak are divided into eighths. This is the number of eighths in which at
  /// least one of these blocks was allocated.
  std::uint64_t spread = 0;
  std::uint64_t birth_kernels = 0;  ///< Number of kernels launched from `first_birth` to `last_birth`.
  /// For `held_late`, the number of blocks of similar size that `stack` allocated until the peak, whether they are then
  /// in use, idle or freed.
  std::uint64_t born = 0;
  std::uint64_t born_later = 0;  ///< For `held_late`, the number of such blocks that `stack` allocated after the peak.
  /// For `held_late`, bytes of blocks idle at the peak that are freed soon after the same stack has allocated their
  /// successor. This happens when a loop reassigns a variable in each iteration.
  std::uint64_t reassigned = 0;
  /// For `held_late`, bytes of blocks idle at the peak whose memory a later block, also live at the peak, could have
  /// reused.
  std::uint64_t replaced = 0;
};

/// The idle groups of one kind of memory, sorted by `saved`, largest first.
struct idle_memory {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  time_ns peak_time = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t works = 0;  ///< Number of launches and copies in the section that contains the peak.
  /// The number of kernels among `works`, without kernels that only fill memory with one value.
  std::uint64_t kernels = 0;
  std::vector<idle_group> groups;  ///< At most `limit`.
  static constexpr std::size_t limit = 64;
};

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
  /// Finds the maximum use in the run, for each group without the group's idle bytes.
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
};

class idle_memory_builder::of_run {
  friend class idle_memory_builder;
  std::map<index::memory_key, memory_in_run> all_;
};

}  // namespace sluice::metrics
