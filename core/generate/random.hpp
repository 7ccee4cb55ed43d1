#pragma once

#include <cstdint>

namespace sluice::generate {

/// Generates random numbers. Unlike those of the standard library's distributions, they are the same on every machine.
/// Uses splitmix64, from Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
class random {
 public:
  explicit random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e37'79b9'7f4a'7c15;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
  }

  /// Returns a number in [0, limit). `limit` must be above 0 and below 2^32. The bias is below 2^-32 for the limits
  /// used here.
  std::uint64_t below(std::uint64_t limit) { return ((next() >> 32) * limit) >> 32; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }

  /// True with a probability of 1 / `value`.
  bool once_in(std::uint64_t value) { return below(value) == 0; }

  /// Returns a value within `percent` of `typical`, computed from the sum of two random numbers. One value in
  /// `outlier_in` is larger by one to nine times `typical`, as if the host had been interrupted. If `outlier_in` is 0,
  /// there are no outliers.
  std::int64_t around(std::int64_t typical, std::uint64_t percent, std::uint64_t outlier_in = 0) {
    const std::uint64_t spread = static_cast<std::uint64_t>(typical) * percent / 100;
    std::int64_t value =
        typical - static_cast<std::int64_t>(spread) + static_cast<std::int64_t>(below(spread + 1) + below(spread + 1));
    if (outlier_in != 0 && once_in(outlier_in)) value += typical * static_cast<std::int64_t>(between(1, 9));
    return value;
  }

 private:
  std::uint64_t state_;
};

}  // namespace sluice::generate
