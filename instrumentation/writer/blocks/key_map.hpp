#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Hash tables with 64-bit keys, for look-ups at each event: one array, no node per value,
/// no division. Key 0 means "none" in all records and cannot be stored. Not thread-safe.
namespace sluice::writer {

namespace detail {
/// Spreads keys with similar low bits, such as addresses, over 64 - `shift`
/// bits (Fibonacci hashing: Knuth, The Art of Computer Programming, 6.4).
[[nodiscard]] constexpr std::size_t spread(std::uint64_t key, unsigned shift) {
  return static_cast<std::size_t>((key * 0x9E37'79B9'7F4A'7C15U) >> shift);
}
}  // namespace detail

/// A map that never drops a value. It is at most half full, so look-ups are O(1) on average.
template <class Value>
class key_map {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The value of `key`; null if there is none.
  [[nodiscard]] const Value* find(std::uint64_t key) const {
    if (size_ == 0 || key == 0) return nullptr;
    for (std::size_t at = detail::spread(key, 64 - bits_);; at = (at + 1) & (slots_.size() - 1)) {
      const slot& p = slots_[at];
      if (p.key == key) return &p.value;
      if (p.key == 0) return nullptr;
    }
  }
  [[nodiscard]] Value* find(std::uint64_t key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  [[nodiscard]] bool contains(std::uint64_t key) const { return find(key) != nullptr; }

  /// Inserts a value, or replaces the existing value of `key`, which must not be 0.
  Value& put(std::uint64_t key, Value value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    std::size_t at = detail::spread(key, 64 - bits_);
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    slot& p = slots_[at];
    if (p.key == 0) ++size_;
    p.key = key;
    return p.value = std::move(value);
  }

 private:
  struct slot {
    std::uint64_t key = 0;
    Value value{};
  };

  void grow() {
    bits_ = slots_.empty() ? 6 : bits_ + 1;
    std::vector<slot> old(std::size_t{1} << bits_);
    old.swap(slots_);
    size_ = 0;
    for (slot& p : old) {
      if (p.key != 0) put(p.key, std::move(p.value));
    }
  }

  std::vector<slot> slots_;
  unsigned bits_ = 0;
  std::size_t size_ = 0;
};

/// Keeps the latest values of keys that count up, such as correlation ids. Each key has exactly one possible
/// slot; a value is dropped only when the table has its full size and a newer key needs the slot. O(1).
template <class Value>
class recent_map {
 public:
  /// `most`: number of slots at full size; a power of two, at least 64.
  explicit recent_map(std::size_t most) : max_(most) {}

  /// The value of `key`; null if it was never stored or has been dropped.
  [[nodiscard]] const Value* find(std::uint64_t key) const {
    if (slots_.empty() || key == 0) return nullptr;
    const slot& p = slots_[get_home(key)];
    return p.key == key ? &p.value : nullptr;
  }
  [[nodiscard]] Value* find(std::uint64_t key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

  /// Inserts a value, or replaces the existing value of `key`, which must not be 0. If the slot contained the value of
  /// another key, drops that value and calls `forget(other key)`. The returned reference is valid until the next `put`.
  template <class Forget>
  Value& put(std::uint64_t key, const Value& value, Forget&& forget) {
    while (!is_free_for(key) && slots_.size() < max_) grow(forget);
    slot& p = slots_[get_home(key)];
    if (p.key != 0 && p.key != key) forget(p.key);
    p.key = key;
    return p.value = value;
  }
  Value& put(std::uint64_t key, const Value& value) {
    return put(key, value, [](std::uint64_t) {});
  }

  /// Removes the value of `key`, if there is one.
  void erase(std::uint64_t key) {
    if (find(key) != nullptr) slots_[get_home(key)] = {};
  }
  /// Removes everything and frees the memory.
  void clear() { std::vector<slot>().swap(slots_); }

 private:
  static constexpr std::size_t fewest = 64;

  struct slot {
    std::uint64_t key = 0;
    Value value{};
  };

  [[nodiscard]] std::size_t get_home(std::uint64_t key) const {
    return static_cast<std::size_t>(key) & (slots_.size() - 1);
  }
  [[nodiscard]] bool is_free_for(std::uint64_t key) const {
    if (slots_.empty()) return false;
    const std::uint64_t there = slots_[get_home(key)].key;
    return there == 0 || there == key;
  }
  template <class Forget>
  void grow(Forget&& forget) {
    std::vector<slot> old(std::max(fewest, 2 * slots_.size()));
    old.swap(slots_);
    for (const slot& p : old) {
      if (p.key != 0) put(p.key, p.value, forget);
    }
  }

  std::size_t max_;
  std::vector<slot> slots_;
};

}  // namespace sluice::writer
