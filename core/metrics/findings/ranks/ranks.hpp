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
#include "core/metrics/report/waste/ranks.hpp"
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
