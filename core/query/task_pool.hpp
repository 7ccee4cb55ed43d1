#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::query {

/// A few threads of lower priority that run tasks in the order they came. Long work is cut into tasks that queue
/// themselves again, so that a question never waits behind all of it. Thread-safe.
class task_pool {
 public:
  /// `threads` 0: one less than the machine has cores, at least one.
  explicit task_pool(unsigned threads);
  ~task_pool() { stop(); }
  task_pool(const task_pool&) = delete;
  task_pool& operator=(const task_pool&) = delete;

  /// Dropped after `stop`. Tasks do not throw.
  void add(std::function<void()> task);

  /// Drops what waits and ends when what runs has ended. Not from a task.
  void stop();

  /// True while a task waits or runs.
  [[nodiscard]] bool busy() const { return outstanding_.load(std::memory_order_acquire) > 0; }

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable something_;
  std::deque<std::function<void()>> tasks_;
  std::atomic<std::size_t> outstanding_{0};
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::query
