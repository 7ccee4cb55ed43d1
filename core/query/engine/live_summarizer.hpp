#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/threads/worker_thread.hpp"
#include "core/query/sources/stored_sources.hpp"
#include "core/summary/metrics/build_stored_metrics.hpp"
#include "core/summary/passes/growing_summary.hpp"

namespace sluice::query {

/// Repeatedly summarizes a recording that is still being written. Snapshots go in; summaries, from which results are
/// computed without reading all rows, come out. One thread extends the summary's tiles and sections, at a cost that
/// depends only on the amount of new data. Another thread builds the metrics of the whole recording, in a time that
/// grows with the recording. Meanwhile, the previous metrics are used. After each summary, a thread pauses for a time
/// proportional to that of its work. A recording that has ended is summarized as a whole, without a pause. Thread-safe.
/// Private to core/query.
class live_summarizer {
 public:
  struct outcome {
    std::shared_ptr<const trace::snapshot> trace;
    std::shared_ptr<const stored_sources>
        results;  ///< Null if no summary could be built; the warnings of `trace` then give the reason.
  };
  /// `take` is called on one of the threads with each new summary. `memory_bytes`: see `engine_options`.
  live_summarizer(std::size_t memory_bytes, trace::time_ns settles_after, std::function<void(outcome)> take);
  ~live_summarizer();
  live_summarizer(const live_summarizer&) = delete;
  live_summarizer& operator=(const live_summarizer&) = delete;

  /// Passes `newest` to the threads. It must be a newer snapshot than in any earlier call. Does not wait.
  void update(std::shared_ptr<const trace::snapshot> newest);

  /// True while a summary or metrics are being built or are due; false while the threads pause for a growing recording.
  [[nodiscard]] bool busy() const;

 private:
  using steady = std::chrono::steady_clock;
  struct section_metrics {
    std::shared_ptr<const summary::stored_metrics> metrics;
    std::shared_ptr<const summary::section_reader> from;
  };
  void work();
  void sum_up_all(std::shared_ptr<const trace::snapshot> ended);
  void go_on(std::shared_ptr<const trace::snapshot> growing);
  void show(const summary::growing_summary::outcome& output);
  void work_on_metrics();
  /// Builds the metrics of a recording that has none yet. Errors: those of `build_stored_metrics`.
  [[nodiscard]] result<section_metrics> first_metrics(const summary::growing_summary::outcome& output) const;
  [[nodiscard]] summary::stored_metrics_options how_to_build() const;

  const std::size_t memory_bytes_;
  const bool many_cores_;
  const std::function<void(outcome)> take_;
  std::atomic<bool> stopping_{false};

  // Members of the summarizing thread:
  std::optional<summary::growing_summary> sums_;
  const summary::growing_summary_options how_;
  std::optional<summary::growing_summary::outcome> shown_;
  std::shared_ptr<const stored_sources> results_;  ///< The results that were passed to `take` last.
  std::size_t settled_ = 0;                        ///< The `settled` of the summary from which `results_` were made.
  std::size_t beginning_ = 0;                      ///< The `beginning` of that summary.
  section_metrics metrics_;

  mutable std::mutex mutex_;  ///< Guards the members below.
  std::condition_variable changed_;
  std::shared_ptr<const trace::snapshot> wanted_;  ///< The snapshot to summarize next, or null.
  bool working_ = false;
  steady::time_point next_{};                                   ///< The earliest time of the next summary.
  std::optional<summary::growing_summary::outcome> unfigured_;  ///< The summary whose metrics are built next.
  bool building_ = false;
  steady::time_point next_metrics_{};
  std::optional<section_metrics> built_;  ///< Metrics that have not been passed to `take` yet.
  worker_thread thread_;                  ///< Started by the first `update`.
  worker_thread metrics_thread_;          ///< Started by the first growing recording.
};

}  // namespace sluice::query
