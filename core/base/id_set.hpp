#pragma once

#include <bitset>
#include <cstdint>
#include <unordered_map>

namespace sluice {

/// A set of ids, stored as pages of bits. Consecutive ids take one bit each. An id far from all others takes about a
/// hundred bytes. Not thread-safe for writing.
class id_set {
 public:
  /// Adds `id`. Returns true if `id` was not in the set before.
  bool insert(std::uint64_t id) {
    auto bit = pages_[id / page_ids][id % page_ids];
    const bool fresh = !bit;
    bit = true;
    return fresh;
  }
  [[nodiscard]] bool contains(std::uint64_t id) const {
    const auto page = pages_.find(id / page_ids);
    return page != pages_.end() && page->second.test(id % page_ids);
  }

 private:
  static constexpr std::size_t page_ids = 512;
  std::unordered_map<std::uint64_t, std::bitset<page_ids>> pages_;
};

}  // namespace sluice
