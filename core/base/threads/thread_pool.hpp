#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/threads/worker_thread.hpp"

namespace sluice {

/// A few threads that run tasks from numbered queues. The tasks of a queue begin in the order in which they were added.
/// Long work must be split into tasks that queue themselves again, so that other tasks do not wait for all of it. A
/// thread starts when one of its queues first gets a task. Thread-safe.
class thread_pool {
 public:
  /// The queues that a thread serves, `first` to `last`. It runs the tasks of queues with lower numbers first.
  struct served_queues {
    std::size_t first = 0, last = 0;
    [[nodiscard]] bool contains(std::size_t queue) const { return first <= queue && queue <= last; }
  };

  /// Makes a queue for each thread. All work of one queue then runs on the same thread, because its memory comes from
  /// that thread's part of the heap. If each piece of work ran on a new thread, every part of the heap would grow to
  /// the size that the largest piece needs.
  explicit thread_pool(std::size_t threads);
  /// Makes a thread of lower priority (`lower_priority`) for each element of `threads`.
  explicit thread_pool(std::span<const served_queues> threads);
  ~thread_pool() { stop(); }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  /// Adds a task, which must not throw, to a queue. After `stop`, drops it instead. On platforms without threads
  /// (`has_threads`), tasks run in `work_here`. If the system refuses some threads, the others run all tasks; if it
  /// refuses all that serve the queue, throws std::system_error.
  void add(std::size_t queue, std::function<void()> task);

  /// Adds `work` to a queue and returns its future result. If no thread serves the queue, runs `work` when the result
  /// is waited for. The result of work that `stop` drops is the exception std::future_error.
  template <class Work>
  [[nodiscard]] std::future<std::invoke_result_t<Work>> start(std::size_t queue, Work work) {
    if (!has_thread(queue)) return std::async(std::launch::deferred, std::move(work));
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Work>()>>(std::move(work));
    auto result = task->get_future();
    add(queue, [task] { (*task)(); });
    return result;
  }

  /// Runs all `pieces` at the same time: the last piece on the calling thread, and each other piece in a queue of its
  /// own, starting with queue number `first`. Returns when all pieces are done. Rethrows the exception of a piece that
  /// throws.
  void do_at_once(std::size_t first, std::span<const std::function<void()>> pieces);

  /// On platforms without threads, runs waiting tasks until none is left or `until` has passed. On other platforms,
  /// does nothing. Call it between frames, from the thread that adds tasks.
  void work_here(std::chrono::steady_clock::time_point until);

  /// Drops waiting tasks, and waits for the running tasks to end. Must not be called from a task.
  void stop();

  /// True while a task waits or runs.
  [[nodiscard]] bool busy() const { return outstanding_.load(std::memory_order_acquire) > 0; }

 private:
  using tasks = std::deque<std::function<void()>>;
  struct member {
    explicit member(served_queues queues) : serves(queues) {}
    served_queues serves;
    std::condition_variable changed;
    worker_thread thread;
  };
  /// Starts the threads that serve a queue. Returns false if there are none. The caller holds the lock.
  [[nodiscard]] bool begin_threads(std::size_t queue);
  [[nodiscard]] bool has_thread(std::size_t queue);
  void work(member& as);
  /// Returns the first of the queues that has a task, or null.
  [[nodiscard]] tasks* find_task(served_queues serves);
  /// Removes and runs the first task of a queue that is not empty, releasing the lock while the task runs.
  void run_first(tasks& queue, std::unique_lock<std::mutex>& lock);

  const bool low_priority_;
  std::mutex mutex_;  ///< Guards the members below.
  std::vector<tasks> queues_;
  std::atomic<std::size_t> outstanding_{0};
  bool stopping_ = false;
  std::deque<member> members_;
};

}  // namespace sluice
