#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

/// Private to core/trace.
namespace sluice::trace {

/// A cache of a file's decoded chunks, with LRU eviction. Its budget limits the total size of the rows. Thread-safe.
/// O(log entries).
class chunk_cache {
 public:
  explicit chunk_cache(std::size_t budget) : budget_(budget) {}

  /// The chunk's offset in the file, and the decoded columns (`column_set::bits`) or `spans`.
  using key = std::pair<std::uint64_t, std::uint64_t>;
  static constexpr std::uint64_t spans = 0;  ///< The entry holds the start and end of each row (`row_span`), not rows.

  /// Returns null if there is no entry for `which`.
  std::shared_ptr<const void> find(const key& which) {
    const std::scoped_lock lock(mutex_);
    const auto place = entries_.find(which);
    if (place == entries_.end()) return nullptr;
    order_.splice(order_.begin(), order_, place->second.position);
    return place->second.rows;
  }

  /// Adds `rows`, of size `bytes`, unless there is an entry for `which`. If the cache is then over budget, evicts the
  /// least recently used other entries.
  void put(const key& which, std::shared_ptr<const void> rows, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (entries_.contains(which)) return;
    order_.push_front(which);
    entries_.emplace(which, entry{std::move(rows), bytes, order_.begin()});
    held_ += bytes;
    while (held_ > budget_ && order_.size() > 1) {
      const auto last = entries_.find(order_.back());
      held_ -= last->second.bytes;
      entries_.erase(last);
      order_.pop_back();
    }
  }

 private:
  struct entry {
    std::shared_ptr<const void> rows;
    std::size_t bytes = 0;
    std::list<key>::iterator position;
  };
  std::mutex mutex_;
  std::list<key> order_;
  std::map<key, entry> entries_;
  std::size_t budget_;
  std::size_t held_ = 0;
};

}  // namespace sluice::trace
