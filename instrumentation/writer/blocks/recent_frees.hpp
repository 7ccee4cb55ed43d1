#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "instrumentation/writer/blocks/address_table.hpp"

namespace sluice::collector {

/// The latest notes by address, of which there is one an event, and which hardly anybody asks for. So a note is only put down behind
/// the one before, and notes are sorted in by address once somebody asks: a table that is looked up at random costs more than all else
/// that is done for the event. Not thread-safe.
template <class Value>
class recent_frees {
 public:
  /// `most`: how many of the latest are kept, a power of two.
  explicit recent_frees(std::size_t most) : most_(most) {}

  /// Goes before an earlier one of the same address. O(1).
  void put(std::uint64_t address, const Value& value) {
    if (notes_.size() < 2 * most_) [[unlikely]] {
      notes_.push_back({address, value});
    } else {
      notes_[place_of(written_)] = {address, value};
    }
    ++written_;
  }

  /// Null if there is none. O(1), and once for each note that was put since the last question.
  [[nodiscard]] const Value* find(std::uint64_t address) const {
    sort_in();
    const numbered* const found = by_address_->find(address);
    return found == nullptr ? nullptr : &found->value;
  }
  /// The one with the greatest address that is not above `address`; null if there is none. As `find`, but O(log most) amortised.
  [[nodiscard]] const Value* at_or_below(std::uint64_t address) const {
    sort_in();
    const numbered* const found = by_address_->at_or_below(address);
    return found == nullptr ? nullptr : &found->value;
  }
  /// Forgets all, and gives the memory back.
  void clear() {
    std::vector<note>().swap(notes_);  // `= {}` would keep it.
    written_ = sorted_in_ = 0;
    by_address_ = std::make_unique<index>();
  }
  /// Does nothing if there is none.
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
    std::uint64_t number = 0;  ///< Of the note.
  };
  using index = address_table<numbered>;

  [[nodiscard]] std::size_t place_of(std::uint64_t number) const {
    return static_cast<std::size_t>(number) & (2 * most_ - 1);
  }

  void sort_in() const {
    if (written_ - sorted_in_ > most_) {
      by_address_ = std::make_unique<index>();
      sorted_in_ = written_ - most_;
    }
    for (; sorted_in_ < written_; ++sorted_in_) {
      if (sorted_in_ >= most_) forget(sorted_in_ - most_);
      const note& next = notes_[place_of(sorted_in_)];
      by_address_->put(next.address, {next.value, sorted_in_});
    }
  }
  void forget(std::uint64_t number) const {
    const std::uint64_t address = notes_[place_of(number)].address;
    const numbered* const found = by_address_->find(address);
    if (found != nullptr && found->number == number) by_address_->erase(address);
  }

  std::size_t most_;
  std::vector<note> notes_;  ///< A ring of twice as many as are kept: those that have to go are known by it.
  std::uint64_t written_ = 0;
  mutable std::uint64_t sorted_in_ = 0;  ///< Those before it.
  mutable std::unique_ptr<index> by_address_ = std::make_unique<index>();
};

}  // namespace sluice::collector
