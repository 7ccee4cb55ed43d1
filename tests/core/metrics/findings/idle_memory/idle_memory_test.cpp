#include "core/metrics/findings/idle_memory/idle_memory.hpp"
#include "core/metrics/make_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <random>
#include <set>

#include "tests/core/metrics/wasteful_recording.hpp"
#include "tests/core/recordings/each_seed.hpp"

namespace sluice::metrics {
namespace {

using testing::mib;
using testing::us;
using testing::wasteful_recording;

const idle_group* find_group(const waste_metrics& in, idle_reason reason) {
  for (const idle_memory& memory : in.idle)
    for (const idle_group& each : memory.groups)
      if (each.reason == reason) return &each;
  return nullptr;
}

TEST(idle_memory, is_a_block_that_nothing_uses) {
  wasteful_recording reported;
  reported.alloc(0, 1, 4 * mib);
  reported.alloc(10, 2, 4 * mib);
  reported.work(20, 400, 2);
  reported.free(500, 2);
  reported.free(510, 1);
  const waste_metrics whole = reported.waste();
  const idle_group* found = find_group(whole, idle_reason::never_used);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->largest, trace::block_id{1});
  EXPECT_EQ(found->blocks_at_peak, 1U);
  EXPECT_EQ(found->bytes_at_peak, 4 * mib);
  EXPECT_EQ(found->saved, 4 * mib);
  EXPECT_EQ(found->idle, (time_range{0, 510 * us}));
  EXPECT_EQ(find_group(whole, idle_reason::allocated_early), nullptr);
  EXPECT_EQ(find_group(whole, idle_reason::held_late), nullptr);
}

TEST(idle_memory, is_not_claimed_without_uses) {
  wasteful_recording reported;
  reported.alloc(0, 1, 4 * mib);
  reported.kernel(10, 20);
  EXPECT_TRUE(reported.waste().idle.empty());
}

/// True if a block counts as held late that is freed long after its last use, while each of `processes` launches a
/// kernel every 10 us.
bool is_held_late_while_work(std::initializer_list<std::uint64_t> processes) {
  wasteful_recording reported;
  reported.alloc(0, 1, 4 * mib);
  reported.work(20, 400, 1);
  reported.alloc(395, 2, 4 * mib);
  for (time_ns time = 400; time < 800; time += 10) {
    for (const std::uint64_t process : processes) {
      auto row = reported.recorded.event<trace::touch_event>(time * us);
      row.process = trace::process_id{process};
      row.block = trace::block_id{2};
      row.name = reported.recorded.text("gemm");
      reported.recorded.writer().add(row);
    }
  }
  reported.free(900, 1);
  reported.free(910, 2);
  return find_group(reported.waste(), idle_reason::held_late) != nullptr;
}

TEST(idle_memory, is_idle_while_its_own_process_works) {
  EXPECT_TRUE(is_held_late_while_work({1}));
  EXPECT_FALSE(is_held_late_while_work({2})) << "this rank may wait for another";
  EXPECT_TRUE(is_held_late_while_work({1, 2})) << "whatever else is recorded";
}

TEST(idle_memory, is_a_block_long_before_its_first_use) {
  wasteful_recording reported;
  reported.alloc(0, 1, 4 * mib);
  reported.alloc(10, 2, 4 * mib);
  reported.work(20, 200, 2);
  reported.free(250, 2);
  reported.work(300, 400, 1);
  reported.free(401, 1);
  const waste_metrics whole = reported.waste();
  const idle_group* found = find_group(whole, idle_reason::allocated_early);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->largest, trace::block_id{1});
  EXPECT_EQ(found->saved, 4 * mib);
  EXPECT_EQ(found->idle, (time_range{0, 300 * us}));
  EXPECT_EQ(found->works, 18U) << "like the idle time, it includes time after the peak";
  EXPECT_EQ(find_group(whole, idle_reason::held_late), nullptr);
}

