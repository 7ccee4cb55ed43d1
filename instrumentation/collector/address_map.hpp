#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace sluice::collector {

/// Values by address, in order of address: a B+ tree of two levels whose leaves hold keys only, so that looking one up
/// among 100,000 touches a handful of cache lines, where std::map touches seventeen nodes. The top level is one sorted
/// array: cheap up to some millions of entries. All operations are O(log n) plus moving part of a leaf.
/// Pointers to values stay valid until that value is erased. Not thread-safe.
template <class Value>
class address_map {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Null if there is none.
  [[nodiscard]] Value* find(std::uint64_t address) {
    return const_cast<Value*>(static_cast<const address_map*>(this)->find(address));
  }
  [[nodiscard]] const Value* find(std::uint64_t address) const {
    const position at = at_or_below_position(address);
    return at.valid() && at.leaf->keys[at.index] == address ? value(at) : nullptr;
  }

  /// The value with the greatest address that is not above `address`; null if there is none.
  [[nodiscard]] const Value* at_or_below(std::uint64_t address) const {
    const position at = at_or_below_position(address);
    return at.valid() ? value(at) : nullptr;
  }

  /// Puts a value where none is; replaces one that is there.
  Value& put(std::uint64_t address, const Value& v) {
    const position below = at_or_below_position(address);
    if (below.valid() && below.leaf->keys[below.index] == address) return value_in(below.leaf->slots[below.index]) = v;
    if (leaves_.empty()) {
      leaves_.push_back(std::make_unique<leaf>());
      firsts_.push_back(address);
    }
    std::size_t number = below.valid() ? below.number : 0;
    std::size_t at = below.valid() ? below.index + 1 : 0;
    if (leaves_[number]->count == leaf_keys) {
      split(number);
      if (at > leaves_[number]->count) at -= leaves_[number++]->count;
    }
    leaf& l = *leaves_[number];
    std::move_backward(l.keys.begin() + at, l.keys.begin() + l.count, l.keys.begin() + l.count + 1);
    std::move_backward(l.slots.begin() + at, l.slots.begin() + l.count, l.slots.begin() + l.count + 1);
    l.keys[at] = address;
    l.slots[at] = new_slot(v);
    ++l.count;
    ++size_;
    firsts_[number] = l.keys[0];
    sought_ = {};
    return value_in(l.slots[at]);
  }

  /// Does nothing if there is none.
  void erase(std::uint64_t address) {
    const position found = at_or_below_position(address);
    if (!found.valid() || found.leaf->keys[found.index] != address) return;
    leaf& l = *leaves_[found.number];
    free_slots_.push_back(l.slots[found.index]);
    if constexpr (!std::is_trivially_destructible_v<Value>) value_in(l.slots[found.index]) = Value{};
    std::move(l.keys.begin() + found.index + 1, l.keys.begin() + l.count, l.keys.begin() + found.index);
    std::move(l.slots.begin() + found.index + 1, l.slots.begin() + l.count, l.slots.begin() + found.index);
    l.keys[--l.count] = UINT64_MAX;
    --size_;
    sought_ = {};
    if (l.count != 0) {
      firsts_[found.number] = l.keys[0];
      return;
    }
    leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(found.number));
    firsts_.erase(firsts_.begin() + static_cast<std::ptrdiff_t>(found.number));
  }

  /// Calls `visit(const Value&)` in order of address.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& l : leaves_) {
      for (std::size_t i = 0; i < l->count; ++i) visit(value_in(l->slots[i]));
    }
  }

 private:
  static constexpr std::size_t leaf_keys = 128;
  static constexpr std::size_t values_per_slab = 256;

  struct leaf {
    leaf() { keys.fill(UINT64_MAX); }
    std::size_t count = 0;
    std::array<std::uint64_t, leaf_keys> keys;  ///< Those behind `count` are UINT64_MAX.
    std::array<std::uint32_t, leaf_keys> slots;
  };
  struct position {
    const struct leaf* leaf = nullptr;
    std::size_t number = 0;
    std::size_t index = 0;
    [[nodiscard]] bool valid() const { return leaf != nullptr; }
  };

  /// How many of a leaf's keys are not above `address`. Without a branch: which way it goes is as good as random.
  [[nodiscard]] static std::size_t keys_up_to(const leaf& l, std::uint64_t address) {
    std::size_t below = 0;
#pragma GCC unroll 8
    for (std::size_t step = leaf_keys / 2; step != 0; step /= 2) {
      below += l.keys[below + step - 1] <= address ? step : 0;
    }
    below += l.keys[below] <= address ? 1 : 0;
    return std::min(below, l.count);
  }
  /// One that is looked for is often changed next: where it was is kept.
  [[nodiscard]] position at_or_below_position(std::uint64_t address) const {
    if (sought_.valid() && sought_address_ == address) return sought_;
    if (leaves_.empty() || address < firsts_.front()) return {};
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), address);
    const auto number = static_cast<std::size_t>(after - firsts_.begin()) - 1;
    const leaf& l = *leaves_[number];
    sought_address_ = address;
    return sought_ = {&l, number, keys_up_to(l, address) - 1};
  }

  void split(std::size_t number) {
    auto upper = std::make_unique<leaf>();
    leaf& lower = *leaves_[number];
    constexpr std::size_t half = leaf_keys / 2;
    std::copy(lower.keys.begin() + half, lower.keys.end(), upper->keys.begin());
    std::copy(lower.slots.begin() + half, lower.slots.end(), upper->slots.begin());
    std::fill(lower.keys.begin() + half, lower.keys.end(), UINT64_MAX);
    upper->count = leaf_keys - half;
    lower.count = half;
    firsts_.insert(firsts_.begin() + static_cast<std::ptrdiff_t>(number) + 1, upper->keys[0]);
    leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(upper));
  }

  [[nodiscard]] const Value* value(const position& at) const { return &value_in(at.leaf->slots[at.index]); }
  [[nodiscard]] Value& value_in(std::uint32_t slot) {
    return (*slabs_[slot / values_per_slab])[slot % values_per_slab];
  }
  [[nodiscard]] const Value& value_in(std::uint32_t slot) const {
    return (*slabs_[slot / values_per_slab])[slot % values_per_slab];
  }
  std::uint32_t new_slot(const Value& v) {
    if (free_slots_.empty()) {
      const auto first = static_cast<std::uint32_t>(slabs_.size() * values_per_slab);
      slabs_.push_back(std::make_unique<std::array<Value, values_per_slab>>());
      for (std::uint32_t i = values_per_slab; i-- > 0;) free_slots_.push_back(first + i);
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    value_in(slot) = v;
    return slot;
  }

  std::vector<std::uint64_t> firsts_;  ///< The lowest key of each leaf.
  std::vector<std::unique_ptr<leaf>> leaves_;
  std::vector<std::unique_ptr<std::array<Value, values_per_slab>>> slabs_;
  std::vector<std::uint32_t> free_slots_;
  std::size_t size_ = 0;
  mutable std::uint64_t sought_address_ = 0;
  mutable position sought_;  ///< Of `sought_address_`, until something is put or erased.
};

}  // namespace sluice::collector
