// From ticks and switches to pieces of time, each in one state. Times are in units of a hundredth of a period.
#include "instrumentation/writer/sampling/thread_activity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace sluice::writer {

using trace::host_state;

/// Short text for failed tests.
void PrintTo(const activity_piece& piece, std::ostream* to) {
  *to << piece.begin << ".." << piece.end << " state " << static_cast<int>(piece.state) << " call "
      << piece.system_call;
}
bool operator==(const activity_piece& a, const activity_piece& b) {
  return a.begin == b.begin && a.end == b.end && a.state == b.state && a.system_call == b.system_call &&
         a.frames == b.frames;
}

namespace {

using testing::ElementsAre;
using pieces = std::vector<activity_piece>;

constexpr std::int64_t unit = 20'000, period = 100 * unit;
constexpr std::int64_t after_waiting = 100'000'000;

activity_piece piece(std::int64_t begin, std::int64_t end, host_state state, std::vector<std::uint64_t> frames = {},
                     std::int64_t call = -1) {
  return {begin * unit, end * unit, state, call, std::move(frames)};
}

struct watched {
  explicit watched(bool on_cpu = true) : activity(period, 0, on_cpu) {}
  watched& tick(std::int64_t time, std::vector<std::uint64_t> frames = {7}) {
    activity.add_tick(time * unit, std::move(frames));
    return *this;
  }
  watched& in(std::int64_t time) {
    activity.switch_in(time * unit);
    return *this;
  }
  watched& out(std::int64_t time, bool preempted = false) {
    activity.switch_out(time * unit, preempted);
    return *this;
  }
  pieces finish(std::int64_t time) {
    activity.finish(time * unit);
    pieces found;
    activity.take(found);
    return found;
  }
  thread_activity activity;
};

TEST(thread_activity, ticks_are_running) {
  EXPECT_THAT(watched().tick(100, {1}).tick(200, {2}).finish(200),
              ElementsAre(piece(0, 100, host_state::running, {1}), piece(100, 200, host_state::running, {2})));
}

TEST(thread_activity, cpu_time_without_ticks_is_in_the_kernel) {
  EXPECT_THAT(watched().tick(100).tick(500, {2}).finish(500),
              ElementsAre(piece(0, 100, host_state::running, {7}), piece(100, 400, host_state::in_kernel),
                          piece(400, 500, host_state::running, {2})));
}

TEST(thread_activity, a_late_tick_is_not_the_kernel) {
  EXPECT_THAT(watched().tick(100).tick(260, {2}).finish(260),
              ElementsAre(piece(0, 100, host_state::running, {7}), piece(100, 260, host_state::running, {2})));
}

TEST(thread_activity, off_the_cpu_it_is_blocked_or_runnable) {
  EXPECT_THAT(watched().tick(100).out(100).in(300).tick(400, {2}).out(400, true).in(500).finish(500),
              ElementsAre(piece(0, 100, host_state::running, {7}), piece(100, 300, host_state::blocked),
                          piece(300, 400, host_state::running, {2}), piece(400, 500, host_state::runnable)));
}

TEST(thread_activity, a_tick_explains_a_period_of_cpu_time_before_it_across_waits) {
  // 60 units on the CPU, a wait, and 60 more with a tick at the end.
  EXPECT_THAT(watched().out(60).in(200).tick(260, {3}).finish(260),
              ElementsAre(piece(0, 60, host_state::running, {3}), piece(60, 200, host_state::blocked),
                          piece(200, 260, host_state::running, {3})));
}

TEST(thread_activity, a_tick_does_not_explain_more_than_a_period) {
  EXPECT_THAT(watched().out(150).in(200).tick(260, {3}).finish(260),
              ElementsAre(piece(0, 110, host_state::in_kernel), piece(110, 150, host_state::running, {3}),
                          piece(150, 200, host_state::blocked), piece(200, 260, host_state::running, {3})));
}

TEST(thread_activity, a_wait_has_what_was_noted_about_it) {
  watched w;
  w.tick(100).out(100);
  EXPECT_TRUE(w.activity.waits_unnoted());
  EXPECT_EQ(w.activity.since(), 100 * unit);
  w.activity.note_wait(202, {8, 9});
  EXPECT_FALSE(w.activity.waits_unnoted());
  w.in(300).out(301);
  EXPECT_TRUE(w.activity.waits_unnoted()) << "another wait";
  const pieces found = w.finish(500);
  ASSERT_GE(found.size(), 3U);
  EXPECT_EQ(found[1], piece(100, 300, host_state::blocked, {8, 9}, 202));
  EXPECT_EQ(found.back(), piece(301, 500, host_state::blocked));
}

TEST(thread_activity, a_preempted_thread_waits_for_nothing_else) {
  watched w;
  w.tick(100).out(100, true);
  EXPECT_FALSE(w.activity.waits_unnoted());
}

TEST(thread_activity, cpu_time_that_no_tick_follows_stays_unknown) {
  watched w;
  w.tick(100).out(160);
  w.activity.note_wait(1, {});
  w.activity.advance(160 * unit + after_waiting + 1);
  pieces found;
  w.activity.take(found);
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[1], piece(100, 160, host_state::unknown));
}

