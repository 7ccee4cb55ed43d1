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
#include "core/query/engine/stored_sources.hpp"
#include "core/summary/figures/build_stored_figures.hpp"
#include "core/summary/passes/growing_summary.hpp"

namespace sluice::query {

/// Sums up a recording that is still being written, again and again. One thread goes on with the tiles and sections, at a cost that
/// depends on what is new; another builds the figures of all of it, which takes longer the longer the recording is. Until they are
/// done, the older figures stand. Each then pauses for as long as it took. A recording that has ended is summed up at
/// once, as a whole. Thread-safe. Private to core/query.
class live_summarizer {
 public:
  struct outcome {
    std::shared_ptr<const trace::snapshot> trace;
    std::shared_ptr<const stored_sources>
        answers;  ///< Null: no summary could be built; the warnings of `trace` say why.
  };
  /// A thread calls `take` with each new summary. `memory_bytes`: see engine_options.
  live_summarizer(std::size_t memory_bytes, trace::time_ns settles_after, std::function<void(outcome)> take);
  ~live_summarizer();
  live_summarizer(const live_summarizer&) = delete;
  live_summarizer& operator=(const live_summarizer&) = delete;

  /// Gives the thread `newest`, a snapshot newer than those before. Does not wait.
  void look(std::shared_ptr<const trace::snapshot> newest);

  /// True while a summary or figures are being built or are due; false during the pause of a growing recording.
  [[nodiscard]] bool busy() const;

 private:
  using steady = std::chrono::steady_clock;
  struct figures_of {
    std::shared_ptr<const analysis::stored_figures> figures;
    std::shared_ptr<const analysis::section_reader> from;
  };
  void work();
  void sum_up_all(std::shared_ptr<const trace::snapshot> ended);
  void go_on(std::shared_ptr<const trace::snapshot> growing);
  void show(const analysis::growing_summary::outcome& made);
  void work_on_figures();
  /// Builds the first figures. Errors: those of `build_stored_figures`.
  [[nodiscard]] result<figures_of> first_figures(const analysis::growing_summary::outcome& made) const;
  [[nodiscard]] analysis::stored_figures_options how_to_build() const;

  const std::size_t memory_bytes_;
  const bool many_cores_;
  const std::function<void(outcome)> take_;
  std::atomic<bool> stopping_{false};

  // Of the thread that sums up:
  std::optional<analysis::growing_summary> sums_;
  const analysis::growing_summary_options how_;
  std::optional<analysis::growing_summary::outcome> shown_;
  std::shared_ptr<const stored_sources> answers_;  ///< The last that were shown,
  std::size_t settled_ = 0;                        ///< with so many settled sections
  std::size_t beginning_ = 0;                      ///< of this beginning.
  figures_of figures_;

  mutable std::mutex mutex_;  ///< Guards the members below.
  std::condition_variable changed_;
  std::shared_ptr<const trace::snapshot> wanted_;  ///< The snapshot to summarize next; null: none.
  bool working_ = false;
  steady::time_point next_{};                                    ///< Earliest time to summarize a growing recording.
  std::optional<analysis::growing_summary::outcome> unfigured_;  ///< Whose figures are to be built next.
  bool building_ = false;
  steady::time_point next_figures_{};
  std::optional<figures_of> built_;  ///< Figures that were not shown yet.
  worker_thread thread_;             ///< Started by the first `look`.
  worker_thread figures_thread_;     ///< Started by the first growing recording.
};

}  // namespace sluice::query
