#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Maps ids to positions in an array.
namespace sluice {

/// Maps a 64-bit id to a position. The ids that Sluice writes are dense, so most of them are looked up in an array,
/// with 4 bytes per id. Ids that are far from the others go into a hash table (open addressing, at most half full), so
/// a huge id costs no more than a small id. Older events and damaged files have such ids. Holds at most 2^32 - 2
/// positions. Not thread-safe for writing.
class id_lookup {
 public:
  static constexpr std::size_t none = SIZE_MAX;

  /// Returns the position of `id`, or `none`. O(1).
  [[nodiscard]] std::size_t find(std::uint64_t id) const {
    if (is_in_array(id)) return dense_[id - first_] - std::size_t{1};  // 0 wraps around to `none`.
    if (sparse_.empty()) return none;
    return sparse_[get_slot(id)].position - std::size_t{1};
  }

  /// Announces that about `more` new ids will be added (at most 2^31), so that the hash table is allocated only once,
  /// at its final size.
  void expect(std::size_t more) { expected_ = std::min(in_sparse_ + more, max_expected); }
  /// Announces that `ids` consecutive ids will be added (at most 2^31), starting with the next new id that is passed to
  /// `put`.
  void expect_run(std::size_t ids) { run_ = std::min(ids, max_expected); }
  /// Announces consecutive ids that start with `first`, even if another id is added before them.
  void expect_run(std::uint64_t first, std::size_t ids) {
    expect_run(ids);
    if (run_ > 0) begin_run(first);
  }

  /// Adds a new `id` at position `next` and returns {next, true}. If `id` was already added, returns {its position,
  /// false}. Amortized O(1).
  std::pair<std::size_t, bool> put(std::uint64_t id, std::size_t next) {
    if (run_ > 0 && find(id) == none) begin_run(id);
    if (!is_in_array(id)) widen_for(id);
    std::uint32_t& place = is_in_array(id) ? dense_[id - first_] : place_in_table(id);
    if (place != 0) return {place - std::size_t{1}, false};
    place = static_cast<std::uint32_t>(next + 1);
    ++count_;
    return {next, true};
  }

 private:
  struct slot {
    std::uint64_t id = 0;
    std::uint32_t position = 0;  ///< Position + 1; 0: the slot is empty.
  };
  static constexpr std::size_t slack = 4;  ///< The array has at most this many elements per stored id.
  static constexpr std::size_t least = 4096;
  static constexpr std::size_t max_expected = std::size_t{1} << 31;

  /// True if the array covers `id`. If `id` is below `first_`, the difference wraps around to a huge number, so the
  /// result is false.
  [[nodiscard]] bool is_in_array(std::uint64_t id) const { return id - first_ < dense_.size(); }

  /// Returns the index of the slot that holds `id` or, if no slot does, of the free slot in which to store it.
  [[nodiscard]] std::size_t get_slot(std::uint64_t id) const {
    const std::size_t last = sparse_.size() - 1;
    std::uint64_t mixed =
        id * 0x9E3779B97F4A7C15U;  // 2^64 divided by the golden ratio: spreads neighboring ids (Knuth, 6.4).
    mixed ^= mixed >> 32;
    std::size_t at = mixed & last;
    while (sparse_[at].position != 0 && sparse_[at].id != id) at = (at + 1) & last;
    return at;
  }

  /// Returns the slot of `id` in the hash table, which holds its position + 1. For a new id, the slot is 0 and the
  /// caller must set it.
  std::uint32_t& place_in_table(std::uint64_t id) {
    if (2 * (in_sparse_ + 1) > sparse_.size())
      move_sparse(std::max({2 * sparse_.size(), 2 * std::bit_ceil(expected_), std::size_t{64}}));
    slot& found = sparse_[get_slot(id)];
    if (found.position == 0) {
      found.id = id;
      ++in_sparse_;
    }
    return found.position;
  }

  /// Rehashes into a table of `size` slots, a power of two. Moves ids that the array now covers into the array.
  void move_sparse(std::size_t size) {
    std::vector<slot> before(size);
    before.swap(sparse_);
    in_sparse_ = 0;
    for (const slot& each : before) {
      if (each.position == 0) continue;
      if (is_in_array(each.id)) {
        dense_[each.id - first_] = each.position;
      } else {
        sparse_[get_slot(each.id)] = each;
        ++in_sparse_;
      }
    }
  }

  /// Extends the array to `id` if the ids are dense enough. The array grows by at least half each time, because
  /// extending it searches the whole hash table. Until enough ids are known, new ids go into the hash table.
  void widen_for(std::uint64_t id) {
    const std::size_t room = slack * (count_ + 1) + least;
    if (id - first_ >= room || 2 * room < 3 * dense_.size()) return;
    dense_.resize(std::max<std::size_t>(id - first_ + 1, std::min(2 * dense_.size(), room)), 0);
    if (!sparse_.empty()) move_sparse(sparse_.size());
  }

  /// Makes `id` the first id of the array. Moves ids that the array no longer covers into the hash table.
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

  std::uint64_t first_ = 0;           ///< Id of the array's first element.
  std::vector<std::uint32_t> dense_;  ///< Element i: the position + 1 of id `first_` + i; 0: no such id.
  std::vector<slot> sparse_;
  std::size_t in_sparse_ = 0;
  std::size_t count_ = 0;
  std::size_t expected_ = 0;
  std::size_t run_ = 0;  ///< Announced number of consecutive new ids (`expect_run`); 0: none.
};

}  // namespace sluice
