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
/// addressing, at most half full), so that one huge id costs no more than any: those of a part of a recording that came before it, and
/// those that a file holds for no good reason. At most 2^32 - 2 positions. Not thread-safe for writing.
class id_lookup {
 public:
  static constexpr std::size_t none = SIZE_MAX;

  /// `none` if `id` has none. O(1).
  [[nodiscard]] std::size_t find(std::uint64_t id) const {
    if (is_in_array(id)) return dense_[id - first_] - std::size_t{1};  // Of 0: `none`.
    if (sparse_.empty()) return none;
    return sparse_[slot_of(id)].position - std::size_t{1};
  }

  /// About so many more are to come: a table of those whose ids are far apart is made for all of them at once. At most 2^31.
  void expect(std::size_t more) { expected_ = std::min(in_sparse_ + more, most_expected); }
  /// About so many more are to come whose ids follow one another, and the next that is new is the first of them. At most 2^31.
  void expect_run(std::size_t ids) { run_ = std::min(ids, most_expected); }

  /// The position of `id`, and false; or, if it had none, `next`, which is its own from now on, and true. Amortised O(1).
  std::pair<std::size_t, bool> put(std::uint64_t id, std::size_t next) {
    if (run_ > 0 && find(id) == none) begin_run(id);
    if (!is_in_array(id) && id - first_ <= slack * (count_ + 1) + least) widen(id - first_ + 1);
    std::uint32_t& place = is_in_array(id) ? dense_[id - first_] : place_in_table(id);
    if (place != 0) return {place - std::size_t{1}, false};
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
  static constexpr std::size_t most_expected = std::size_t{1} << 31;

  /// Of one below the first the difference is a huge number.
  [[nodiscard]] bool is_in_array(std::uint64_t id) const { return id - first_ < dense_.size(); }

  /// Where `id` is in the table, or would be put.
  [[nodiscard]] std::size_t slot_of(std::uint64_t id) const {
    const std::size_t last = sparse_.size() - 1;
    std::uint64_t mixed =
        id * 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio: neighbours land far apart (Knuth, 6.4).
    mixed ^= mixed >> 32;
    std::size_t at = mixed & last;
    while (sparse_[at].position != 0 && sparse_[at].id != id) at = (at + 1) & last;
    return at;
  }

  /// Its position in the table; 0 if it had none: it is to get one then.
  std::uint32_t& place_in_table(std::uint64_t id) {
    if (2 * (in_sparse_ + 1) > sparse_.size())
      move_sparse(std::max({2 * sparse_.size(), 2 * std::bit_ceil(expected_), std::size_t{64}}));
    slot& found = sparse_[slot_of(id)];
    if (found.position == 0) {
      found.id = id;
      ++in_sparse_;
    }
    return found.position;
  }

  /// To a table of that size, a power of two; what the array has room for goes there.
  void move_sparse(std::size_t size) {
    std::vector<slot> before(size);
    before.swap(sparse_);
    in_sparse_ = 0;
    for (const slot& each : before) {
      if (each.position == 0) continue;
      if (is_in_array(each.id)) {
        dense_[each.id - first_] = each.position;
      } else {
        sparse_[slot_of(each.id)] = each;
        ++in_sparse_;
      }
    }
  }

  void widen(std::uint64_t ids) {
    dense_.resize(std::max<std::size_t>(ids, std::min(2 * dense_.size(), slack * count_ + least)), 0);
    if (!sparse_.empty()) move_sparse(sparse_.size());
  }

  /// From now on the array begins with `id`; what was in it goes into the table.
  void begin_run(std::uint64_t id) {
    const std::uint64_t first_before = std::exchange(first_, id);
    std::vector<std::uint32_t> before(std::exchange(run_, 0));
    before.swap(dense_);
    if (!sparse_.empty()) move_sparse(sparse_.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] == 0) continue;
      const std::uint64_t moved = first_before + i;
      (is_in_array(moved) ? dense_[moved - first_] : place_in_table(moved)) = before[i];
    }
  }

  std::uint64_t first_ = 0;           ///< Id of the array's begin.
  std::vector<std::uint32_t> dense_;  ///< Position + 1, 0: none.
  std::vector<slot> sparse_;
  std::size_t in_sparse_ = 0;
  std::size_t count_ = 0;
  std::size_t expected_ = 0;
  std::size_t run_ = 0;  ///< So many ids are expected to follow the next that is new; 0: none.
};

}  // namespace sluice::analysis
