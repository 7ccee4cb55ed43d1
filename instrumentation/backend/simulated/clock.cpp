#include "instrumentation/backend/simulated/clock.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <thread>

namespace sluice::backend {

namespace {

struct thread_time {
  std::uint64_t clock = 0;
  std::int64_t now = 0;
};

// The clocks that this thread has used, latest first. Programs have one clock; tests create many, so the oldest are
// dropped.
// Nothing here is ever destroyed: a thread's last streams may be destroyed with its thread-local objects, and still
// read the clock.
constexpr std::size_t max_clocks = 16;
thread_local std::array<thread_time, max_clocks> times{};
thread_local std::size_t clocks = 0;

// This thread's time on a clock; for a thread new to the clock, `first`.
thread_time& time_on(std::uint64_t clock, std::int64_t first) {
  if (clocks != 0 && times.front().clock == clock) return times.front();
  const auto end = times.begin() + static_cast<std::ptrdiff_t>(clocks);
  auto it = std::find_if(times.begin(), end, [&](const thread_time& t) { return t.clock == clock; });
  if (it == end) {
    if (clocks < max_clocks) {
      ++clocks;
    } else {
      --it;
    }
    *it = {clock, first};
  }
  std::rotate(times.begin(), it, it + 1);
  return times.front();
}

}  // namespace

simulated_clock::simulated_clock() {
  static std::atomic<std::uint64_t> next{1};
  id_ = next.fetch_add(1);
}

std::int64_t simulated_clock::now() const noexcept { return time_on(id_, latest()).now; }

void simulated_clock::set(std::int64_t time) noexcept {
  time_on(id_, time).now = time;
  std::int64_t seen = latest_.load(std::memory_order_relaxed);
  while (seen < time && !latest_.compare_exchange_weak(seen, time, std::memory_order_relaxed)) {
  }
  wait_for_wall(time);
}

void simulated_clock::wait_for_wall(std::int64_t time) const noexcept {
  using namespace std::chrono;
  // In slices, so that threads notice quickly that pacing was stopped.
  constexpr milliseconds slice(5);
  for (;;) {
    const double ratio = pace_.load(std::memory_order_acquire);
    if (ratio <= 0) return;
    const auto simulated = static_cast<double>(time - pace_from_.load(std::memory_order_relaxed));
    const auto due = pace_start_ + nanoseconds(static_cast<std::int64_t>(simulated * ratio));
    const auto now = steady_clock::now();
    if (now >= due) return;
    std::this_thread::sleep_until(std::min(due, now + slice));
  }
}

void simulated_clock::spend(std::int64_t ns) noexcept { set(now() + std::max<std::int64_t>(ns, 0)); }

void simulated_clock::advance_to(std::int64_t time) noexcept { set(std::max(now(), time)); }

void simulated_clock::adopt(std::int64_t time) noexcept { set(time); }

void simulated_clock::pace(double wall_seconds) noexcept {
  pace_start_ = std::chrono::steady_clock::now();
  pace_from_.store(now(), std::memory_order_relaxed);
  pace_.store(wall_seconds, std::memory_order_release);
}

}  // namespace sluice::backend
