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
#include "core/timeline/time_range.hpp"

/// Memory that is held while no kernel or copy needs it, and how much lower the peak would be without it. Sizes are in
/// bytes, times in ns.
namespace sluice::analysis {

class index;
struct memory_peak;
struct tensor_facts;

/// Why memory counts as idle.
enum class idle_reason : std::uint8_t {
  never_used,       ///< No kernel or copy uses the block in its life.
  allocated_early,  ///< From the birth to the first use, with much other work between.
  held_late,        ///< From the last use to the free or the end, with much other work between.
  between_uses,     ///< Between two uses, long enough to move the block to the host and back.
  kept_gradient,    ///< A gradient between its clearing and the backward pass that adds to it.
  reusable,         ///< All its life, while another block of the same size has been used for the last time.
  accumulating      ///< Not idle, but one of many blocks of a stack of which none was freed: see `idle_group::spread`.
};
inline constexpr std::size_t idle_reason_count = 7;

/// Idle blocks of one reason that one call stack allocated.
struct idle_group {
  idle_reason reason{};
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::stack_id stack{};  ///< The stack of the group's largest block; none: no stack was recorded.
  trace::string_id name{};
  category what = category::none;
  std::uint64_t blocks_at_peak = 0;  ///< Blocks that are idle at the peak.
  std::uint64_t bytes_at_peak = 0;
  /// How much lower the highest use of this memory would be if all blocks of the group had not existed while they were
  /// idle: the curve of the live bytes, swept again without them.
  std::uint64_t saved = 0;
  trace::block_id largest{};  ///< The largest block that is idle at the peak.
  std::uint64_t largest_bytes = 0;
  time_range idle;          ///< When the largest block was idle.
  std::uint64_t works = 0;  ///< Other launches and copies of its process in that time.
  time_ns first_birth = 0;  ///< Of the blocks that are idle at the peak: the first birth and the last.
  time_ns last_birth = 0;
  std::uint64_t spread = 0;  ///< In how many eighths of the kernels from the first birth to the peak some were born.
  std::uint64_t birth_kernels = 0;  ///< Kernels launched from the first of these births to the last.
  /// For `held_late`: blocks of these stacks and of like size born until the peak, in use or freed or not, and after it.
  std::uint64_t born = 0;
  std::uint64_t born_later = 0;
  /// For `held_late`: bytes at the peak of idle blocks that are freed as soon as the same stack has made their successor: a
  /// variable that is assigned anew in each turn of a loop.
  std::uint64_t reassigned = 0;
  /// For `held_late`: bytes at the peak of idle blocks whose place a later block could take.
  std::uint64_t replaced = 0;
};

/// The idle groups of one memory, those that save most first.
struct idle_memory {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  time_ns peak_time = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t works = 0;         ///< Launches and copies in the section that has the peak.
  std::uint64_t kernels = 0;       ///< Of these, the kernels that do more than fill memory with one value.
  std::vector<idle_group> groups;  ///< At most `limit`.
  static constexpr std::size_t limit = 64;
};

/// Finds idle memory of device-resident blocks from indexes of sections; nothing if no uses (touches) were recorded.
/// "Much other work" is `idle_works` launches and copies, fewer in a program with few of them. Idle times between uses are
/// only seen inside a section.
class idle_memory_builder {
 public:
  explicit idle_memory_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// What was idle in one run of sections.
  class of_run;
  /// Finds what was idle in `run`, the time range of `from`. May be called from several threads at the same time.
  /// O((blocks + accesses) * log).
  [[nodiscard]] of_run find(const index& from, time_range run) const;
  /// Adds what was found. Call for every run, in order of time. O(groups).
  void add(const of_run& found);
  /// Call after the last `add`. Counts what was idle at `peak`; `from` must cover the peak's time. O(blocks).
  void look(const memory_peak& peak, const index& from);
  /// Returns one element for each of `peaks` with idle memory, in their order.
  [[nodiscard]] std::vector<idle_memory> figures(const std::vector<memory_peak>& peaks) const;

  /// Less other work does not make a block idle: its user may just be about to run. Programs with few launches need less:
  /// one for every `few_touches` recorded uses of blocks.
  static constexpr std::uint64_t idle_works = 8;
  static constexpr std::uint64_t few_touches = 40;
  /// A block is worth moving to the host if it is idle for this many times what moving it there and back takes.
  static constexpr double worth_moving = 4;
  static constexpr std::uint64_t reassigned_works = 3;  ///< See `idle_group::reassigned`.
  static constexpr std::uint64_t least_reusable = std::uint64_t{1}
                                                  << 20U;  ///< In bytes. Smaller blocks are not matched.

 private:
  using origin = std::tuple<idle_reason, trace::stack_id, trace::string_id, category>;
  struct change {
    time_ns time = 0;
    std::int64_t bytes = 0;
  };
  struct group {
    double highest = 0;  ///< Highest use without the idle bytes so far.
    idle_group made;
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

  /// For each block that could take the place of another of the same size, by position: until when. With `of_one`: only
  /// blocks of this memory.
  [[nodiscard]] static std::map<std::size_t, time_ns> find_reusable(const index& from, time_range run,
                                                                    std::optional<memory_key> of_one = {});
  /// Adds the idle time of a block to its group.
  static void add_idle(memory_in_run& to, const block_record& block, category what, const interval& each,
                       time_range run);
  /// Counts an idle block that is live at the peak.
  static void count(const block_record& block, const interval& each, const index& from, idle_group& in);
  [[nodiscard]] std::vector<interval> intervals_of(const block_record& block, const block_category& is,
                                                   const index& from) const;
  [[nodiscard]] double rate_of(trace::device_id device) const;
  /// Finds the stacks of which hardly any block was freed before the peak. What they would save is all blocks but one.
  static void find_accumulating(const index& from, const tensor_facts& facts, const memory_key& key, time_ns peak,
                                std::vector<idle_group>& into);
  /// Finds the highest use in the run without the idle bytes of each group.
  static void sweep(const timeline::level_tree& use, time_range run, memory_in_run& of);

  static constexpr std::size_t most_groups = 8192;  ///< Per memory. More would take more memory than they tell.
  const figures_scope& scope_;
  std::map<memory_key, memory> all_;
};

struct idle_memory_builder::memory_in_run {
  struct group {
    std::vector<change> changes;  ///< Of the idle bytes, until they are swept.
    double highest = 0;           ///< Highest use in the run without the idle bytes.
  };
  double highest = 0;  ///< Highest use in the run.
  std::set<trace::process_id> processes;
  std::map<origin, group> groups;
};

class idle_memory_builder::of_run {
  friend class idle_memory_builder;
  std::map<memory_key, memory_in_run> all_;
};

}  // namespace sluice::analysis
