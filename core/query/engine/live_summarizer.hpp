#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/query/engine/stored_sources.hpp"

namespace sluice::query {

/// Sums up, in a thread of its own, a recording that is still written: what there is of it, and again when there is more. At most half of the time
/// goes into that, of what others leave, so what is known is the older the longer the recording is; once it ended, all of it is summed up at once.
/// Thread-safe. Private to core/query.
class live_summarizer {
 public:
  struct outcome {
    std::shared_ptr<const trace::snapshot> trace;
    std::shared_ptr<const stored_sources>
        answers;  ///< Null: it could not be summed up; the warnings of `trace` say why.
  };
  /// `take` is called by the thread. `memory_bytes`: see engine_options.
  live_summarizer(std::size_t memory_bytes, std::function<void(outcome)> take)
      : memory_bytes_(memory_bytes), take_(std::move(take)) {}
  ~live_summarizer();
  live_summarizer(const live_summarizer&) = delete;
  live_summarizer& operator=(const live_summarizer&) = delete;

  /// There is this snapshot, newer than those before. Does not wait.
  void look(std::shared_ptr<const trace::snapshot> newest);

  /// Something is being summed up, or about to be; false while a recording that grows has to wait.
  [[nodiscard]] bool busy() const;

 private:
  using steady = std::chrono::steady_clock;
  void work();

  const std::size_t memory_bytes_;
  const std::function<void(outcome)> take_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  ///< Guards what follows.
  std::condition_variable changed_;
  std::shared_ptr<const trace::snapshot> wanted_;  ///< Null: nothing new.
  bool working_ = false;
  steady::time_point next_{};  ///< Not before, while it grows.
  std::thread thread_;         ///< Begun by the first look.
};

}  // namespace sluice::query
