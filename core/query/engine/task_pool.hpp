#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::query {

/// Of the calling thread: software GL wants the same cores, so who works yields to the thread that draws. Failure costs smoothness only.
void lower_priority();

/// A few threads of lower priority that run tasks in the order they came, quick ones before all others. Long work is cut into tasks that
/// queue themselves again, so that a question never waits behind all of it. Thread-safe.
class task_pool {
 public:
  /// `threads` 0: one less than the machine has cores, at least one. There is one more that runs quick tasks alone.
  /// Fewer if the system gives no more. Throws std::system_error if it gives none.
  explicit task_pool(unsigned threads);
  ~task_pool() { stop(); }
  task_pool(const task_pool&) = delete;
  task_pool& operator=(const task_pool&) = delete;

  /// Dropped after `stop`. Tasks do not throw.
  void add(std::function<void()> task);

  /// The same for a task that takes less than a frame, and must not wait for one that may take longer.
  void add_quick(std::function<void()> task);

  /// Drops what waits and ends when what runs has ended. Not from a task.
  void stop();

  /// True while a task waits or runs.
  [[nodiscard]] bool busy() const { return outstanding_.load(std::memory_order_acquire) > 0; }

 private:
  using tasks = std::deque<std::function<void()>>;
  void add_to(tasks& queue, std::function<void()> task);
  void work(bool only_quick);

  std::mutex mutex_;
  std::condition_variable something_;
  tasks quick_;
  tasks others_;
  std::atomic<std::size_t> outstanding_{0};
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::query
