#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

/// Where in an array the object with an id lies.
namespace sluice::analysis {

/// Ids are dense where our own writer gave them: those are looked up in an array, 4 bytes each. Others, which a file may hold for no good
/// reason, go into a hash map, so that one huge id costs no more than any. At most 2^32 - 2 positions. Not thread-safe for writing.
class positions {
 public:
  static constexpr std::size_t none = SIZE_MAX;

  /// `none` if `id` has none. O(1).
  [[nodiscard]] std::size_t find(std::uint64_t id) const {
    if (id < dense_.size()) return dense_[id] == 0 ? none : dense_[id] - 1;
    const auto known = sparse_.find(id);
    return known == sparse_.end() ? none : known->second;
  }

  /// The position of `id`, and false; or, if it had none, `next`, which is its own from now on, and true. Amortised O(1).
  std::pair<std::size_t, bool> put(std::uint64_t id, std::size_t next) {
    const std::size_t known = find(id);
    if (known != none) return {known, false};
    ++count_;
    if (id >= dense_.size() && id <= slack * count_ + least) widen(id);
    if (id < dense_.size()) {
      dense_[id] = static_cast<std::uint32_t>(next + 1);
    } else {
      sparse_.emplace(id, next);
    }
    return {next, true};
  }

 private:
  static constexpr std::size_t slack = 4;  ///< The array has room for at most so many ids for each that there is.
  static constexpr std::size_t least = 4096;

  void widen(std::uint64_t id) {
    dense_.resize(std::max<std::size_t>(id + 1, std::min(2 * dense_.size(), slack * count_ + least)), 0);
    for (auto at = sparse_.begin(); at != sparse_.end();) {
      if (at->first < dense_.size()) dense_[at->first] = static_cast<std::uint32_t>(at->second + 1);
      at = at->first < dense_.size() ? sparse_.erase(at) : std::next(at);
    }
  }

  std::vector<std::uint32_t> dense_;  ///< Position + 1, 0: none.
  std::unordered_map<std::uint64_t, std::size_t> sparse_;
  std::size_t count_ = 0;
};

}  // namespace sluice::analysis
