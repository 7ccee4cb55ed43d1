#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Where in an array the object with an id lies.
namespace sluice::analysis {

/// Ids are dense where our own writer gave them: those are looked up in an array, 4 bytes each. Others go into a hash table (open
/// addressing, at most half full), so that one huge id costs no more than any: those of a part of a recording, and those that a file
/// holds for no good reason. At most 2^32 - 2 positions. Not thread-safe for writing.
class positions {
 public:
  static constexpr std::size_t none = SIZE_MAX;

  /// `none` if `id` has none. O(1).
  [[nodiscard]] std::size_t find(std::uint64_t id) const {
    if (id < dense_.size()) return dense_[id] - std::size_t{1};  // Of 0: `none`.
    if (sparse_.empty()) return none;
    return sparse_[slot_of(id)].position - std::size_t{1};
  }

  /// About so many more are to come: a table of those whose ids are far apart is made for all of them at once. At most 2^31.
  void expect(std::size_t more) { expected_ = std::min(count_ + more, std::size_t{1} << 31); }

  /// The position of `id`, and false; or, if it had none, `next`, which is its own from now on, and true. Amortised O(1).
  std::pair<std::size_t, bool> put(std::uint64_t id, std::size_t next) {
    if (id >= dense_.size() && id <= slack * (count_ + 1) + least) widen(id);
    if (id >= dense_.size() && 2 * (in_sparse_ + 1) > sparse_.size())
      move_sparse(std::max({2 * sparse_.size(), 2 * std::bit_ceil(expected_), std::size_t{64}}));
    std::uint32_t& place = id < dense_.size() ? dense_[id] : sparse_[slot_of(id)].position;
    if (place != 0) return {place - std::size_t{1}, false};
    if (id >= dense_.size()) {
      sparse_[slot_of(id)].id = id;
      ++in_sparse_;
    }
    place = static_cast<std::uint32_t>(next + 1);
    ++count_;
    return {next, true};
  }

 private:
  struct slot {
    std::uint64_t id = 0;
    std::uint32_t position = 0;  ///< + 1; 0: there is nothing here.
  };
  static constexpr std::size_t slack = 4;  ///< The array has room for at most so many ids for each that there is.
  static constexpr std::size_t least = 4096;

  /// Where `id` is, or would be put.
  [[nodiscard]] std::size_t slot_of(std::uint64_t id) const {
    const std::size_t last = sparse_.size() - 1;
    std::uint64_t mixed =
        id * 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio: neighbours land far apart (Knuth, 6.4).
    mixed ^= mixed >> 32;
    std::size_t at = mixed & last;
    while (sparse_[at].position != 0 && sparse_[at].id != id) at = (at + 1) & last;
    return at;
  }

  /// To a table of that size, a power of two; what the array has room for goes there.
  void move_sparse(std::size_t size) {
    std::vector<slot> before(size);
    before.swap(sparse_);
    in_sparse_ = 0;
    for (const slot& each : before) {
      if (each.position == 0) continue;
      if (each.id < dense_.size()) {
        dense_[each.id] = each.position;
      } else {
        sparse_[slot_of(each.id)] = each;
        ++in_sparse_;
      }
    }
  }

  void widen(std::uint64_t id) {
    dense_.resize(std::max<std::size_t>(id + 1, std::min(2 * dense_.size(), slack * count_ + least)), 0);
    if (!sparse_.empty()) move_sparse(sparse_.size());
  }

  std::vector<std::uint32_t> dense_;  ///< Position + 1, 0: none.
  std::vector<slot> sparse_;
  std::size_t in_sparse_ = 0;
  std::size_t count_ = 0;
  std::size_t expected_ = 0;
};

}  // namespace sluice::analysis
