#include "core/timeline/time_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace sluice::timeline {
namespace {

/// A slow, obvious reference: all steps in order, which every query walks from the start.
template <class Step>
class reference {
 public:
  void add(const Step& step) {
    const auto [place, fresh] = steps_.try_emplace(step.time, step);
    if (!fresh) place->second.merge(step);
  }
  double at(time_ns time) const {
    double value = 0;
    for (const auto& [t, step] : steps_) {
      if (t > time) break;
      value = (Step::relative ? value : 0) + step.value;
    }
    return value;
  }
  extent over(time_ns begin, time_ns end) const {
    extent whole;
    double value = at(begin);
    time_ns since = begin;
    for (auto step = steps_.upper_bound(begin); step != steps_.end() && step->first < end; ++step) {
      whole.hold(value, since, step->first - since);
      since = step->first;
      value = (Step::relative ? value : 0) + step->second.value;
    }
    whole.hold(value, since, end - since);
    return whole;
  }

 private:
  std::map<time_ns, Step> steps_;
};

void expect_same(const extent& found, const extent& wanted) {
  EXPECT_EQ(found.empty(), wanted.empty());
  if (wanted.empty()) return;
  EXPECT_EQ(found.minimum, wanted.minimum);
  EXPECT_EQ(found.maximum, wanted.maximum);
  EXPECT_EQ(found.minimum_length, wanted.minimum_length);
  EXPECT_EQ(found.maximum_time, wanted.maximum_time);
  EXPECT_EQ(found.length, wanted.length);
  EXPECT_NEAR(found.integral, wanted.integral, 1e-9 * std::abs(wanted.integral) + 1e-6);
}

template <class Step>
struct made;
template <>
struct made<delta_step> {
  static delta_step step(time_ns time, double value, std::uint64_t) { return {time, value}; }
};
template <>
struct made<sample_step> {
  static sample_step step(time_ns time, double value, std::uint64_t order) { return {time, value, order}; }
};

template <class Step>
class time_tree_of : public ::testing::Test {};
using steps = ::testing::Types<delta_step, sample_step>;
TYPED_TEST_SUITE(time_tree_of, steps);

TYPED_TEST(time_tree_of, results_like_a_list_of_all_steps_whatever_the_order_they_come_in) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 40; ++round) {
    time_tree<TypeParam> tree;
    reference<TypeParam> slow;
    const time_ns span = round % 4 == 0 ? 100 : round % 4 == 1 ? 100'000 : 10'000'000'000;
    std::uniform_int_distribution<time_ns> any_time(-span / 10, span);
    std::uniform_int_distribution<int> any_value(-1000, 1000);
    time_ns now = 0;
    for (int batch = 0; batch < 5; ++batch) {
      for (int i = 0; i < 200; ++i) {
        // Most steps arrive in order, some a little late, and some anywhere.
        const auto options = random() % 10;
        now += static_cast<time_ns>(random() % static_cast<std::uint64_t>(span / 500 + 1));
        const time_ns time = options == 0  ? any_time(random)
                             : options < 3 ? now - static_cast<time_ns>(random() % 50)
                                           : now;
        const auto step = made<TypeParam>::step(time, any_value(random), static_cast<std::uint64_t>(batch * 200 + i));
        tree.add(step);
        slow.add(step);
      }
      tree.settle();
      for (int query = 0; query < 20; ++query) {
        const time_ns a = any_time(random);
        const time_ns b = any_time(random);
        EXPECT_EQ(tree.at(a), slow.at(a));
        expect_same(tree.over(std::min(a, b), std::max(a, b)), slow.over(std::min(a, b), std::max(a, b)));
      }
    }
    const std::uint32_t width = 37;
    std::uint32_t parts = 0;
    time_ns edge = -span / 10;
    tree.split(-span / 10, span, width, [&](std::uint32_t i, const extent& part, double at_begin) {
      EXPECT_EQ(i, parts++);
      const time_ns next = -span / 10 + (span + span / 10) * (i + 1) / width;
      expect_same(part, slow.over(edge, next));
      EXPECT_EQ(at_begin, slow.at(edge));
      edge = next;
    });
    EXPECT_EQ(parts, width);
  }
}

TEST(level_tree, knows_a_short_peak_exactly) {
  level_tree use;
  use.add({100, 5});
  use.add({200, 7});
  use.add({203, -7});
  use.add({500, -5});
  use.settle();
  const extent whole = use.over(0, 1000);
  EXPECT_EQ(whole.maximum, 12);
  EXPECT_EQ(whole.maximum_time, 200);
  EXPECT_EQ(whole.minimum, 0);
  EXPECT_EQ(whole.minimum_length, 600);
  EXPECT_EQ(whole.integral, 5 * 400 + 7 * 3);
}

TEST(level_tree, adds_up_what_happens_at_one_time) {
  level_tree use;
  use.add({10, 100});
  use.add({10, -100});
  use.add({10, 1});
  use.settle();
  EXPECT_EQ(use.over(0, 20).maximum, 1);
  EXPECT_EQ(use.at(9), 0);
  EXPECT_EQ(use.at(10), 1);
}

TEST(level_tree, holds_times_at_the_bounds) {
  level_tree use;
  const time_ns bound = time_ns{1} << 61;
  use.add({-bound, 1});
  use.add({bound, -1});
  for (int i = 0; i < 200; ++i) use.add({(i % 2 == 0 ? -bound : bound) + i * (i % 2 == 0 ? 1 : -1), 1});
  use.settle();
  EXPECT_EQ(use.at(bound), 200);
  EXPECT_EQ(use.over(-bound, bound).minimum, 2);  // The first step and i = 0 are at the very start.
}

TEST(level_tree, without_steps_is_zero_everywhere) {
  level_tree use;
  use.settle();
  EXPECT_EQ(use.at(5), 0);
  EXPECT_EQ(use.over(0, 10).maximum, 0);
  EXPECT_EQ(use.over(0, 10).minimum_length, 10);
  EXPECT_TRUE(use.over(10, 10).empty());
  EXPECT_TRUE(use.over(10, 5).empty());
}

TEST(sample_tree, of_two_samples_at_one_time_the_later_counts) {
  sample_tree samples;
  samples.add({10, 3, 2});
  samples.add({10, 9, 1});
  samples.settle();
  EXPECT_EQ(samples.at(10), 3);
}

TEST(coverage, is_the_length_of_the_union) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    coverage busy;
    std::vector<bool> covered(2000, false);
    for (int i = 0; i < 60; ++i) {
      const auto begin = static_cast<time_ns>(random() % 1900);
      const auto end = begin + static_cast<time_ns>(random() % 60);
      busy.add(begin, end);
      for (time_ns t = begin; t < end; ++t) covered[static_cast<std::size_t>(t)] = true;
    }
    busy.settle();
    for (int query = 0; query < 50; ++query) {
      auto a = static_cast<time_ns>(random() % 2000);
      auto b = static_cast<time_ns>(random() % 2000);
      if (b < a) std::swap(a, b);
      EXPECT_EQ(busy.busy(a, b), std::count(covered.begin() + a, covered.begin() + b, true));
    }
  }
}

}  // namespace
}  // namespace sluice::timeline
