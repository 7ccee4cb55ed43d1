#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// `pool_index` finds the block that begins at an address. Only a pool's heap uses it.

namespace sluice::runtime::pooling {

/// A hash table of blocks by address, with linear probing. One thread at a time may modify it; any thread may
/// search without a lock. A block that is found is always right. But a search may miss an entry that is being moved, so
/// "not found" must be confirmed while no thread modifies the table. Expected O(1). `Block` has an atomic `address`.
template <class Block>
class block_index {
 public:
  block_index() { use(std::make_unique<table>(std::size_t{1} << 10)); }

  [[nodiscard]] Block* find(std::uint64_t address) const noexcept {
    const table& t = *current_.load(std::memory_order_acquire);
    for (std::size_t at = t.get_place(address);; at = t.after(at)) {
      Block* b = t.slots[at].load(std::memory_order_acquire);
      if (b == nullptr || b->address.load(std::memory_order_relaxed) == address) return b;
    }
  }
  /// Finds a block with a single probe of the hash table, which is usually enough. If null, call `find`.
  [[nodiscard]] Block* find_at_once(std::uint64_t address) const noexcept {
    const table& t = *current_.load(std::memory_order_acquire);
    Block* b = t.slots[t.get_place(address)].load(std::memory_order_acquire);
    return b != nullptr && b->address.load(std::memory_order_relaxed) == address ? b : nullptr;
  }

  /// Makes space for one more entry, so that the next `insert` cannot fail. Throws std::bad_alloc.
  void reserve() {
    const table& t = *current_.load(std::memory_order_relaxed);
    if ((size_ + 1) * 2 <= t.mask + 1) return;
    auto larger = std::make_unique<table>((t.mask + 1) * 2);
    for (std::size_t i = 0; i <= t.mask; ++i) {
      if (Block* b = t.slots[i].load(std::memory_order_relaxed)) larger->put(b);
    }
    use(std::move(larger));
  }

  void insert(Block* b) noexcept {
    current_.load(std::memory_order_relaxed)->put(b);
    ++size_;
  }

  void erase(const Block* b) noexcept {
    table& t = *current_.load(std::memory_order_relaxed);
    std::size_t hole = t.get_place(b->address.load(std::memory_order_relaxed));
    while (t.slots[hole].load(std::memory_order_relaxed) != b) hole = t.after(hole);
    // Later entries move up, but not before their home slot (Knuth vol. 3, 6.4, algorithm R). So the table needs no
    // tombstones.
    for (std::size_t at = t.after(hole);; at = t.after(at)) {
      Block* next = t.slots[at].load(std::memory_order_relaxed);
      if (next == nullptr) break;
      const std::size_t own = t.get_place(next->address.load(std::memory_order_relaxed));
      if (((at - own) & t.mask) < ((at - hole) & t.mask)) continue;
      t.slots[hole].store(next, std::memory_order_release);
      hole = at;
    }
    t.slots[hole].store(nullptr, std::memory_order_release);
    --size_;
  }

 private:
  struct table {
    explicit table(std::size_t size)
        : mask(size - 1),
          shift(64u - static_cast<unsigned>(std::countr_zero(size))),
          slots(new std::atomic<Block*>[size]()) {}

    /// Fibonacci hashing (Knuth vol. 3, 6.4) of the address in granules. Addresses are
    /// multiples of 512, so multiplying by 1/512 of the usual factor gives the same result.
    [[nodiscard]] std::size_t get_place(std::uint64_t address) const noexcept {
      return static_cast<std::size_t>((address * (0x9E3779B97F4A7C15u / 512)) >> shift);
    }
    [[nodiscard]] std::size_t after(std::size_t at) const noexcept { return (at + 1) & mask; }
    void put(Block* b) noexcept {
      std::size_t at = get_place(b->address.load(std::memory_order_relaxed));
      while (slots[at].load(std::memory_order_relaxed) != nullptr) at = after(at);
      slots[at].store(b, std::memory_order_release);
    }

    std::size_t mask;
    unsigned shift;
    std::unique_ptr<std::atomic<Block*>[]> slots;
  };

  void use(std::unique_ptr<table> t) {
    tables_.push_back(std::move(t));
    current_.store(tables_.back().get(), std::memory_order_release);
  }

  std::atomic<table*> current_{nullptr};
  // Old tables are kept, because other threads may be reading them. Together they are as large as the current one.
  std::vector<std::unique_ptr<table>> tables_;
  std::size_t size_ = 0;
};

}  // namespace sluice::runtime::pooling