TEST(idle_memory, is_a_block_long_after_its_last_use) {
  wasteful_recording reported;
  reported.alloc(0, 1, 4 * mib);
  reported.work(10, 200, 1);
  reported.work(200, 250, 9);
  reported.alloc(300, 2, 4 * mib);
  reported.work(310, 500, 2);
  reported.free(510, 1);
  reported.free(511, 2);
  const waste_metrics whole = reported.waste();
  const idle_group* found = find_group(whole, idle_reason::held_late);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->largest, trace::block_id{1});
  EXPECT_EQ(found->saved, 4 * mib);
  EXPECT_EQ(found->idle, (time_range{190 * us + 1, 510 * us}));
  EXPECT_EQ(found->works, 24U) << "before the peak and after it";
  EXPECT_EQ(found->replaced, 4 * mib) << "the second block would fit in its place";
}

TEST(idle_memory, saves_nothing_if_the_peak_stays_as_high_at_another_time) {
  wasteful_recording reported;
  reported.alloc(0, 1, 4 * mib);
  reported.alloc(10, 2, 4 * mib);
  reported.work(20, 200, 2);
  reported.work(200, 300, 1);
  reported.work(300, 400, 2);
  reported.free(410, 1);
  reported.free(411, 2);
  EXPECT_EQ(find_group(reported.waste(), idle_reason::allocated_early), nullptr) << "both are in use from 200 us on";
}

TEST(idle_memory, needs_work_of_others_meanwhile) {
  wasteful_recording reported;
  reported.alloc(0, 1, 4 * mib);
  reported.alloc(1, 2, 4 * mib);
  for (int i = 0; i < 200; ++i) reported.launch(900 + i, {1});
  for (int i = 0; i < 400; ++i) reported.launch(1200 + i, {2});
  reported.free(1100, 1);
  reported.launch(100, {2});
  reported.free(1700, 2);
  EXPECT_EQ(find_group(reported.waste(), idle_reason::allocated_early), nullptr) << "one launch before the first use";
}

/// The finding about two blocks, the first of which is used twice, `pause` us apart.
const idle_group* between_uses(wasteful_recording& reported, time_ns pause, waste_metrics& whole) {
  reported.alloc(0, 1, 4 * mib);
  reported.launch(10, {1});
  reported.alloc(20, 2, 4 * mib);
  reported.work(30, pause - 100, 2);
  reported.free(pause - 50, 2);
  reported.launch(10 + pause, {1});
  reported.free(20 + pause, 1);
  whole = reported.waste();
  return find_group(whole, idle_reason::between_uses);
}

TEST(idle_memory, is_a_block_between_uses_if_moving_it_away_and_back_takes_a_quarter_of_the_time) {
  // The link reaches 85 % of 64 GB/s: 77 us each way.
  wasteful_recording long_pause, short_pause;
  waste_metrics whole;
  const idle_group* found = between_uses(long_pause, 700, whole);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->saved, 4 * mib);
  EXPECT_EQ(found->idle, (time_range{10 * us + 1, 710 * us}));
  EXPECT_EQ(between_uses(short_pause, 600, whole), nullptr);
}

TEST(idle_memory, is_a_gradient_that_is_cleared_and_waits) {
  wasteful_recording reported;
  auto row = reported.recorded.event<trace::alloc_event>(0);
  row.block = trace::block_id{1};
  row.bytes = 4 * mib;
  row.kind = trace::memory_kind::device;
  row.device = trace::device_id{1};
  auto tag = reported.recorded.event<trace::attribute_event>(0);
  tag.target = trace::event_id{reported.recorded.writer().add(row)};
  tag.key = reported.recorded.text("category");
  tag.text = reported.recorded.text("gradient");
  reported.recorded.writer().add(tag);
  reported.clear(10, 1, 4 * mib);
  reported.alloc(20, 2, 4 * mib);
  reported.work(30, 200, 2);
  reported.free(250, 2);
  reported.launch(300, {1});
  reported.free(301, 1);
  const waste_metrics whole = reported.waste();
  const idle_group* found = find_group(whole, idle_reason::kept_gradient);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->category, index::category::gradient);
  EXPECT_EQ(found->saved, 4 * mib);
  EXPECT_EQ(found->idle, (time_range{10 * us + 1, 300 * us}));
  EXPECT_EQ(find_group(whole, idle_reason::between_uses), nullptr);
}

