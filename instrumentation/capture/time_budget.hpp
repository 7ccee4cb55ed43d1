#pragma once

#include <cstdint>

/// `time_budget` limits the share of a thread's time that is spent on optional work. It is a token bucket whose tokens
/// are nanoseconds.
namespace sluice::capture {

/// The budget of one thread. It is not thread-safe. Times are ns of one monotonic clock. The thread spends at most
/// `percent` of the time since the first `begin`, plus `burst` once, plus the time by which the last piece of work
/// exceeded the budget.
class time_budget {
 public:
  /// Maximum unspent time that can accumulate, in ns: enough for a program that copies all its weights at its start.
  static constexpr std::int64_t burst = 10'000'000;

  /// Returns true if there is time for another piece of work now. `percent` is 1..100.
  [[nodiscard]] bool begin(std::uint64_t now, unsigned percent) noexcept {
    if (!begun_) {
      begun_ = true;
      left_ = burst;
    } else if (now > last_) {
      // A debt is at most as long as the longest piece of work, so a part of a very long gap is enough to fill the
      // bucket.
      constexpr std::uint64_t longest_gap = std::uint64_t{1} << 50;
      const std::uint64_t gap = now - last_ < longest_gap ? now - last_ : longest_gap;
      left_ += static_cast<std::int64_t>(gap * percent / 100);
      if (left_ > burst) left_ = burst;
    }
    if (now > last_) last_ = now;
    return left_ > 0;
  }

  /// True if at least half of `burst` is left: enough for optional work that takes long.
  [[nodiscard]] bool is_ample() const noexcept { return left_ >= burst / 2; }

  /// Subtracts the time that the work took.
  void spend(std::uint64_t nanoseconds) noexcept { left_ -= static_cast<std::int64_t>(nanoseconds); }

 private:
  bool begun_ = false;
  std::uint64_t last_ = 0;
  std::int64_t left_ = 0;
};

}  // namespace sluice::capture
