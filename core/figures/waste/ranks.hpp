#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/figures/tensor_report.hpp"
#include "core/figures/waste/collectives.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// What each rank of a job needs, to find the rank that needs more than the others. Sizes are in bytes, times in ns.
namespace sluice::analysis {

class fragmentation_builder;
class index;
struct untracked_statistics;

/// The bytes that a call stack held at a rank's peak.
struct held_by_stack {
  trace::stack_id stack{};
  std::uint64_t bytes = 0;
  category what = category::none;  ///< Of the blocks.
  std::uint64_t blocks = 0;
};

/// How long a rank's kernels of one name took.
struct kernel_total {
  trace::string_id name{};
  time_ns total = 0;
};

/// The memory of a rank refers to the highest layer in which it has memory of a device.
struct rank_figures {
  trace::process_id process{};
  std::int64_t rank = 0;
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t peak = 0;  ///< The highest use of this memory by the rank.
  time_ns peak_time = 0;
  std::uint64_t reserved = 0;     ///< What the layer then held of the driver's memory for the rank; 0: not known.
  std::uint64_t untracked = 0;    ///< The highest untracked bytes of the rank's device; 0: not known.
  std::uint64_t steps = 0;        ///< Training steps of the rank.
  time_ns median_step = 0;        ///< Their median length; 0: no steps.
  time_ns computing = 0;          ///< Sum of the lengths of the rank's kernels, collectives aside.
  std::uint64_t collectives = 0;  ///< Kernels of NCCL: "nccl...".
  time_ns collective_time = 0;    ///< Sum of their lengths.
  /// Part of that in which the rank waited for others: the time of each collective beyond that of the rank that needed
  /// least. Which kernels belong to the same collective: `collective_matcher`.
  time_ns waiting = 0;
  /// Part of `waiting` in waits that are unlike all but a few others in their length: as for connecting, compiling, or an
  /// evaluation. Waits recur if at least `least_recurring` (findings/thresholds.hpp) of a rank have about the same
  /// length: at most four times the shortest of them.
  time_ns waiting_rarely = 0;
  std::uint64_t reductions = 0;        ///< Of the collectives, all-reduces.
  std::uint64_t gathers = 0;           ///< Of the collectives, all-gathers and reduce-scatters, which sharding needs.
  std::vector<category_share> shares;  ///< What the peak consists of, most bytes first; empty if no category is known.
  std::vector<held_by_stack> held;     ///< At the peak, most bytes first, at most `limit`.
  std::vector<kernel_total> kernels;   ///< Other than collectives, longest first, at most `limit`.
  static constexpr std::size_t limit = 64;
};

/// Collects the figures of processes with a rank, if there are several, from indexes of sections in order of time.
class ranks_builder {
 public:
  explicit ranks_builder(const figures_scope& scope);  ///< It must outlive this.
  /// True if the recording names the same ranks as when this was made: then more may be added.
  [[nodiscard]] bool knows_the_ranks() const { return ranks_ == ranks_of(scope_.tables()); }

  /// Adds the events in `run`, the time range of `from`. O((blocks + kernels) * log); nothing without ranks.
  void add(const index& from, time_range run);
  /// Call once, after the last `add`.
  void find_peaks();
  /// The times of the peaks that were found.
  [[nodiscard]] std::vector<time_ns> moments() const;
  /// Adds what was held at the peaks in `run`. `segments` has been given all sections. O(peaks * blocks).
  void look(const index& from, time_range run, const fragmentation_builder& segments);
  /// By rank. `steps` and `untracked` are the report's.
  [[nodiscard]] std::vector<rank_figures> figures(const std::vector<step_summary>& steps,
                                                  const std::vector<untracked_statistics>& untracked) const;

 private:
  struct highest {
    std::int64_t bytes = 0;
    time_ns time = 0;
  };
  /// Waits by length: each is in the place of its `std::bit_width`.
  struct waits_of_length {
    std::uint64_t count = 0;
    time_ns total = 0;
  };
  using waits = std::array<waits_of_length, 65>;
  enum class kernel_kind : std::uint8_t { computes, reduces, gathers, sends, communicates };
  struct work {
    time_ns computing = 0;
    std::uint64_t collectives = 0;
    time_ns collective_time = 0;
    waits waited{};
    std::uint64_t reductions = 0;
    std::uint64_t gathers = 0;
    std::map<trace::string_id, time_ns> kernels;
  };
  void add_memory(const memory_use& memory, time_range here);
  void add_work(const index& from, time_range here);
  void add_wait(trace::process_id process, time_ns waited);
  static void put_waiting(const waits& of, rank_figures& into);
  kernel_kind kind_of(trace::string_id kernel);

  using rank_by_process = std::map<trace::process_id, std::int64_t>;
  static rank_by_process ranks_of(const trace::tables& tables);

  const figures_scope& scope_;
  rank_by_process ranks_;
  std::map<trace::process_id, std::map<memory_key, highest>> all_;
  std::map<trace::process_id, work> works_;
  std::map<trace::string_id, kernel_kind> kinds_;
  collective_matcher collectives_;
  std::vector<rank_figures> peaks_;
};

}  // namespace sluice::analysis
