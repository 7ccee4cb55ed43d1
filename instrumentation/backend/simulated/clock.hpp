#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace sluice::backend {

/// The clock of a simulated device. Each host thread has its own time on it, which only its own calls and waits move:
/// that keeps one thread's run the same every time, and lets threads that work side by side overlap in simulated time
/// however the real ones are scheduled. A thread that waits for another's result takes over the later time
/// (`advance_to`), as a message carries its time stamp.
///
/// Paced, every step waits until wall time has caught up, so that a live view shows the run at a watchable speed.
/// Thread-safe. Times are nanoseconds.
class simulated_clock {
 public:
  /// Where every run begins. Not 0: records use 0 for "not known".
  static constexpr std::int64_t origin = 1000;

  simulated_clock();

  /// The calling thread's time. A thread seen for the first time begins at the latest time of any.
  [[nodiscard]] std::int64_t now() const noexcept;
  /// The calling thread works for `ns`.
  void spend(std::int64_t ns) noexcept;
  /// The calling thread waits until `time`; does nothing if that has passed.
  void advance_to(std::int64_t time) noexcept;
  /// Sets the calling thread's time, also backwards: for a thread that begins where another handed it work.
  void adopt(std::int64_t time) noexcept;
  /// The latest time of any thread.
  [[nodiscard]] std::int64_t latest() const noexcept { return latest_.load(std::memory_order_relaxed); }

  /// One simulated second takes `wall_seconds` of wall time from now on. Call it before other threads use the clock.
  void pace(double wall_seconds) noexcept;
  /// Full speed from now on; who is waiting for wall time to catch up goes on within a few milliseconds. Any thread.
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
