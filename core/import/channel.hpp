#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

namespace sluice::importing {

/// Hands things over from one thread to another, in order. Holds as many as it is given: who makes few of them bounds it.
template <class Thing>
class channel {
 public:
  /// False when it is closed.
  bool put(Thing thing) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      waiting_.push_back(thing);
    }
    changed_.notify_one();
    return true;
  }

  /// Waits for the next. False when there will be none: it is closed, and empty unless what waited was dropped.
  bool take(Thing& into) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return false;
    into = waiting_.front();
    waiting_.pop_front();
    return true;
  }

  /// No more will be put. `drop`: nor taken.
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
