#include "core/base/threads/thread_pool.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <stdexcept>
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

TEST(thread_pool, ends_when_all_work_is_done) {
  int done = 0;
  {
    thread_pool pool(1);
    for (int i = 0; i < 20; ++i) static_cast<void>(pool.start(0, [&done] { ++done; }));
  }
  EXPECT_EQ(done, 20);
}

TEST(thread_pool, passes_on_what_work_throws) {
  thread_pool pool(1);
  auto result = pool.start(0, [] { throw std::runtime_error("thrown"); });
  EXPECT_THROW(result.get(), std::runtime_error);
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
