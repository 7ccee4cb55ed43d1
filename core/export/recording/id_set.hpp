#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace sluice::exports {

/// A set of ids. Ids in our files are small numbers without large gaps, so they take one bit each. Larger ids, as in a
/// hostile file, go to a hash set.
class id_set {
 public:
  /// Returns true if the id was not in the set.
  bool insert(std::uint64_t id) {
    if (id >= dense_limit) return sparse_.insert(id).second;
    if (id >= dense_.size()) dense_.resize(id + id / 2 + 64);
    const bool fresh = !dense_[id];
    dense_[id] = true;
    return fresh;
  }
  [[nodiscard]] bool contains(std::uint64_t id) const {
    if (id >= dense_limit) return sparse_.contains(id);
    return id < dense_.size() && dense_[id];
  }

 private:
  static constexpr std::uint64_t dense_limit = std::uint64_t{1} << 28;  ///< 32 MiB at most.
  std::vector<bool> dense_;
  std::unordered_set<std::uint64_t> sparse_;
};

}  // namespace sluice::exports
