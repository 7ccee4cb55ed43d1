#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

/// A cache for values that are expensive to compute and that several threads request at the same time. Private to core.
namespace sluice {

/// A cache with a memory budget and least-recently-used eviction. `Key` must have two comparisons. `a.is_in(b)` is true
/// if the value of `b` can also be used for `a`. `a < b` sorts keys: if `a.is_in(b)`, then `b` comes after `a`, and no
/// unrelated key is between them. Thread-safe.
template <class Key, class Value>
class shared_cache {
 public:
  using made = result<std::shared_ptr<const Value>>;

  /// `make` computes the value of a key, and may run for several keys at the same time. `get_bytes` returns how much
  /// memory a value takes. The cache keeps at most `max_bytes`, but it always keeps the newest value.
  shared_cache(std::size_t max_bytes, std::function<made(const Key&)> make,
               std::function<std::size_t(const Value&)> get_bytes)
      : max_bytes_(max_bytes), make_(std::move(make)), bytes_of_(std::move(get_bytes)) {}

  /// Returns the cached value or computes it. Other callers with the same key wait until the value is computed. The
  /// caller may keep a returned value even after the cache has evicted it. Errors: those of `make`.
  [[nodiscard]] made get(const Key& key) { return std::move(get_each(std::span(&key, 1)).front()); }

  /// Returns the values of several keys. Concurrent callers share the work: a thread waits only while other threads are
  /// computing all the values that it still needs.
  [[nodiscard]] std::vector<made> get_each(std::span<const Key> keys) { return get_each(keys, make_, {}); }

  /// Returns the values of several keys; computes missing values with `make(key)`. If `goes_on` is not empty, it is
  /// called every 10 ms while the call waits for other threads. Once `goes_on` returns false, each value that is still
  /// missing becomes the error `cancelled`.
  template <class Make>
  [[nodiscard]] std::vector<made> get_each(std::span<const Key> keys, Make&& make,
                                           const std::function<bool()>& goes_on) {
    constexpr auto between_looks = std::chrono::milliseconds(10);
    std::vector<std::optional<made>> found(keys.size());
    std::unique_lock lock(mutex_);
    for (;;) {
      std::optional<std::size_t> mine;
      bool complete = true;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (found[i]) continue;
        if (auto known = find(keys[i])) {
          found[i] = std::move(known);
          continue;
        }
        complete = false;
        if (!mine && !making_.contains(keys[i])) mine = i;
      }
      if (complete) break;
      if (mine) {
        found[*mine] = make_and_keep(lock, keys[*mine], make);
      } else if (!goes_on) {
        was_made_.wait(lock);
      } else {
        was_made_.wait_for(lock, between_looks);
        if (!goes_on()) break;
      }
    }
    lock.unlock();
    std::vector<made> given;
    given.reserve(keys.size());
    for (std::optional<made>& each : found)
      given.push_back(each ? std::move(*each) : fail(error_code::cancelled, "the result is no longer needed"));
    return given;
  }

  /// Computes and caches the value of `key` in advance, with the `make` of this call instead of the constructor's.
  /// Returns false at once if the value is already cached or another thread is computing it.
  template <class Make>
  bool make_ahead(const Key& key, Make&& make) {
    std::unique_lock lock(mutex_);
    if (making_.contains(key) || find(key)) return false;
    static_cast<void>(make_and_keep(lock, key, make));
    return true;
  }

  /// Returns the cached value, or null if there is none. Never waits for a computation.
  [[nodiscard]] std::shared_ptr<const Value> at_hand(const Key& key) {
    const std::scoped_lock lock(mutex_);
    return find(key);
  }

  /// Caches `value`, unless `key` already has a cached value.
  void put(const Key& key, std::shared_ptr<const Value> value) {
    const std::size_t bytes = bytes_of_(*value);
    const std::scoped_lock lock(mutex_);
    if (!find(key)) keep(key, std::move(value), bytes);
  }

  /// All cached values, least recently used first.
  [[nodiscard]] std::vector<std::pair<Key, std::shared_ptr<const Value>>> all_kept() const {
    std::vector<std::pair<std::uint64_t, std::pair<Key, std::shared_ptr<const Value>>>> pairs;
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& [key, each] : kept_) pairs.push_back({each.used, {key, each.value}});
    }
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::pair<Key, std::shared_ptr<const Value>>> given;
    for (auto& each : pairs) given.push_back(std::move(each.second));
    return given;
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
  }

 private:
  struct kept {
    std::shared_ptr<const Value> value;
    std::size_t bytes = 0;
    std::uint64_t used = 0;
  };

  // The caller must hold the mutex when it calls one of the functions below.

  /// Computes and caches the value of `key`, which no other thread may be computing. The mutex is released during the
  /// computation.
  template <class Make>
  made make_and_keep(std::unique_lock<std::mutex>& lock, const Key& key, Make&& make) {
    making_.insert(key);
    lock.unlock();
    made fresh = make(key);
    const std::size_t bytes = fresh ? bytes_of_(**fresh) : 0;
    lock.lock();
    making_.erase(key);
    if (fresh) keep(key, *fresh, bytes);
    was_made_.notify_all();
    return fresh;
  }

  [[nodiscard]] std::shared_ptr<const Value> find(const Key& key) {
    const auto next = kept_.lower_bound(key);
    if (next == kept_.end() || !key.is_in(next->first)) return nullptr;
    next->second.used = ++clock_;
    return next->second.value;
  }

  void keep(const Key& key, std::shared_ptr<const Value> value, std::size_t bytes) {
    // Evict the entries whose keys are in the new key, because the new value can also be used for these keys.
    for (auto next = kept_.lower_bound(key); next != kept_.begin() && std::prev(next)->first.is_in(key);) {
      bytes_ -= std::prev(next)->second.bytes;
      next = kept_.erase(std::prev(next));
    }
    const bool fresh = kept_.try_emplace(key, kept{std::move(value), bytes, ++clock_}).second;
    if (fresh) bytes_ += bytes;
    while (bytes_ > max_bytes_ && kept_.size() > 1) {
      const auto oldest = std::min_element(kept_.begin(), kept_.end(),
                                           [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
      bytes_ -= oldest->second.bytes;
      kept_.erase(oldest);
    }
  }

  const std::size_t max_bytes_;
  const std::function<made(const Key&)> make_;
  const std::function<std::size_t(const Value&)> bytes_of_;
  mutable std::mutex mutex_;  ///< Never held while a value is computed.
  std::condition_variable was_made_;
  std::map<Key, kept> kept_;
  std::set<Key> making_;
  std::size_t bytes_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace sluice
