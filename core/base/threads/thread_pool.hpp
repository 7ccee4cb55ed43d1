#pragma once

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

#include "core/base/threads/worker_thread.hpp"

namespace sluice {

/// A few threads, each for one kind of recurring work. All work of one kind runs on the same thread, because its memory
/// comes from that thread's part of the heap. If each piece of work ran on a new thread, every part of the heap would
/// grow to the size that the largest piece needs. The pool itself must be used from one thread only.
class thread_pool {
 public:
  /// Each thread starts when it first gets work.
  explicit thread_pool(std::size_t threads) : members_(threads) {}
  ~thread_pool();  ///< Waits until all work is done.
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  /// Runs `work` on thread number `thread`, after all work that was added to that thread earlier. If the system cannot
  /// start the thread, runs `work` before returning.
  template <class Work>
  [[nodiscard]] std::future<std::invoke_result_t<Work>> start(std::size_t thread, Work work) {
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Work>()>>(std::move(work));
    auto result = task->get_future();
    add(thread, [task] { (*task)(); });
    return result;
  }

  /// Runs all `pieces` at the same time: the last piece on the calling thread, and each other piece on a thread of its
  /// own, starting with thread number `first`. Returns when all pieces are done. Rethrows the exception of a piece that
  /// throws.
  void do_at_once(std::size_t first, std::span<const std::function<void()>> pieces);

 private:
  struct member {
    std::mutex mutex;  ///< Guards `tasks` and `ending`.
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    bool ending = false;
    worker_thread thread;
  };
  void add(std::size_t thread, std::function<void()> task);
  static void work(member& as);

  std::deque<member> members_;
};

}  // namespace sluice
