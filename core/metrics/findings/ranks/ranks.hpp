#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/findings/ranks/collectives.hpp"
#include "core/metrics/statistics/tensor_report.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// Measures the resource needs of each rank of a job, to find a rank that needs more than the others. Sizes are in
/// bytes, times in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

class fragmentation_builder;
struct untracked_statistics;

/// The bytes that a call stack held at a rank's peak.
struct held_by_stack {
  trace::stack_id stack{};
  std::uint64_t bytes = 0;
  index::category category = index::category::none;  ///< The category of the blocks.
  std::uint64_t blocks = 0;
};

/// Total duration of a rank's kernels of one name.
struct kernel_total {
  trace::string_id name{};
  time_ns total = 0;
};

/// The metrics of one rank. The memory metrics refer to the highest layer in which the rank has device memory.
struct rank_metrics {
  trace::process_id process{};
  std::int64_t rank = 0;
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t peak = 0;  ///< The rank's maximum use of this memory.
  time_ns peak_time = 0;
  std::uint64_t reserved = 0;     ///< Driver memory that the layer held for the rank at `peak_time`; 0 if unknown.
  std::uint64_t untracked = 0;    ///< The maximum untracked bytes on the rank's device; 0 if unknown.
  std::uint64_t steps = 0;        ///< Number of training steps of the rank.
  time_ns median_step = 0;        ///< Median duration of these steps; 0 if there are none.
  time_ns computing = 0;          ///< Total duration of the rank's kernels, without collectives.
  std::uint64_t collectives = 0;  ///< Number of NCCL kernels, whose names start with "nccl".
  time_ns collective_time = 0;    ///< Total duration of the NCCL kernels.
  /// The part of `collective_time` in which the rank waited for others. In each collective, this is the duration in
  /// excess of the shortest duration on any rank. `collective_matcher` decides which kernels belong to one collective.
  time_ns waiting = 0;
  /// The part of `waiting` in waits of a length that occurs rarely, such as waits for connecting, compiling or an
  /// evaluation. A wait recurs if at least `min_recurring` (findings/shared/thresholds.hpp) waits of the rank are about
  /// equally long. The longest of them may be at most four times as long as the shortest.
  time_ns waiting_rarely = 0;
  /// How long other ranks waited in collectives for this rank, which was the last to start: summed over these ranks, so
  /// it can exceed the active time. Waits of a length that occurs rarely are left out, as in `waiting_rarely`.
  time_ns awaited = 0;
  /// The part of `awaited` in waits of at least `late_host` before which the device of this rank had no work, because
  /// its host was late: see `collective_wait::host_late`.
  time_ns awaited_host = 0;
  std::uint64_t reductions = 0;        ///< Number of all-reduces among the collectives.
  std::uint64_t gathers = 0;           ///< Number of all-gathers and reduce-scatters, which sharding needs.
  std::vector<category_share> shares;  ///< Composition of the peak, most bytes first; empty if no category is known.
  std::vector<held_by_stack> held;     ///< Stacks with memory at the peak, most bytes first; at most `limit`.
  std::vector<kernel_total> kernels;   ///< Kernels other than collectives, longest first, at most `limit`.
  static constexpr std::size_t limit = 64;
  /// Hosts that do the same work are up to some 100 us late by turns, because of the scheduler and of interrupts. From
  /// this time (ns) on, a delay is the program's: an order of magnitude more.
  static constexpr time_ns late_host = 1'000'000;
};

/// Collects the metrics of the processes that have a rank, section by section, in order of time. Does nothing unless
/// several processes have a rank.
class ranks_builder {
 public:
  explicit ranks_builder(const metrics_scope& scope);  ///< `scope` must outlive this object.
  /// True if the recording still has the same ranks as at construction. Otherwise nothing more may be added.
  [[nodiscard]] bool knows_the_ranks() const { return ranks_ == get_ranks(scope_.tables()); }

  /// Adds the events in `run`, the time range that `store` covers. Does nothing if there are no ranks. O((blocks +
  /// kernels) * log(blocks + kernels)).
  void add(const index::event_store& store, time_range run);
  /// Finds the peak of each rank. Must be called once, after the last `add`.
  void find_peaks();
  /// The times of the peaks that were found.
  [[nodiscard]] std::vector<time_ns> moments() const;
  /// Adds the blocks held at the peaks in `run`. All sections must have been added to `segments`. O(peaks * blocks).
  void revisit(const index::event_store& store, time_range run, const fragmentation_builder& segments);
  /// Returns the metrics, sorted by rank. `steps` and `untracked` are those of the report.
  [[nodiscard]] std::vector<rank_metrics> metrics(const std::vector<step_summary>& steps,
                                                  const std::vector<untracked_statistics>& untracked) const;

 private:
  struct highest {
    std::int64_t bytes = 0;
    time_ns time = 0;
  };
  /// Waits of about the same length. The index in `waits` is the `std::bit_width` of the length.
  struct waits_of_length {
    std::uint64_t count = 0;
    time_ns total = 0;
    time_ns host_late = 0;  ///< As in `rank_metrics::awaited_host`.
  };
  using waits = std::array<waits_of_length, 65>;
  static constexpr time_ns unknown_begin = -latest_time;
  enum class kernel_kind : std::uint8_t { computes, reduces, gathers, sends, communicates };
  struct work {
    time_ns computing = 0;
    std::uint64_t collectives = 0;
    time_ns collective_time = 0;
    waits waited{};                      ///< The waits of this rank.
    waits awaited{};                     ///< The waits of other ranks for this rank.
    time_ns busy_until = unknown_begin;  ///< End of the work so far.
    time_ns idle = 0;                    ///< How long the device had no work since the rank's last collective.
    std::uint64_t reductions = 0;
    std::uint64_t gathers = 0;
    std::map<trace::string_id, time_ns> kernels;
  };
  void add_memory(const index::memory_use& memory, time_range here);
  void add_work(const index::event_store& store, time_range here);
  /// Sets `collective_part::idle` of `collectives`, which are those of one rank, from all of its work.
  static void measure_idle(work& subject, std::vector<time_range> all_work, std::vector<collective_part>& collectives);
  void add_wait(const collective_wait& wait);
  /// Returns for each length whether waits of about this length occur at least `min_recurring` times.
  static std::array<bool, 65> find_recurring(const waits& subject);
  static void put_waiting(const work& subject, rank_metrics& into);
  kernel_kind get_kind(trace::string_id kernel);

  using rank_by_process = std::map<trace::process_id, std::int64_t>;
  static rank_by_process get_ranks(const trace::tables& tables);

  const metrics_scope& scope_;
  rank_by_process ranks_;
  std::map<trace::process_id, std::map<index::memory_key, highest>> all_;
  std::map<trace::process_id, work> works_;
  std::map<trace::string_id, kernel_kind> kinds_;
  collective_matcher collectives_;
  std::vector<rank_metrics> peaks_;
};

}  // namespace sluice::metrics
