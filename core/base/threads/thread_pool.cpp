#include "core/base/threads/thread_pool.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>

#include "core/base/threads/lower_priority.hpp"

namespace sluice {

thread_pool::thread_pool(std::size_t threads) : low_priority_(false), queues_(threads) {
  for (std::size_t i = 0; i < threads; ++i) members_.emplace_back(served_queues{i, i});
}

thread_pool::thread_pool(std::span<const served_queues> threads) : low_priority_(true) {
  for (const served_queues& each : threads) {
    queues_.resize(std::max(queues_.size(), each.last + 1));
    members_.emplace_back(each);
  }
}

bool thread_pool::begin_threads(std::size_t queue) {
  bool begun = false;
  for (member& each : members_)
    if (each.serves.contains(queue) && (each.thread.started() || each.thread.start([&] { work(each); }))) begun = true;
  return begun;
}

bool thread_pool::has_thread(std::size_t queue) {
  const std::scoped_lock lock(mutex_);
  return stopping_ || begin_threads(queue);
}

void thread_pool::add(std::size_t queue, std::function<void()> task) {
  const std::scoped_lock lock(mutex_);
  if (stopping_) return;
  // Without any thread, the task would never run.
  if (has_threads() && !begin_threads(queue))
    throw std::system_error(EAGAIN, std::generic_category(), "cannot start a thread");
  outstanding_.fetch_add(1, std::memory_order_acq_rel);
  queues_[queue].push_back(std::move(task));
  for (member& each : members_)
    if (each.serves.contains(queue)) each.changed.notify_one();
}

thread_pool::tasks* thread_pool::find_task(served_queues serves) {
  for (std::size_t i = serves.first; i <= serves.last; ++i)
    if (!queues_[i].empty()) return &queues_[i];
  return nullptr;
}

void thread_pool::work(member& as) {
  if (low_priority_) lower_priority();
  std::unique_lock lock(mutex_);
  for (;;) {
    tasks* queue = nullptr;
    as.changed.wait(lock, [&] { return stopping_ || (queue = find_task(as.serves)) != nullptr; });
    if (stopping_) return;
    run_first(*queue, lock);
  }
}

void thread_pool::run_first(tasks& queue, std::unique_lock<std::mutex>& lock) {
  std::function<void()> task = std::move(queue.front());
  queue.pop_front();
  lock.unlock();
  task();
  task = nullptr;
  outstanding_.fetch_sub(1, std::memory_order_acq_rel);
  lock.lock();
}

void thread_pool::work_here(std::chrono::steady_clock::time_point until) {
  if (has_threads()) return;
  std::unique_lock lock(mutex_);
  while (tasks* const queue = stopping_ ? nullptr : find_task({0, queues_.size() - 1})) {
    run_first(*queue, lock);
    if (std::chrono::steady_clock::now() >= until) return;
  }
}

void thread_pool::stop() {
  // Destroyed without the lock, because a task may own objects that lock it.
  std::vector<tasks> dropped(queues_.size());
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      outstanding_.fetch_sub(queues_[i].size(), std::memory_order_acq_rel);
      dropped[i].swap(queues_[i]);
    }
    for (member& each : members_) each.changed.notify_one();
  }
  dropped.clear();
  for (member& each : members_) each.thread.join();
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
