#include "core/query/engine/task_pool.hpp"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>

namespace sluice::query {
namespace {

TEST(task_pool, runs_a_quick_task_while_all_others_wait) {
  std::promise<void> release;
  std::promise<void> begun;
  const std::shared_future<void> released = release.get_future().share();
  task_pool pool(1);
  pool.add([&] {
    begun.set_value();
    released.wait();
  });
  begun.get_future().wait();
  std::promise<void> was_quick;
  std::promise<void> was_queued;
  pool.add([&] { was_queued.set_value(); });
  pool.add_quick([&] { was_quick.set_value(); });
  was_quick.get_future().wait();
  auto queued = was_queued.get_future();
  EXPECT_NE(queued.wait_for(std::chrono::milliseconds(20)), std::future_status::ready);
  release.set_value();
  queued.wait();
}

TEST(task_pool, runs_each_kind_in_the_order_it_came) {
  std::promise<void> done;
  std::string order;
  task_pool pool(1);
  for (const char each : {'a', 'b', 'c'}) pool.add([&order, each] { order += each; });
  pool.add([&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(order, "abc");
}

TEST(task_pool, is_busy_until_what_tasks_queue_is_done_too) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  task_pool pool(1);
  EXPECT_FALSE(pool.busy());
  pool.add_quick([&] { pool.add([&] { released.wait(); }); });
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(pool.busy());
    std::this_thread::yield();
  }
  release.set_value();
  while (pool.busy()) std::this_thread::yield();
}

}  // namespace
}  // namespace sluice::query
