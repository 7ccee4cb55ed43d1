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

/// A few threads of lower priority that run tasks in the order in which they were added, quick tasks first. Long work
/// must be split into tasks that queue themselves again, so that no query waits for all of that work. Thread-safe.
class task_pool {
 public:
  /// Starts `threads` threads (0: one less than the number of cores, at least one), and another thread that runs only
  /// quick tasks. If the system refuses some threads, starts fewer; if it refuses all, throws std::system_error. On
  /// platforms without threads (`has_threads`), starts none; tasks then run in `work_here`.
  explicit task_pool(unsigned threads);
  ~task_pool() { stop(); }
  task_pool(const task_pool&) = delete;
  task_pool& operator=(const task_pool&) = delete;

  /// Queues a task. After `stop`, drops it instead. Tasks must not throw.
  void add(std::function<void()> task);

  /// Queues a task that takes less time than a frame and must not wait for longer tasks.
  void add_quick(std::function<void()> task);

  /// On platforms without threads, runs waiting tasks until none is left or `until` has passed. On other platforms,
  /// does nothing. Call between frames, from the thread that adds tasks.
  void work_here(std::chrono::steady_clock::time_point until);

  /// Drops waiting tasks, and waits for the running tasks to end. Must not be called from a task.
  void stop();

  /// True while a task waits or runs.
  [[nodiscard]] bool busy() const { return outstanding_.load(std::memory_order_acquire) > 0; }

 private:
  using tasks = std::deque<std::function<void()>>;
  void add_to(tasks& queue, std::function<void()> task);
  void work(bool only_quick);
  /// Removes and runs the first task of a queue that is not empty, releasing the lock while the task runs.
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
