#include "core/query/task_pool.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

namespace sluice::query {
namespace {

/// Software GL wants the same cores: tasks yield to the thread that draws. Failure costs smoothness only.
void lower_priority() {
  const sched_param none{};
  static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &none));
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, 10));  // On Linux: of this thread.
}

}  // namespace

task_pool::task_pool(unsigned threads) {
  if (threads == 0) threads = std::max(2U, std::thread::hardware_concurrency()) - 1;
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

void task_pool::add(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    outstanding_.fetch_add(1, std::memory_order_acq_rel);
    tasks_.push_back(std::move(task));
  }
  something_.notify_one();
}

void task_pool::stop() {
  std::deque<std::function<void()>> dropped;  // Destroyed without the lock: a task may own what locks.
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    outstanding_.fetch_sub(tasks_.size(), std::memory_order_acq_rel);
    dropped.swap(tasks_);
  }
  something_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void task_pool::work() {
  lower_priority();
  std::unique_lock lock(mutex_);
  for (;;) {
    something_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    outstanding_.fetch_sub(1, std::memory_order_acq_rel);
    lock.lock();
  }
}

}  // namespace sluice::query