/// The finding about two blocks that are live at the same time; the first is last used at 100 us, the second is first
/// used at `second_use` us.
const idle_group* reusable(wasteful_recording& reported, std::uint64_t second_bytes, time_ns second_use,
                           waste_metrics& whole) {
  reported.alloc(0, 1, 4 * mib);
  reported.work(10, 110, 1);
  reported.alloc(20, 2, second_bytes);
  reported.work(second_use, 400, 2);
  reported.free(500, 1);
  reported.free(501, 2);
  whole = reported.waste();
  return find_group(whole, idle_reason::reusable);
}

TEST(idle_memory, is_a_block_that_could_lie_where_another_of_its_size_is_done) {
  wasteful_recording good, larger, at_the_same_time;
  waste_metrics whole;
  const idle_group* found = reusable(good, 4 * mib, 200, whole);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->largest, trace::block_id{2});
  EXPECT_EQ(found->saved, 4 * mib);
  EXPECT_EQ(found->idle, (time_range{20 * us, 500 * us}));
  EXPECT_EQ(reusable(larger, 5 * mib, 200, whole), nullptr);
  EXPECT_EQ(reusable(at_the_same_time, 4 * mib, 50, whole), nullptr);
}

TEST(idle_memory, accumulates_if_none_of_a_stacks_blocks_is_freed) {
  for (const bool frees_some : {false, true}) {
    wasteful_recording reported;
    const trace::stack_id stack = reported.stack({testing::python("keep", "/home/me/train.py", 9)});
    for (std::uint64_t i = 1; i <= 16; ++i) {
      const auto time = static_cast<time_ns>(i) * 100;
      reported.alloc(time, i, mib, stack);
      reported.launch(time + 10, {i});
      if (frees_some && i % 4 == 0) reported.free(time + 20, i);
    }
    for (std::uint64_t i = 1; i <= 16; ++i) reported.launch(1700, {i});
    const waste_metrics whole = reported.waste();
    const idle_group* found = find_group(whole, idle_reason::accumulating);
    ASSERT_EQ(found == nullptr, frees_some);
    if (frees_some) continue;
    EXPECT_EQ(found->stack, stack);
    EXPECT_EQ(found->blocks_at_peak, 16U);
    EXPECT_EQ(found->saved, 15 * mib) << "all but one";
    EXPECT_EQ(found->first_birth, 100 * us);
    EXPECT_EQ(found->last_birth, 1600 * us);
    EXPECT_EQ(found->spread, 8U);
    EXPECT_GT(found->birth_kernels, 0U);
  }
}

TEST(idle_memory, is_allocated_early_though_it_was_cleared_or_uploaded_at_once) {
  for (const bool clears : {true, false}) {
    wasteful_recording reported;
    reported.alloc(0, 1, 4 * mib);
    clears ? reported.clear(1, 1, 4 * mib) : reported.upload(1, 1, 4 * mib);
    reported.alloc(2, 2, 4 * mib);
    reported.work(10, 200, 2);
    reported.free(205, 2);
    reported.work(210, 300, 1);
    reported.free(310, 1);
    const waste_metrics whole = reported.waste();
    const idle_group* found = find_group(whole, idle_reason::allocated_early);
    ASSERT_NE(found, nullptr) << clears;
    EXPECT_EQ(found->largest, trace::block_id{1});
    EXPECT_EQ(found->idle, (time_range{0, 210 * us}));
    EXPECT_EQ(found->saved, 4 * mib);
  }
}

// PolyBench's 2MM: all matrices are allocated and uploaded before the first of two kernels.
TEST(idle_memory, is_reusable_though_all_blocks_were_uploaded_before_the_first_kernel) {
  wasteful_recording reported;
  for (std::uint64_t block = 1; block <= 5; ++block) {
    reported.alloc(static_cast<time_ns>(block), block, 4 * mib,
                   reported.stack({testing::python("main", "/home/me/mm.py", static_cast<int>(block))}));
    reported.upload(static_cast<time_ns>(10 + block), block, 4 * mib);
  }
  reported.launch(100, {1, 2, 3});  // Block 3 = block 1 * block 2.
  reported.launch(200, {3, 4, 5});  // Block 5 = block 3 * block 4.
  for (std::uint64_t block = 1; block <= 5; ++block) reported.free(static_cast<time_ns>(300 + block), block);
  const waste_metrics whole = reported.waste();
  std::uint64_t saved = 0;
  for (const idle_memory& memory : whole.idle)
    for (const idle_group& each : memory.groups)
      if (each.reason == idle_reason::reusable) saved += each.saved;
  EXPECT_EQ(saved, 8 * mib) << "blocks 4 and 5 replace 1 and 2";
}

