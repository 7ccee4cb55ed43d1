#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "instrumentation/writer/blocks/address_order.hpp"
#include "instrumentation/writer/blocks/key_map.hpp"

namespace sluice::writer {

/// A map from addresses to values. Allocators reuse addresses, so the slot of an erased address is kept for the next
/// insertion of that address. Addresses are sorted only for `at_or_below`, which is rarely called: it inserts new
/// addresses into the sorted set and skips erased addresses. Erased addresses are dropped when there are many of them
/// or they were skipped often. All operations are amortized O(1), except `at_or_below`: amortized O(log addresses). A
/// pointer to a value stays valid until that value is erased. Not thread-safe.
template <class Value>
class address_table {
  struct slot {
    std::uint64_t address = 0;
    Value* value = nullptr;  ///< Null if the slot is free; `&gone_` if its value was erased.
  };

 public:
  address_table() = default;
  address_table(const address_table&) = delete;
  address_table& operator=(const address_table&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// The value at exactly `address`; null if there is none.
  [[nodiscard]] const Value* find(std::uint64_t address) const {
    Value* const value = find_slot(address).value;
    return is_here(value) ? value : nullptr;
  }
  [[nodiscard]] Value* find(std::uint64_t address) {
    return const_cast<Value*>(static_cast<const address_table*>(this)->find(address));
  }

  /// The value with the greatest address at or below `address`; null if there is none.
  [[nodiscard]] const Value* at_or_below(std::uint64_t address) const {
    if (size_ == 0) return nullptr;
    if (const Value* const exact = find(address)) return exact;
    put_in_order();
    const Value* below = nullptr;
    order_.walk_down(address, [&](std::uint64_t candidate) {
      below = find(candidate);
      passed_over_ += below == nullptr ? 1 : 0;
      return below != nullptr;
    });
    if (passed_over_ > used_) forget_gone(mask_ + 1);
    return below;
  }

  /// The slot of an address, for callers that perform several operations on the
  /// address. Becomes invalid when another address is inserted or located.
  class spot {
   private:
    friend address_table;
    spot(std::uint64_t address, slot* at) : address_(address), at_(at) {}
    std::uint64_t address_;
    slot* at_;
  };
  [[nodiscard]] spot locate(std::uint64_t address) {
    if (2 * used_ >= mask_) make_room();
    return {address, &find_slot(address)};
  }
  /// The value at this slot's address; null if there is none.
  [[nodiscard]] Value* find(spot where) { return is_here(where.at_->value) ? where.at_->value : nullptr; }

  /// Inserts a value, or replaces the value at this address.
  Value& put(std::uint64_t address, const Value& v) { return put(locate(address), v); }
  Value& put(spot where, const Value& v) {
    slot& p = *where.at_;
    if (is_here(p.value)) return *p.value = v;
    if (p.value == nullptr) {
      p.address = where.address_;
      ++used_;
      unordered_.push_back(where.address_);
    }
    ++size_;
    p.value = new_value();
    return *p.value = v;
  }

  /// Removes the value at this address, if there is one.
  void erase(std::uint64_t address) { erase(spot{address, &find_slot(address)}); }
  void erase(spot where) {
    slot& p = *where.at_;
    if (!is_here(p.value)) return;
    if constexpr (!std::is_trivially_destructible_v<Value>) *p.value = Value{};
    free_.push_back(p.value);
    p.value = &gone_;
    --size_;
  }

  /// Frees all memory if the table is empty.
  void shrink_if_empty() {
    if (size_ != 0) return;
    std::vector<slot>().swap(laid_out_);
    std::vector<std::uint64_t>().swap(unordered_);
    std::vector<Value*>().swap(free_);
    order_ = {};
    slabs_ = decltype(slabs_)();
    slots_ = &nowhere_;
    mask_ = 0;
    shift_ = shift_of_one;
    used_ = passed_over_ = 0;
  }

  /// Calls `visit(const Value&)` in order of address.
  template <class Visit>
  void for_each(Visit&& visit) const {
    put_in_order();
    order_.for_each([&](std::uint64_t address) {
      if (const Value* const value = find(address)) visit(*value);
    });
  }

 private:
  static constexpr std::size_t values_per_slab = 256;
  static constexpr std::size_t fewest_slots = 64;

  [[nodiscard]] bool is_here(const Value* value) const { return value != nullptr && value != &gone_; }

  /// The address's slot, or the free slot where it would be inserted.
  [[nodiscard]] slot& find_slot(std::uint64_t address) const {
    for (std::size_t at = detail::spread(address, shift_);; ++at) {
      slot& p = slots_[at & mask_];
      if (p.address == address || p.value == nullptr) return p;
    }
  }

  void put_in_order() const {
    if (unordered_.empty()) return;
    std::sort(unordered_.begin(), unordered_.end());
    for (const std::uint64_t address : unordered_) order_.insert(address);
    unordered_.clear();
  }

  /// Rebuilds the table so that at most a quarter of the slots are used.
  void make_room() {
    std::size_t slots = fewest_slots;
    while (4 * (size_ + 1) > slots) slots *= 2;
    forget_gone(slots);
  }

  /// Rebuilds the table with `places` slots (a power of two), without erased addresses.
  void forget_gone(std::size_t slots) const {
    const auto has_gone = [&](std::uint64_t address) { return find(address) == nullptr; };
    if (size_ < used_) {
      order_.keep_if(std::not_fn(has_gone));
      unordered_.erase(std::remove_if(unordered_.begin(), unordered_.end(), has_gone), unordered_.end());
    }
    std::vector<slot> old(slots);
    old.swap(laid_out_);
    slots_ = laid_out_.data();
    mask_ = slots - 1;
    shift_ = 64 - static_cast<unsigned>(std::bit_width(mask_));
    for (const slot& p : old) {
      if (is_here(p.value)) find_slot(p.address) = p;
    }
    used_ = size_;
    passed_over_ = 0;
  }

  Value* new_value() {
    if (free_.empty()) {
      slabs_.push_back(std::make_unique<std::array<Value, values_per_slab>>());
      for (std::size_t i = values_per_slab; i-- > 0;) free_.push_back(&(*slabs_.back())[i]);
    }
    Value* const value = free_.back();
    free_.pop_back();
    return value;
  }

  /// The only slot of an empty table, which needs no memory. Always free, because `put` calls `make_room` first.
  static inline slot nowhere_{};
  static constexpr unsigned shift_of_one = 63;  ///< Shifting by 64 is undefined.

  // Mutable, because look-ups may rebuild the table.
  mutable std::vector<slot> laid_out_;
  mutable slot* slots_ = &nowhere_;
  mutable std::size_t mask_ = 0;  ///< Number of slots minus one.
  mutable unsigned shift_ = shift_of_one;
  mutable std::size_t used_ = 0;
  mutable std::size_t passed_over_ = 0;
  mutable address_order order_;
  mutable std::vector<std::uint64_t> unordered_;  ///< Addresses that are not in `order_` yet.
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<std::array<Value, values_per_slab>>> slabs_;
  std::vector<Value*> free_;
  Value gone_{};  ///< A marker: only its address is used.
};

}  // namespace sluice::writer
