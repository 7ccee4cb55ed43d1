#pragma once

#include <bitset>
#include <cstdint>
#include <unordered_map>

namespace sluice::analysis {

/// A set of ids. Those that were given one after another take a bit each; one far from all others some hundred bytes. Not thread-safe
/// for writing.
class id_set {
 public:
  void insert(std::uint64_t id) { pages_[id / page_ids].set(id % page_ids); }
  [[nodiscard]] bool contains(std::uint64_t id) const {
    const auto page = pages_.find(id / page_ids);
    return page != pages_.end() && page->second.test(id % page_ids);
  }

 private:
  static constexpr std::size_t page_ids = 512;
  std::unordered_map<std::uint64_t, std::bitset<page_ids>> pages_;
};

}  // namespace sluice::analysis
