#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

namespace sluice::importing {

/// A thread-safe queue that passes items from one thread to another in order. The queue has no size limit, because its
/// users pass the same few items back and forth.
template <class Thing>
class channel {
 public:
  /// Adds an item. Returns false if the channel is closed.
  bool put(Thing thing) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      waiting_.push_back(thing);
    }
    changed_.notify_one();
    return true;
  }

  /// Waits for the next item and removes it. Returns false when the channel is closed and empty.
  bool take(Thing& into) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return false;
    into = waiting_.front();
    waiting_.pop_front();
    return true;
  }

  /// Closes the channel, which then accepts no more items. `drop`: discard the items in it.
  void close(bool drop = false) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (drop) waiting_.clear();
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Thing> waiting_;
  bool closed_ = false;
};

}  // namespace sluice::importing
