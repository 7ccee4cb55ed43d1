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

/// Things that take long to make and that several threads want at a time. Private to core.
namespace sluice::analysis {

/// Keeps what was asked for last, within a budget of memory. `Key` has `is_in(other)`: what is kept under `other` serves who asks for this;
/// and an order, in which no other key lies between one and those that it is in. Thread-safe.
template <class Key, class Value>
class shared_cache {
 public:
  using made = result<std::shared_ptr<const Value>>;

  /// `make` makes the thing of a key, maybe several at a time; `bytes_of` says what it takes of memory. Keeps things of at most
  /// `most_bytes`, but always the last one.
  shared_cache(std::size_t most_bytes, std::function<made(const Key&)> make,
               std::function<std::size_t(const Value&)> bytes_of)
      : most_bytes_(most_bytes), make_(std::move(make)), bytes_of_(std::move(bytes_of)) {}

  /// What is kept, or is made now; others who ask for it meanwhile wait. What is given out stays as long as it is held, be it kept or
  /// not. Errors: those of `make`.
  [[nodiscard]] made get(const Key& key) { return std::move(get_each(std::span(&key, 1)).front()); }

  /// The same of each of some. Callers who ask for the same at a time share the work: none waits while one is left that nobody
  /// makes.
  [[nodiscard]] std::vector<made> get_each(std::span<const Key> keys) { return get_each(keys, make_, {}); }

  /// The same, made with `make(key)`, as long as `goes_on`, if there is one, says yes: who waits for what another makes asks it now and
  /// then. Errors: cancelled; what one gives up another makes.
  template <class Make>
  [[nodiscard]] std::vector<made> get_each(std::span<const Key> keys, Make&& make,
                                           const std::function<bool()>& goes_on) {
    constexpr auto between_looks = std::chrono::milliseconds(10);
    std::vector<std::optional<made>> found(keys.size());
    std::unique_lock lock(mutex_);
    for (;;) {
      std::optional<std::size_t> mine;
      bool all = true;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (found[i]) continue;
        if (auto known = find(keys[i])) {
          found[i] = std::move(known);
          continue;
        }
        all = false;
        if (!mine && !making_.contains(keys[i])) mine = i;
      }
      if (all) break;
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
      given.push_back(each ? std::move(*each) : fail(error_code::cancelled, "nobody wants it any more"));
    return given;
  }

  /// Makes what somebody will ask for, with `make(key)` and not as `get` does, unless it is kept, or somebody makes it: never waits for
  /// that. False if there was nothing to make.
  template <class Make>
  bool make_ahead(const Key& key, Make&& make) {
    std::unique_lock lock(mutex_);
    if (making_.contains(key) || find(key)) return false;
    static_cast<void>(make_and_keep(lock, key, make));
    return true;
  }

  /// The same if it is kept, else null. Never waits.
  [[nodiscard]] std::shared_ptr<const Value> at_hand(const Key& key) {
    const std::scoped_lock lock(mutex_);
    return find(key);
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

  // The caller of each holds the mutex.

  /// Nobody makes it yet. Lets go of the mutex while it is made.
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
    // Those that it serves for as well are no longer needed.
    for (auto next = kept_.lower_bound(key); next != kept_.begin() && std::prev(next)->first.is_in(key);) {
      bytes_ -= std::prev(next)->second.bytes;
      next = kept_.erase(std::prev(next));
    }
    const bool fresh = kept_.try_emplace(key, kept{std::move(value), bytes, ++clock_}).second;
    if (fresh) bytes_ += bytes;
    while (bytes_ > most_bytes_ && kept_.size() > 1) {
      const auto oldest = std::min_element(kept_.begin(), kept_.end(),
                                           [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
      bytes_ -= oldest->second.bytes;
      kept_.erase(oldest);
    }
  }

  const std::size_t most_bytes_;
  const std::function<made(const Key&)> make_;
  const std::function<std::size_t(const Value&)> bytes_of_;
  mutable std::mutex mutex_;  ///< Held for moments only.
  std::condition_variable was_made_;
  std::map<Key, kept> kept_;
  std::set<Key> making_;
  std::size_t bytes_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace sluice::analysis
