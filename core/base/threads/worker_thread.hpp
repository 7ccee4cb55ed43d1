#pragma once

#include <functional>
#include <future>
#include <thread>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"

namespace sluice {

/// True where the program can start threads: everywhere but in a page of a browser that may share no memory, such as
/// one opened from disk.
[[nodiscard]] bool has_threads();

/// From now on `has_threads` is false. Call it before anything starts a thread.
void do_without_threads();

/// One thread with one piece of work, which its destructor waits for. Where there are no threads, `start` does the work
/// itself before it returns. Use from one thread.
class worker_thread {
 public:
  worker_thread() = default;
  ~worker_thread() { join(); }
  worker_thread(const worker_thread&) = delete;
  worker_thread& operator=(const worker_thread&) = delete;

  /// Starts `work`, which must not throw. `what` names it in errors. Error `unavailable` if the system gives no thread.
  [[nodiscard]] result<void> start(std::function<void()> work, const std::string& what = {});
  [[nodiscard]] bool started() const { return thread_.joinable(); }
  void join();

 private:
  std::thread thread_;
};

/// The result of `work`, which runs on a thread of its own, or, where there are no threads, now. The result's destructor
/// waits for the end, as that of `std::async`. Throws std::system_error if the system gives no thread.
template <class Work>
[[nodiscard]] std::future<std::invoke_result_t<Work>> start_async(Work work) {
  if (has_threads()) return std::async(std::launch::async, std::move(work));
  std::packaged_task<std::invoke_result_t<Work>()> done(std::move(work));
  done();
  return done.get_future();
}

}  // namespace sluice
