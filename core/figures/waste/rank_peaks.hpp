#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// The highest memory use of each rank of a job, to find the rank that needs more than the others.
namespace sluice::analysis {

class index;

/// The bytes that a call stack held at a rank's peak.
struct held_by_stack {
  trace::stack_id stack{};
  std::uint64_t bytes = 0;
};

/// The highest use of device memory by one rank, in the highest layer that the rank uses.
struct rank_peak {
  trace::process_id process{};
  std::int64_t rank = 0;
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t bytes = 0;
  time_ns time = 0;
  std::vector<held_by_stack> held;  ///< At the peak, most bytes first, at most `limit`.
  static constexpr std::size_t limit = 16;
};

/// Collects the peaks of processes with a rank, if there are several, from indexes of sections in order of time.
class rank_peaks_builder {
 public:
  rank_peaks_builder(const trace::tables& tables, time_range range);

  /// Adds the events in `run`, the time range of `from`. O(blocks log blocks); nothing without ranks.
  void add(const memory_use& memory, time_range run);
  /// Call once, after the last `add`.
  void find_peaks();
  /// The times of the peaks that were found.
  [[nodiscard]] std::vector<time_ns> moments() const;
  /// Adds what the stacks held at the peaks in `run`.
  void look(const memory_use& memory, time_range run);
  /// By rank.
  [[nodiscard]] std::vector<rank_peak> figures() const { return peaks_; }

 private:
  struct highest {
    std::int64_t bytes = 0;
    time_ns time = 0;
  };
  const time_range range_;
  std::map<trace::process_id, std::int64_t> ranks_;
  std::map<trace::process_id, std::map<memory_key, highest>> all_;
  std::vector<rank_peak> peaks_;
};

}  // namespace sluice::analysis
