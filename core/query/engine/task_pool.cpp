#include "core/query/engine/task_pool.hpp"

#include <algorithm>
#include <system_error>

#include "core/base/threads/lower_priority.hpp"
#include "core/base/threads/worker_thread.hpp"

namespace sluice::query {

task_pool::task_pool(unsigned threads) {
  if (!has_threads()) return;
  if (threads == 0) threads = std::max(2U, std::thread::hardware_concurrency()) - 1;
  // If the system refuses some threads, the existing ones run all tasks, because the first runs tasks of both kinds.
  // Without any thread, no query would ever finish, so the exception goes to the creator of the pool.
  threads_.reserve(threads + 1);
  threads_.emplace_back([this] { work(false); });
  try {
    threads_.emplace_back([this] { work(true); });
    while (threads_.size() < threads + 1) threads_.emplace_back([this] { work(false); });
  } catch (const std::system_error&) {
  }
}

void task_pool::add(std::function<void()> task) { add_to(others_, std::move(task)); }

void task_pool::add_quick(std::function<void()> task) { add_to(quick_, std::move(task)); }

void task_pool::add_to(tasks& queue, std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    outstanding_.fetch_add(1, std::memory_order_acq_rel);
    queue.push_back(std::move(task));
  }
  something_.notify_all();
}

void task_pool::stop() {
  tasks dropped[2];  // The tasks are destroyed without the lock, because a task may own objects that lock it.
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    outstanding_.fetch_sub(quick_.size() + others_.size(), std::memory_order_acq_rel);
    dropped[0].swap(quick_);
    dropped[1].swap(others_);
  }
  something_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void task_pool::work(bool only_quick) {
  lower_priority();
  std::unique_lock lock(mutex_);
  for (;;) {
    something_.wait(lock, [&] { return stopping_ || !quick_.empty() || (!only_quick && !others_.empty()); });
    if (stopping_) return;
    run_first(lock);
  }
}

void task_pool::run_first(std::unique_lock<std::mutex>& lock) {
  tasks& queue = quick_.empty() ? others_ : quick_;
  std::function<void()> task = std::move(queue.front());
  queue.pop_front();
  lock.unlock();
  task();
  task = nullptr;
  outstanding_.fetch_sub(1, std::memory_order_acq_rel);
  lock.lock();
}

void task_pool::work_here(std::chrono::steady_clock::time_point until) {
  if (has_threads()) return;
  std::unique_lock lock(mutex_);
  while (!stopping_ && (!quick_.empty() || !others_.empty())) {
    run_first(lock);
    if (std::chrono::steady_clock::now() >= until) return;
  }
}

}  // namespace sluice::query
