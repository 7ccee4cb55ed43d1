#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace sluice::backend {

/// The clock of a simulated device. Each host thread has its own time, which only its own calls and waits advance. So a
/// single thread gets the same times in every run, and concurrent threads overlap in simulated time however the
/// operating system schedules them. A thread that waits for another thread's result advances to the later time
/// (`advance_to`), as with a timestamp in a message.
///
/// When paced, every step waits until wall time has caught up, so that a live view runs at a watchable speed.
/// Thread-safe. Times are nanoseconds.
class simulated_clock {
 public:
  /// The start time of every run. Not 0, because records use 0 for "not known".
  static constexpr std::int64_t origin = 1000;

  simulated_clock();

  /// The calling thread's time. A new thread begins at the latest time of all threads.
  [[nodiscard]] std::int64_t now() const noexcept;
  /// Advances the calling thread's time by `ns` of work.
  void spend(std::int64_t ns) noexcept;
  /// Advances the calling thread's time to `time`; has no effect if the thread's time is already later.
  void advance_to(std::int64_t time) noexcept;
  /// Sets the calling thread's time, even backwards: for a thread that continues work handed over by another thread.
  void adopt(std::int64_t time) noexcept;
  /// The latest time of all threads.
  [[nodiscard]] std::int64_t latest() const noexcept { return latest_.load(std::memory_order_relaxed); }

  /// Makes one simulated second take `wall_seconds` of wall time. Call it before other threads use the clock.
  void pace(double wall_seconds) noexcept;
  /// Ends pacing; threads waiting for wall time continue within a few milliseconds. Callable from any thread.
  void stop_pacing() noexcept { pace_.store(0, std::memory_order_release); }

 private:
  void wait_for_wall(std::int64_t time) const noexcept;
  void set(std::int64_t time) noexcept;

  std::uint64_t id_;
  std::atomic<std::int64_t> latest_{origin};
  std::atomic<double> pace_{0};
  std::atomic<std::int64_t> pace_from_{0};
  std::chrono::steady_clock::time_point pace_start_;
};

}  // namespace sluice::backend
