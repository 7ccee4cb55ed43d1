#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::query {

/// A few threads of lower priority that run tasks in order of arrival, quick tasks first. Long work is cut into tasks
/// that queue themselves again, so that no question waits behind all of it. Thread-safe.
class task_pool {
 public:
  /// `threads` 0: one less than the machine has cores, at least one. One more thread runs only quick tasks. Makes fewer
  /// if the system gives no more; throws std::system_error if it gives none. Where there are no threads
  /// (`has_threads`), it makes none, and tasks run in `work_here`.
  explicit task_pool(unsigned threads);
  ~task_pool() { stop(); }
  task_pool(const task_pool&) = delete;
  task_pool& operator=(const task_pool&) = delete;

  /// Queues a task; drops it after `stop`. Tasks must not throw.
  void add(std::function<void()> task);

  /// Queues a task that takes less than a frame and must not wait for tasks that may take longer.
  void add_quick(std::function<void()> task);

  /// Where there are no threads: runs waiting tasks until there are none or the time is over. Otherwise nothing. Call it
  /// from the thread that adds tasks, between frames.
  void work_here(std::chrono::steady_clock::time_point until);

  /// Drops waiting tasks, and returns when the running ones have ended. Do not call from a task.
  void stop();

  /// True while a task waits or runs.
  [[nodiscard]] bool busy() const { return outstanding_.load(std::memory_order_acquire) > 0; }

 private:
  using tasks = std::deque<std::function<void()>>;
  void add_to(tasks& queue, std::function<void()> task);
  void work(bool only_quick);
  /// Runs the first task, the lock being released meanwhile. There must be one.
  void run_first(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable something_;
  tasks quick_;
  tasks others_;
  std::atomic<std::size_t> outstanding_{0};
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::query
