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

/// A few threads, each for work of one kind that comes again and again. Work of the same kind stays on one thread, because
/// what is allocated there is taken from that thread's share of the heap: with a new thread for each piece of work, every
/// share would grow to the largest piece. Use from one thread.
class crew {
 public:
  /// Threads start when they get their first work.
  explicit crew(std::size_t threads) : members_(threads) {}
  ~crew();  ///< Waits until all work is done.
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  /// Does `work` on a thread, after all that it got before. Where the system gives no thread, does it before returning.
  template <class Work>
  [[nodiscard]] std::future<std::invoke_result_t<Work>> start(std::size_t thread, Work work) {
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Work>()>>(std::move(work));
    auto result = task->get_future();
    add(thread, [task] { (*task)(); });
    return result;
  }

  /// Does all `pieces` at the same time: the last on the calling thread, each other on a thread of its own, from `first`
  /// on. Returns when all have ended. Rethrows what a piece throws.
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
