#pragma once

#include <functional>
#include <future>
#include <thread>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"

namespace sluice {

/// True if the program can start threads. False only in a browser page without shared memory, such as a page that was
/// opened from disk.
[[nodiscard]] bool has_threads();

/// Makes `has_threads` return false from now on. Call this before any thread is started.
void do_without_threads();

/// One thread that does one piece of work, or a loop of its own. The destructor waits until the work is done. Must be
/// used from one thread only.
class worker_thread {
 public:
  worker_thread() = default;
  ~worker_thread() { join(); }
  worker_thread(const worker_thread&) = delete;
  worker_thread& operator=(const worker_thread&) = delete;

  /// Starts `work`, which must not throw. `subject` names the work in error messages. Error `unavailable` if the system
  /// cannot start a thread, or if there are none (`has_threads`).
  [[nodiscard]] result<void> start(std::function<void()> work, const std::string& subject = {});
  /// The same for work that waits for no other thread: if there are no threads, runs it before returning.
  [[nodiscard]] result<void> start_or_run(std::function<void()> work, const std::string& subject = {});
  [[nodiscard]] bool started() const { return thread_.joinable(); }
  void join();

 private:
  std::thread thread_;
};

/// Runs `work` on a thread of its own, or during the call if there are no threads, and returns its future result. Like
/// that of `std::async`, the destructor of the future waits until the work is done. Throws std::system_error if the
/// system cannot start a thread.
template <class Work>
[[nodiscard]] std::future<std::invoke_result_t<Work>> start_async(Work work) {
  if (has_threads()) return std::async(std::launch::async, std::move(work));
  std::packaged_task<std::invoke_result_t<Work>()> done(std::move(work));
  done();
  return done.get_future();
}

}  // namespace sluice
