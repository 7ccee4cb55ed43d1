#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::writer {

/// A sorted set of addresses: a two-level B+ tree. A look-up among 100,000 addresses loads about five cache lines, in a
/// std::set seventeen nodes. The top level is one array: cheap up to a few million addresses. Not thread-safe.
class address_order {
 public:
  /// Inserts an address, which must not be present. O(log addresses), plus moving a part of a leaf.
  void insert(std::uint64_t address) {
    if (leaves_.empty()) {
      leaves_.push_back(std::make_unique<leaf>());
      firsts_.push_back(address);
    }
    std::size_t number = get_leaf(address);
    if (leaves_[number]->count == leaf_keys) {
      split(number);
      if (address >= firsts_[number + 1]) ++number;
    }
    leaf& l = *leaves_[number];
    const std::size_t at = keys_up_to(l, address);
    std::move_backward(l.keys.begin() + at, l.keys.begin() + l.count, l.keys.begin() + l.count + 1);
    l.keys[at] = address;
    ++l.count;
    firsts_[number] = l.keys[0];
  }

  /// Calls `found(address)` for the addresses at or below `highest`, greatest first, until `found` returns true.
  template <class Found>
  void walk_down(std::uint64_t highest, Found&& found) const {
    if (leaves_.empty() || highest < firsts_.front()) return;
    std::size_t number = get_leaf(highest);
    std::size_t left = keys_up_to(*leaves_[number], highest);
    for (;;) {
      while (left > 0) {
        if (found(leaves_[number]->keys[--left])) return;
      }
      if (number == 0) return;
      left = leaves_[--number]->count;
    }
  }

  /// Calls `visit(address)` in ascending order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& l : leaves_) std::for_each(l->keys.begin(), l->keys.begin() + l->count, visit);
  }

  /// Keeps only the addresses for which `keep(address)` is true. O(addresses).
  template <class Keep>
  void keep_if(Keep&& keep) {
    std::vector<std::unique_ptr<leaf>> kept;
    firsts_.clear();
    for_each([&](std::uint64_t address) {
      if (!keep(address)) return;
      if (kept.empty() || kept.back()->count == filled_keys) {
        kept.push_back(std::make_unique<leaf>());
        firsts_.push_back(address);
      }
      leaf& l = *kept.back();
      l.keys[l.count++] = address;
    });
    leaves_ = std::move(kept);
  }

 private:
  static constexpr std::size_t leaf_keys = 128;
  static constexpr std::size_t filled_keys = leaf_keys / 4 * 3;  ///< Fill level of rebuilt leaves.

  struct leaf {
    leaf() { keys.fill(UINT64_MAX); }
    std::size_t count = 0;
    std::array<std::uint64_t, leaf_keys> keys;  ///< Entries after `count` are UINT64_MAX.
  };

  /// The number of keys in a leaf that are at or below `address`. Branch-free, because branches would be unpredictable.
  [[nodiscard]] static std::size_t keys_up_to(const leaf& l, std::uint64_t address) {
    std::size_t below = 0;
#pragma GCC unroll 8
    for (std::size_t step = leaf_keys / 2; step != 0; step /= 2) {
      below += l.keys[below + step - 1] <= address ? step : 0;
    }
    below += l.keys[below] <= address ? 1 : 0;
    return std::min(below, l.count);
  }
  /// Index of the last leaf whose first key is at or below `address`; 0 if there is no such leaf.
  [[nodiscard]] std::size_t get_leaf(std::uint64_t address) const {
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), address);
    return after == firsts_.begin() ? 0 : static_cast<std::size_t>(after - firsts_.begin()) - 1;
  }

  void split(std::size_t number) {
    auto upper = std::make_unique<leaf>();
    leaf& lower = *leaves_[number];
    constexpr std::size_t half = leaf_keys / 2;
    std::copy(lower.keys.begin() + half, lower.keys.end(), upper->keys.begin());
    std::fill(lower.keys.begin() + half, lower.keys.end(), UINT64_MAX);
    upper->count = leaf_keys - half;
    lower.count = half;
    firsts_.insert(firsts_.begin() + static_cast<std::ptrdiff_t>(number) + 1, upper->keys[0]);
    leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(upper));
  }

  std::vector<std::uint64_t> firsts_;  ///< The lowest key of each leaf.
  std::vector<std::unique_ptr<leaf>> leaves_;
};

}  // namespace sluice::writer
