#include "core/base/threads/thread_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

TEST(thread_pool, does_work_of_one_kind_on_one_thread_in_the_order_in_which_it_came) {
  thread_pool pool(2);
  std::vector<std::thread::id> by;
  std::vector<std::future<int>> results;
  for (int i = 0; i < 50; ++i)
    results.push_back(pool.start(1, [&by, i] {
      by.push_back(std::this_thread::get_id());
      return i;
    }));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)].get(), i);
  EXPECT_EQ(by, std::vector<std::thread::id>(50, by.front()));
  EXPECT_NE(by.front(), std::this_thread::get_id());
}

TEST(thread_pool, at_its_end_finishes_what_runs_and_drops_what_waits) {
  std::promise<void> begun;
  std::promise<void> release;
  std::future<int> runs, waits;
  std::jthread releases;
  {
    thread_pool pool(1);
    runs = pool.start(0, [&] {
      begun.set_value();
      release.get_future().wait();
      return 1;
    });
    waits = pool.start(0, [] { return 2; });
    begun.get_future().wait();
    releases = std::jthread([&] {
      waits.wait();  // The pool has dropped it, and waits for the other.
      release.set_value();
    });
  }
  EXPECT_EQ(runs.get(), 1);
  EXPECT_THROW(waits.get(), std::future_error);
}

TEST(thread_pool, passes_on_what_work_throws) {
  thread_pool pool(1);
  auto result = pool.start(0, [] { throw std::runtime_error("thrown"); });
  EXPECT_THROW(result.get(), std::runtime_error);
}

TEST(thread_pool, without_a_thread_does_work_when_its_result_is_waited_for) {
  thread_pool pool(0);
  std::thread::id by;
  auto result = pool.start(3, [&by] { by = std::this_thread::get_id(); });
  EXPECT_EQ(by, std::thread::id());
  result.wait();
  EXPECT_EQ(by, std::this_thread::get_id());
}

/// A pool with the queues 0 and 1: one thread runs tasks of both, another only those of queue 0.
class shared_queues : public ::testing::Test {
 protected:
  static constexpr std::array<thread_pool::served_queues, 2> served_{{{0, 1}, {0, 0}}};
  thread_pool pool_{served_};
};

TEST_F(shared_queues, run_a_task_of_the_first_while_all_others_wait) {
  std::promise<void> release;
  std::promise<void> begun;
  const std::shared_future<void> released = release.get_future().share();
  pool_.add(1, [&] {
    begun.set_value();
    released.wait();
  });
  begun.get_future().wait();
  std::promise<void> was_quick;
  std::promise<void> was_queued;
  pool_.add(1, [&] { was_queued.set_value(); });
  pool_.add(0, [&] { was_quick.set_value(); });
  was_quick.get_future().wait();
  auto queued = was_queued.get_future();
  EXPECT_NE(queued.wait_for(std::chrono::milliseconds(20)), std::future_status::ready);
  release.set_value();
  queued.wait();
}

TEST_F(shared_queues, run_tasks_of_one_queue_in_the_order_in_which_they_came) {
  std::promise<void> done;
  std::string order;
  for (const char each : {'a', 'b', 'c'}) pool_.add(1, [&order, each] { order += each; });
  pool_.add(1, [&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(order, "abc");
}

TEST_F(shared_queues, are_busy_until_what_tasks_queue_is_done_too) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  EXPECT_FALSE(pool_.busy());
  pool_.add(0, [&] { pool_.add(1, [&] { released.wait(); }); });
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(pool_.busy());
    std::this_thread::yield();
  }
  release.set_value();
  while (pool_.busy()) std::this_thread::yield();
}

TEST(work_at_once, is_done_when_the_call_returns) {
  for (std::size_t count = 0; count < 6; ++count) {
    thread_pool pool(5);
    std::vector<int> done(count, 0);
    std::vector<std::function<void()>> pieces;
    for (int& each : done) pieces.emplace_back([&each] { ++each; });
    pool.do_at_once(0, pieces);
    EXPECT_EQ(done, std::vector<int>(count, 1));
  }
}

TEST(work_at_once, runs_at_the_same_time_and_its_last_piece_on_the_calling_thread) {
  std::barrier all_here(3);
  std::thread::id last;
  const std::vector<std::function<void()>> pieces{[&] { all_here.arrive_and_wait(); },
                                                  [&] { all_here.arrive_and_wait(); },
                                                  [&] {
                                                    last = std::this_thread::get_id();
                                                    all_here.arrive_and_wait();
                                                  }};
  thread_pool(2).do_at_once(0, pieces);
  EXPECT_EQ(last, std::this_thread::get_id());
}

TEST(work_at_once, passes_on_what_a_piece_throws_after_all_have_ended) {
  for (std::size_t thrower = 0; thrower < 3; ++thrower) {
    thread_pool pool(2);
    std::vector<int> ended(3, 0);
    std::vector<std::function<void()>> pieces;
    for (std::size_t i = 0; i < ended.size(); ++i)
      pieces.emplace_back([&, i] {
        ended[i] = 1;
        if (i == thrower) throw std::runtime_error("thrown");
      });
    EXPECT_THROW(pool.do_at_once(0, pieces), std::runtime_error);
    EXPECT_EQ(ended, std::vector<int>(3, 1));
  }
}

}  // namespace
}  // namespace sluice