TEST(thread_activity, long_waits_are_handed_on_in_parts_of_at_most_a_second) {
  watched w(false);
  w.activity.note_wait(7, {5});
  constexpr std::int64_t ms = 1'000'000;
  std::vector<activity_piece> found;
  for (std::int64_t now = 0; now < 5000 * ms; now += 10 * ms) {
    w.activity.advance(now);
    w.activity.take(found);
  }
  w.activity.finish(20'000 * ms);
  w.activity.take(found);
  std::int64_t at = 0;
  for (const activity_piece& each : found) {
    EXPECT_EQ(each.begin, at);
    at = each.end;
    EXPECT_LE(each.end - each.begin, thread_activity::max_length);
    EXPECT_EQ(each.state, host_state::blocked);
    EXPECT_EQ(each.system_call, 7);
    EXPECT_EQ(each.frames, std::vector<std::uint64_t>{5});
  }
  EXPECT_EQ(at, 20'000 * ms);
}

TEST(thread_activity, what_is_missing_is_unknown) {
  watched w;
  w.tick(100);
  w.activity.lose();
  EXPECT_THAT(w.in(400).tick(500).finish(500),
              ElementsAre(piece(0, 100, host_state::running, {7}), piece(100, 400, host_state::unknown),
                          piece(400, 500, host_state::running, {7})));
}

TEST(thread_activity, a_polled_state_stands_for_the_time_before) {
  watched w;
  w.activity.add_state(250 * unit, host_state::running, -1, {});
  w.activity.add_state(500 * unit, host_state::blocked, 3, {4});
  EXPECT_THAT(w.finish(500),
              ElementsAre(piece(0, 250, host_state::running), piece(250, 500, host_state::blocked, {4}, 3)));
}

TEST(thread_activity, short_pieces_become_their_shares_of_a_window) {
  watched w;
  w.tick(100);
  for (std::int64_t at = 100; at < 1100; at += 10) w.out(at + 4).in(at + 10);
  const pieces found = w.finish(1100);
  EXPECT_LT(found.size(), 40U) << "200 switches";
  std::array<std::int64_t, trace::host_state_count> sums{};
  for (const activity_piece& each : found) sums[static_cast<std::size_t>(each.state)] += each.end - each.begin;
  EXPECT_EQ(sums[static_cast<std::size_t>(host_state::blocked)], 600 * unit);
}

/// Whatever is reported: pieces in order, without gaps and overlaps, and bounded in number.
TEST(thread_activity, any_reports_give_pieces_that_add_up) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    thread_activity activity(period, 0, random() % 2 == 0);
    std::int64_t now = 0;
    pieces found;
    const int reports = 1 + static_cast<int>(random() % 400);
    for (int i = 0; i < reports; ++i) {
      now += static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 400'000'000U : 3'000'000U));
      switch (random() % 7) {
        case 0:
          activity.add_tick(now, {1});
          break;
        case 1:
        case 2:
          activity.switch_in(now);
          break;
        case 3:
          activity.switch_out(now, random() % 2 == 0);
          break;
        case 4:
          activity.advance(now);
          break;
        case 5:
          if (activity.waits_unnoted()) activity.note_wait(1, {2});
          break;
        default:
          if (random() % 4 == 0) activity.lose();
      }
      activity.take(found);
    }
    activity.finish(now);
    activity.take(found);
    std::int64_t at = 0;
    for (const activity_piece& each : found) {
      ASSERT_EQ(each.begin, at);
      ASSERT_GT(each.end, each.begin);
      ASSERT_LE(each.end - each.begin, thread_activity::max_length);
      at = each.end;
    }
    ASSERT_EQ(at, now);
    ASSERT_LE(found.size(),
              4U + 3U * static_cast<std::size_t>(reports) + static_cast<std::size_t>(now / 1'000'000'000));
  }
}

}  // namespace
}  // namespace sluice::writer
