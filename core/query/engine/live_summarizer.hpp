#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "core/base/threads/worker_thread.hpp"
#include "core/query/engine/stored_sources.hpp"

namespace sluice::query {

/// Builds summaries of a recording that is still being written, in its own thread, again and again. After each it
/// pauses as long as that took, so it takes at most half of the time; results lag more the longer the recording is. A
/// recording that has ended is summarized at once. Thread-safe. Private to core/query.
class live_summarizer {
 public:
  struct outcome {
    std::shared_ptr<const trace::snapshot> trace;
    std::shared_ptr<const stored_sources>
        answers;  ///< Null: no summary could be built; the warnings of `trace` say why.
  };
  /// The thread calls `take` with each new summary. `memory_bytes`: see engine_options.
  live_summarizer(std::size_t memory_bytes, std::function<void(outcome)> take)
      : memory_bytes_(memory_bytes), take_(std::move(take)) {}
  ~live_summarizer();
  live_summarizer(const live_summarizer&) = delete;
  live_summarizer& operator=(const live_summarizer&) = delete;

  /// Gives the thread `newest`, a snapshot newer than those before. Does not wait.
  void look(std::shared_ptr<const trace::snapshot> newest);

  /// True while a summary is being built or is due; false during the pause of a growing recording.
  [[nodiscard]] bool busy() const;

 private:
  using steady = std::chrono::steady_clock;
  void work();

  const std::size_t memory_bytes_;
  const std::function<void(outcome)> take_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  ///< Guards the members below.
  std::condition_variable changed_;
  std::shared_ptr<const trace::snapshot> wanted_;  ///< The snapshot to summarize next; null: none.
  bool working_ = false;
  steady::time_point next_{};  ///< Earliest time to summarize a growing recording.
  worker_thread thread_;       ///< Started by the first `look`.
};

}  // namespace sluice::query
