#include "core/base/threads/worker_thread.hpp"

#include <atomic>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

std::atomic<bool> threads_exist{true};

}  // namespace

bool has_threads() { return threads_exist.load(std::memory_order_relaxed); }

void do_without_threads() { threads_exist = false; }

result<void> worker_thread::start(std::function<void()> work, const std::string& subject) {
  if (!has_threads()) return fail(error_code::unavailable, "needs a thread, which this page cannot start", subject);
  try {
    thread_ = std::thread(std::move(work));
  } catch (const std::system_error& refused) {
    return fail(error_code::unavailable, "cannot start a thread: " + describe_errno(refused.code().value()), subject,
                "allow more processes and threads (ulimit -u)");
  }
  return {};
}

result<void> worker_thread::start_or_run(std::function<void()> work, const std::string& subject) {
  if (has_threads()) return start(std::move(work), subject);
  work();
  return {};
}

void worker_thread::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace sluice
