#include "instrumentation/backend/simulated/clock.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "instrumentation/backend/simulated/state/timeline.hpp"

namespace sluice::backend {
namespace {

TEST(simulated_clock, begins_at_its_origin_and_moves_only_when_reported) {
  simulated_clock clock;
  EXPECT_EQ(clock.now(), simulated_clock::origin);
  clock.spend(50);
  EXPECT_EQ(clock.now(), simulated_clock::origin + 50);
  clock.advance_to(simulated_clock::origin);
  EXPECT_EQ(clock.now(), simulated_clock::origin + 50) << "waiting for the past takes no time";
  clock.spend(-5);
  EXPECT_EQ(clock.now(), simulated_clock::origin + 50);
}

TEST(simulated_clock, lets_threads_work_side_by_side) {
  simulated_clock clock;
  const auto start = clock.now();
  std::thread other([&] {
    clock.adopt(start);
    clock.spend(1000);
    EXPECT_EQ(clock.now(), start + 1000);
  });
  clock.spend(700);
  other.join();
  EXPECT_EQ(clock.now(), start + 700) << "the other engine's work is separate";
  EXPECT_EQ(clock.latest(), start + 1000);
}

TEST(simulated_clock, is_one_of_many) {
  simulated_clock a, b;
  a.spend(10);
  b.spend(20);
  a.spend(1);
  EXPECT_EQ(a.now(), simulated_clock::origin + 11);
  EXPECT_EQ(b.now(), simulated_clock::origin + 20);
}

TEST(timeline, does_one_thing_at_a_time) {
  simulated::timeline engine;
  EXPECT_EQ(engine.book(100, 50), 100);
  EXPECT_EQ(engine.book(100, 50), 150);
  EXPECT_EQ(engine.book(500, 50), 500);
}

TEST(timeline, fills_a_gap_left_by_work_that_must_wait) {
  simulated::timeline engine;
  EXPECT_EQ(engine.book(1000, 100), 1000);
  EXPECT_EQ(engine.book(0, 400), 0);
  EXPECT_EQ(engine.book(0, 700), 1100) << "too long for the gap";
  EXPECT_EQ(engine.book(0, 600), 400);
}

TEST(timeline, forgets_only_what_is_over) {
  simulated::timeline engine;
  (void)engine.book(0, 100);
  (void)engine.book(200, 100);
  engine.forget_before(250);
  EXPECT_EQ(engine.book(250, 10), 300);
}

}  // namespace
}  // namespace sluice::backend
