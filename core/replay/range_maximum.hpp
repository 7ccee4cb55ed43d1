#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::replay {

/// Finds the place of the greatest number in a range of places, which are numbered from 0. The implementation is a
/// tournament tree with 4 to 8 bytes per place. Not thread-safe.
class range_maximum {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  explicit range_maximum(std::size_t places) : places_(std::bit_ceil(places)), greatest_(2 * places_) {}

  /// Sets the number at `place`; 0 removes the number. O(log places).
  void set(std::size_t place, std::uint32_t number) {
    std::size_t at = places_ + place;
    greatest_[at] = number;
    while (at > 1) {
      at /= 2;
      greatest_[at] = std::max(greatest_[2 * at], greatest_[2 * at + 1]);
    }
  }

  /// Returns the place of the greatest number in [`first`, `last`). If several places have that number, returns any of
  /// these places. Returns `none` if no place in the range has a number. O(log places).
  [[nodiscard]] std::size_t greatest_in(std::size_t first, std::size_t last) const {
    // Visits the nodes that together cover the range, from both ends towards the middle.
    std::size_t best = 0;
    const auto look_at = [&](std::size_t node) {
      if (best == 0 || greatest_[node] > greatest_[best]) best = node;
    };
    std::size_t low = places_ + first;
    for (std::size_t high = places_ + last; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) look_at(low++);
      if (high % 2 == 1) look_at(--high);
    }
    if (best == 0 || greatest_[best] == 0) return none;
    while (best < places_) best = greatest_[2 * best] == greatest_[best] ? 2 * best : 2 * best + 1;
    return best - places_;
  }

 private:
  std::size_t places_;                   ///< A power of two.
  std::vector<std::uint32_t> greatest_;  ///< Element i is the greater of elements 2i and 2i + 1. The numbers of the
                                         ///< places start at index `places_`.
};

}  // namespace sluice::replay
