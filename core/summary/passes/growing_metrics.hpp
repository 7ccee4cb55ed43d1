#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "core/base/error.hpp"
#include "core/summary/metrics/build_stored_metrics.hpp"
#include "core/summary/passes/growing_summary.hpp"
#include "core/summary/stored/stored_metrics.hpp"

namespace sluice::summary {

/// Computes the stored metrics of a recording that is still being written. Each call takes time only for new events,
/// not for events added before. A section is added permanently once it is settled in the `growing_summary` and ended
/// two steps ago, because within a step or two it becomes known whether memory is used again, and for what. Without
/// steps, the delay is a tenth of the recording, at most ten seconds. The object must be used from one thread at a
/// time.
class growing_metrics {
 public:
  explicit growing_metrics(const stored_metrics_options& options = {});
  ~growing_metrics();
  growing_metrics(const growing_metrics&) = delete;
  growing_metrics& operator=(const growing_metrics&) = delete;

  /// Builds the metrics of `output`, an outcome of the same `growing_summary` as before, or of another summary. Starts
  /// from scratch if the summary started from scratch, or if steps, ranks, shared memory or the devices that run
  /// kernels have changed. Rows that arrived after their section was added are missing. The call starts from scratch to
  /// include these rows if that takes at most a tenth of the time. After an error, the next call starts from scratch.
  /// Errors: those of `build_stored_metrics`. O(new events + events of two steps + sections with a peak + checked
  /// copies).
  [[nodiscard]] result<stored_metrics> build(const growing_summary::outcome& output,
                                             const std::function<bool()>& goes_on = {});
  /// The number of sections that have been added permanently.
  [[nodiscard]] std::size_t added() const;

 private:
  struct state;
  const stored_metrics_options options_;
  std::unique_ptr<state> state_;  ///< Null if the next call starts from scratch.
};

}  // namespace sluice::summary