TEST(idle_memory, counts_the_blocks_of_a_stack_until_the_peak_and_after_it) {
  wasteful_recording reported;
  const trace::stack_id stack = reported.stack({testing::python("step", "/home/me/train.py", 9)});
  for (std::uint64_t turn = 0; turn < 4; ++turn) {
    const std::uint64_t start = 1000 * turn;
    reported.alloc(start, turn + 1, 4 * mib, stack);
    reported.work(start + 10, start + 100, turn + 1);
    if (turn == 1) reported.alloc(start + 110, 9, 4 * mib);
    reported.work(start + 120, start + 400, 9);
    if (turn == 1) reported.free(start + 410, 9);
    reported.free(start + 500, turn + 1);
  }
  const waste_metrics whole = reported.waste();
  const idle_group* found = find_group(whole, idle_reason::held_late);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->blocks_at_peak, 1U);
  EXPECT_EQ(found->born, 2U);
  EXPECT_EQ(found->born_later, 2U);
}

// --- a sweep over time ----------------------------------------------------------------------------------------------

struct life {
  std::string name;
  std::int64_t bytes = 0;
  time_ns born = 0;
  time_ns died = 0;
  std::vector<time_ns> uses;  ///< Sorted by time.
};

/// Blocks with random lifetimes and uses. All events have different times.
std::vector<life> random_lives(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<time_ns> times(1000);
  std::iota(times.begin(), times.end(), 0);
  std::shuffle(times.begin(), times.end(), random);
  const auto take = [&] {
    const time_ns time = times.back();
    times.pop_back();
    return time;
  };
  std::vector<life> lifes(30);
  for (life& each : lifes) {
    each.name = "site " + std::to_string(random() % 4);
    each.bytes = static_cast<std::int64_t>(1 + random() % 4000);
    std::tie(each.born, each.died) = std::minmax({take(), take()});
    for (std::size_t i = random() % 12; i > 0; --i)
      if (const time_ns use = take(); use > each.born && use < each.died) each.uses.push_back(use);
    std::sort(each.uses.begin(), each.uses.end());
  }
  return lifes;
}

class brute_sweep {
 public:
  explicit brute_sweep(const std::vector<life>& lives) : lives_(lives) {
    for (const life& each : lives) works_.insert(each.uses.begin(), each.uses.end());
    min_works_ = std::clamp<std::size_t>(works_.size() / idle_memory_builder::few_touches, 1, 8);
  }
  /// The amount by which peak use would decrease without the blocks of `name` while they are idle; 0 if none of them is
  /// idle at the peak.
  [[nodiscard]] std::int64_t saved(idle_reason reason, const std::string& name) const {
    return sweep(
        reason, [&](const life& each) { return each.name == name; }, false);
  }
  /// The amount by which peak use would decrease without any block while it is idle for `reason`.
  [[nodiscard]] std::int64_t saved_together(idle_reason reason) const {
    return sweep(
        reason, [](const life&) { return true; }, true);
  }

 private:
  template <class Choose>
  [[nodiscard]] std::int64_t sweep(idle_reason reason, Choose&& is_chosen,
                                   bool even_if_none_is_idle_at_the_peak) const {
    std::int64_t highest = 0, without = 0;
    bool at_peak = false;
    for (time_ns time = 0; time < 1000; ++time) {
      std::int64_t live = 0, idle = 0;
      for (const life& each : lives_) {
        if (each.born > time || each.died <= time) continue;
        live += each.bytes;
        if (is_chosen(each) && is_idle(each, reason, time)) idle += each.bytes;
      }
      if (live > highest) at_peak = idle > 0;
      highest = std::max(highest, live);
      without = std::max(without, live - idle);
    }
    return at_peak || even_if_none_is_idle_at_the_peak ? highest - without : 0;
  }

