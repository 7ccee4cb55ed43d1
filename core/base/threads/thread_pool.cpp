#include "core/base/threads/thread_pool.hpp"

#include <exception>
#include <vector>

namespace sluice {

thread_pool::~thread_pool() {
  for (member& each : members_) {
    const std::scoped_lock lock(each.mutex);
    each.ending = true;
    each.changed.notify_one();
  }
}

void thread_pool::add(std::size_t thread, std::function<void()> task) {
  member& to = members_[thread];
  const auto begun = [&] { return has_threads() && to.thread.start([&to] { work(to); }).has_value(); };
  if (!to.thread.started() && !begun()) return task();
  const std::scoped_lock lock(to.mutex);
  to.tasks.push_back(std::move(task));
  to.changed.notify_one();
}

void thread_pool::work(member& as) {
  std::unique_lock lock(as.mutex);
  for (;;) {
    as.changed.wait(lock, [&] { return as.ending || !as.tasks.empty(); });
    if (as.tasks.empty()) return;
    {
      const std::function<void()> task = std::move(as.tasks.front());
      as.tasks.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
  }
}

void thread_pool::do_at_once(std::size_t first, std::span<const std::function<void()>> pieces) {
  if (pieces.empty()) return;
  std::vector<std::future<void>> others;
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
    others.push_back(start(first + i, [&piece = pieces[i]] { piece(); }));
  std::exception_ptr thrown;
  const auto keep_thrown = [&](auto&& piece) {
    try {
      piece();
    } catch (...) {
      if (!thrown) thrown = std::current_exception();
    }
  };
  keep_thrown(pieces.back());
  for (std::future<void>& other : others) keep_thrown([&] { other.get(); });
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace sluice
