#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "instrumentation/writer/blocks/address_table.hpp"

namespace sluice::writer {

/// The latest values that were added ("notes"), each with an address. Every event adds a note, but notes are rarely
/// looked up. So a note is only appended, and is indexed by address at the next look-up: updating a hash table at
/// random positions would cost more than all other work for the event. Not thread-safe.
template <class Value>
class recent_frees {
 public:
  /// `most`: the number of notes to keep, a power of two.
  explicit recent_frees(std::size_t most) : max_(most) {}

  /// Adds a note; replaces an earlier note for the same address. O(1).
  void put(std::uint64_t address, const Value& value) {
    if (notes_.size() < 2 * max_) [[unlikely]] {
      notes_.push_back({address, value});
    } else {
      notes_[get_place(written_)] = {address, value};
    }
    ++written_;
  }

  /// The note for exactly `address`; null if there is none. O(1), plus O(1) for each note added since the last look-up.
  [[nodiscard]] const Value* find(std::uint64_t address) const {
    sort_in();
    const numbered* const found = by_address_->find(address);
    return found == nullptr ? nullptr : &found->value;
  }
  /// The note with the highest address that is not above `address`; null if there is none. Amortized O(log notes).
  [[nodiscard]] const Value* at_or_below(std::uint64_t address) const {
    sort_in();
    const numbered* const found = by_address_->at_or_below(address);
    return found == nullptr ? nullptr : &found->value;
  }
  /// Removes everything and frees the memory.
  void clear() {
    std::vector<note>().swap(notes_);  // `= {}` would keep the memory.
    written_ = sorted_in_ = 0;
    by_address_ = std::make_unique<index>();
  }
  /// Removes the note for `address`, if there is one.
  void erase(std::uint64_t address) {
    sort_in();
    by_address_->erase(address);
  }

 private:
  struct note {
    std::uint64_t address = 0;
    Value value{};
  };
  struct numbered {
    Value value{};
    std::uint64_t number = 0;  ///< Sequence number of the note.
  };
  using index = address_table<numbered>;

  [[nodiscard]] std::size_t get_place(std::uint64_t number) const {
    return static_cast<std::size_t>(number) & (2 * max_ - 1);
  }

  void sort_in() const {
    if (written_ - sorted_in_ > max_) {
      by_address_ = std::make_unique<index>();
      sorted_in_ = written_ - max_;
    }
    for (; sorted_in_ < written_; ++sorted_in_) {
      if (sorted_in_ >= max_) forget(sorted_in_ - max_);
      const note& next = notes_[get_place(sorted_in_)];
      by_address_->put(next.address, {next.value, sorted_in_});
    }
  }
  void forget(std::uint64_t number) const {
    const std::uint64_t address = notes_[get_place(number)].address;
    const numbered* const found = by_address_->find(address);
    if (found != nullptr && found->number == number) by_address_->erase(address);
  }

  std::size_t max_;
  std::vector<note> notes_;  ///< A ring of twice the kept size, so that expired notes can still be read.
  std::uint64_t written_ = 0;
  mutable std::uint64_t sorted_in_ = 0;  ///< Notes before this number are in `by_address_`.
  mutable std::unique_ptr<index> by_address_ = std::make_unique<index>();
};

}  // namespace sluice::writer
