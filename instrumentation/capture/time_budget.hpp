#pragma once

#include <cstdint>

/// Bounds what a piece of work takes of a thread's time: a token bucket whose tokens are nanoseconds.
namespace sluice::capture {

/// One thread's; not thread-safe. Times are of one clock that does not go back, in ns. Never spends more than `percent` of the
/// time since the first `begin`, but for `burst` once and for what the last piece of work took too long.
class time_budget {
 public:
  /// What may be saved up: a program that copies its weights at its start has them all looked at.
  static constexpr std::int64_t burst = 10'000'000;

  /// Whether there is time for another piece of work now. `percent`: 1..100.
  [[nodiscard]] bool begin(std::uint64_t now, unsigned percent) noexcept {
    if (!begun_) {
      begun_ = true;
      left_ = burst;
    } else if (now > last_) {
      // A debt is at most the longest piece of work, and a gap that fills the bucket need not be counted whole.
      constexpr std::uint64_t longest_gap = std::uint64_t{1} << 50;
      const std::uint64_t gap = now - last_ < longest_gap ? now - last_ : longest_gap;
      left_ += static_cast<std::int64_t>(gap * percent / 100);
      if (left_ > burst) left_ = burst;
    }
    if (now > last_) last_ = now;
    return left_ > 0;
  }

  /// It took `nanoseconds`.
  void spend(std::uint64_t nanoseconds) noexcept { left_ -= static_cast<std::int64_t>(nanoseconds); }

 private:
  bool begun_ = false;
  std::uint64_t last_ = 0;
  std::int64_t left_ = 0;
};

}  // namespace sluice::capture
