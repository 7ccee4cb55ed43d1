#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/comparison/diff.hpp"
#include "core/metrics/statistics/range_statistics.hpp"
#include "core/metrics/statistics/tensor_report.hpp"

/// Everything that a comparison needs from one recording, or from a time range in the recording.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// One side of a comparison. All ids refer to the recording of this side.
struct compared_side {
  range_statistics statistics;  ///< Statistics of the range.
  compared_metrics metrics;     ///< The metrics that `sluice diff` compares.
  /// The composition of each layer with tensors, at the `maximum_time` of the layer's memory.
  std::vector<peak_composition> compositions;
  /// The steps that begin in the range, in order. If there are more than `step_limit` steps, only evenly chosen steps
  /// are listed.
  std::vector<index::step> steps;
  index::step_source source = index::step_source::none;  ///< How the steps were found.
  /// Number of steps that begin in the range, including those that are not in `steps`.
  std::uint64_t step_count = 0;
  /// Median duration of the steps in ns; 0 if there are no steps.
  time_ns median_step = 0;

  static constexpr std::size_t step_limit = 4096;
};

/// Sets the members of `into` about steps to those of `process` or, if that is `none`, of the process with the most
/// steps that begin in the range. O(steps).
void put_steps(const index::step_facts& facts, time_range range, compared_side& into,
               trace::process_id process = trace::process_id::none);

/// Removes the metrics of all devices except `device`. The active time and the steps remain those of the whole side.
void keep_device(compared_side& side, trace::device_id device);

/// Computes a side from the events in `range`, which `store` must cover. If `process` is set, `store` must contain only
/// this process. O(events log events).
[[nodiscard]] compared_side make_side(const index::event_store& store, const trace::snapshot& trace, time_range range,
                                      trace::process_id process = trace::process_id::none);

/// Computes a side section by section, without an event store for the whole range. The result equals that of
/// `make_side`, except for the last digits of means.
class compared_side_builder {
 public:
  /// `process`: see `make_side`.
  explicit compared_side_builder(time_range range, trace::process_id process = trace::process_id::none)
      : range_(range), process_(process), measured_(range), scope_{nullptr, bounded(range)} {}
  compared_side_builder(const compared_side_builder&) = delete;
  compared_side_builder& operator=(const compared_side_builder&) = delete;

  /// Adds the events in `part`. Parts are consecutive, and the first part begins with the range. `trace` must outlive
  /// the next call of `side`. O(events log events) of `store`.
  void add(const index::event_store& store, const trace::snapshot& trace, time_range part,
           const std::atomic<bool>& cancelled);
  [[nodiscard]] compared_side side(const trace::tables& tables) const;

 private:
  struct highest_use {
    double bytes = -1;
    stack_use at_peak;
    stack_use allocated;
    std::optional<peak_composition> composition;
  };
  const time_range range_;
  const trace::process_id process_;
  range_measurer measured_;
  std::map<index::memory_key, highest_use> memory_;
  std::map<std::pair<trace::device_id, trace::direction>, stack_use> copies_;
  metrics_scope scope_;
  idle_gaps_builder gaps_{scope_};
  std::shared_ptr<const index::step_facts> steps_;
};

}  // namespace sluice::metrics
