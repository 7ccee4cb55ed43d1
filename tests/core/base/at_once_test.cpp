#include "core/base/threads/at_once.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sluice {
namespace {

TEST(work_at_once, is_done_when_the_call_returns) {
  for (std::size_t count = 0; count < 6; ++count) {
    std::vector<int> done(count, 0);
    std::vector<std::function<void()>> pieces;
    for (int& each : done) pieces.emplace_back([&each] { ++each; });
    do_at_once(pieces);
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
  do_at_once(pieces);
  EXPECT_EQ(last, std::this_thread::get_id());
}

TEST(work_at_once, passes_on_what_a_piece_throws_after_all_have_ended) {
  for (std::size_t thrower = 0; thrower < 3; ++thrower) {
    std::vector<int> ended(3, 0);
    std::vector<std::function<void()>> pieces;
    for (std::size_t i = 0; i < ended.size(); ++i)
      pieces.emplace_back([&, i] {
        ended[i] = 1;
        if (i == thrower) throw std::runtime_error("thrown");
      });
    EXPECT_THROW(do_at_once(pieces), std::runtime_error);
    EXPECT_EQ(ended, std::vector<int>(3, 1));
  }
}

}  // namespace
}  // namespace sluice