  [[nodiscard]] bool is_idle(const life& subject, idle_reason reason, time_ns time) const {
    const auto works = [&](time_ns begin, time_ns end) {
      return static_cast<std::size_t>(std::distance(works_.lower_bound(begin), works_.lower_bound(end)));
    };
    const auto idle = [&](time_ns begin, time_ns end, std::size_t times = 1) {
      return begin <= time && time < end && works(begin, end) >= times * min_works_;
    };
    if (subject.uses.empty()) return reason == idle_reason::never_used && idle(subject.born, subject.died);
    if (reason == idle_reason::allocated_early) return idle(subject.born, subject.uses.front());
    if (reason == idle_reason::held_late) return idle(subject.uses.back() + 1, subject.died);
    if (reason != idle_reason::between_uses) return false;
    const double both_ways = 2 * static_cast<double>(subject.bytes) / (0.85 * 64e9) * 1e9;
    for (std::size_t i = 1; i < subject.uses.size(); ++i) {
      const time_ns begin = subject.uses[i - 1] + 1;
      const bool long_enough =
          static_cast<double>(subject.uses[i] - begin) >= idle_memory_builder::worth_moving * both_ways;
      if (long_enough && idle(begin, subject.uses[i], 3)) return true;
    }
    return false;
  }

  const std::vector<life>& lives_;
  std::set<time_ns> works_;
  std::size_t min_works_ = 0;
};

TEST(idle_memory, saves_what_a_sweep_moment_by_moment_says) {
  std::size_t found_any = 0, differ_from_sum = 0;
  testing::for_each_seed(1, 40, [&](std::uint64_t seed) {
    const std::vector<life> lives = random_lives(seed);
    testing::recording recorded;
    recorded.standard_tables();
    for (std::size_t i = 0; i < lives.size(); ++i) {
      const life& each = lives[i];
      recorded.add_alloc(each.born, i + 1, static_cast<std::uint64_t>(each.bytes), trace::memory_kind::device,
                         trace::layer::driver, each.name);
      recorded.add_free(each.died, i + 1);
      for (const time_ns use : each.uses) {
        auto row = recorded.event<trace::touch_event>(use);
        row.block = trace::block_id{i + 1};
        row.name = recorded.text("gemm");
        recorded.writer().add(row);
      }
    }
    recorded.close();
    const testing::indexed loaded(recorded.open());
    std::map<std::pair<idle_reason, std::string>, std::int64_t> found;
    const waste_metrics whole = compute_metrics(loaded.index, *loaded.snapshot).waste;
    for (const idle_memory& memory : whole.idle)
      for (const idle_group& each : memory.groups)
        if (each.reason != idle_reason::accumulating)
          found[{each.reason, std::string(loaded.snapshot->tables().text(each.name))}] =
              static_cast<std::int64_t>(each.saved);
    const brute_sweep sweep(lives);
    for (const idle_reason reason :
         {idle_reason::never_used, idle_reason::allocated_early, idle_reason::held_late, idle_reason::between_uses})
      for (const char* const name : {"site 0", "site 1", "site 2", "site 3"}) {
        const auto group = found.find({reason, name});
        EXPECT_EQ(group == found.end() ? 0 : group->second, sweep.saved(reason, name))
            << static_cast<int>(reason) << ", " << name;
      }
    for (const idle_memory& memory : whole.idle)
      for (const idle_reason reason :
           {idle_reason::never_used, idle_reason::allocated_early, idle_reason::held_late, idle_reason::between_uses}) {
        const auto together = std::find_if(memory.together.begin(), memory.together.end(),
                                           [&](const idle_together& each) { return each.reason == reason; });
        const std::int64_t saved = together == memory.together.end() ? 0 : static_cast<std::int64_t>(together->saved);
        EXPECT_EQ(saved, sweep.saved_together(reason)) << "all sites together, " << static_cast<int>(reason);
        differ_from_sum += saved != std::accumulate(found.begin(), found.end(), std::int64_t{0},
                                                    [&](std::int64_t sum, const auto& each) {
                                                      return sum + (each.first.first == reason ? each.second : 0);
                                                    });
      }
    found_any += found.size();
  });
  EXPECT_GT(found_any, 40U);
  EXPECT_GT(differ_from_sum, 0U) << "savings of several sites cannot be added";
}

}  // namespace
}  // namespace sluice::metrics
