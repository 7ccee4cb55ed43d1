#include "core/metrics/host_causes/host_cause_groups.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace sluice::metrics {
namespace {

using enum host_reason;

constexpr time_ns ms = 1'000'000;
const index::thread_key main_thread{trace::process_id{1}, trace::thread_id{1}};
const index::thread_key other_thread{trace::process_id{1}, trace::thread_id{2}};

struct sample {
  time_range span;
  host_cause cause;
  trace::stack_id stack{};
};

/// Samples of threads, in any order.
class sample_list {
 public:
  void add(time_ns begin, time_ns length, const host_cause& cause, index::thread_key thread = main_thread) {
    samples_[thread].push_back({{begin, begin + length}, cause, trace::stack_id{++stacks_}});
  }
  template <class Use>
  void for_each_in(const index::thread_key& thread, time_range range, Use use) const {
    const auto found = samples_.find(thread);
    if (found == samples_.end()) return;
    for (const sample& each : found->second)
      if (const time_range part = intersect(each.span, range); part.length() > 0) use(each, part);
  }

 private:
  std::map<index::thread_key, std::vector<sample>> samples_;
  std::uint64_t stacks_ = 0;
};

class host_causes_test : public ::testing::Test {
 protected:
  /// Adds a gap that the main thread caused.
  void add_gap(time_ns begin, time_ns length, std::uint64_t steps_begun = 0) {
    const host_span part{main_thread, {begin, begin + length}};
    add({part.span, std::span(&part, 1), steps_begun});
  }
  void add(const host_gap& gap) {
    groups_.add(gap, samples_, [](const sample& each) -> const host_cause& { return each.cause; });
  }
  /// The only group with this reason; its total is -1 if there is none.
  host_cause_group find(host_reason reason, time_ns end = 10'000 * ms) const {
    host_cause_group wanted;
    wanted.total = -1;
    for (const host_cause_group& each : groups_.groups(end)) {
      if (each.cause.reason != reason) continue;
      EXPECT_EQ(wanted.total, -1) << "several groups of " << get_name(reason);
      wanted = each;
    }
    return wanted;
  }

  sample_list samples_;
  host_cause_groups groups_{0};
};

const host_cause plan{cudnn_plan, "cuDNN", 64};
const host_cause dispatch{dispatcher, "PyTorch", 64};

TEST_F(host_causes_test, a_gap_has_the_cause_with_the_most_sampled_time) {
  samples_.add(0, 6 * ms, plan);
  samples_.add(6 * ms, 4 * ms, dispatch);
  add_gap(0, 10 * ms);
  const host_cause_group group = find(cudnn_plan);
  EXPECT_EQ(group.cause, plan);
  EXPECT_EQ(group.total, 10 * ms);
  EXPECT_EQ(group.gaps, 1U);
  EXPECT_EQ(group.longest_gap, (time_range{0, 10 * ms}));
  EXPECT_EQ(group.example_stack, trace::stack_id{1});
  EXPECT_EQ(find(dispatcher).total, -1);
}

TEST_F(host_causes_test, a_cause_counts_if_its_library_or_its_line_has_half_of_the_time) {
  // The library: PyTorch has 5 of 10, in two reasons.
  samples_.add(0, 3 * ms, {dispatcher, "PyTorch", 1});
  samples_.add(3 * ms, 2 * ms, {framework_python, "PyTorch", 2});
  samples_.add(5 * ms, 2 * ms, {file_read, "", 3});
  samples_.add(7 * ms, 2 * ms, {sleep, "", 4});
  samples_.add(9 * ms, 1 * ms, {lock, "", 5});
  add_gap(0, 10 * ms);
  EXPECT_EQ(find(dispatcher).total, 10 * ms);
  // The line: all is done for line 7.
  samples_.add(20 * ms, 4 * ms, {allocation, "malloc", 7});
  samples_.add(24 * ms, 3 * ms, {kernel_launch, "CUDA", 7});
  samples_.add(27 * ms, 3 * ms, {cpu_compute, "NumPy", 7});
  add_gap(20 * ms, 10 * ms);
  EXPECT_EQ(find(allocation).total, 10 * ms);
  EXPECT_EQ(find(mixed).total, -1);
}

TEST_F(host_causes_test, otherwise_the_gap_is_mixed) {
  samples_.add(0, 4 * ms, {dispatcher, "PyTorch", 1});
  samples_.add(4 * ms, 3 * ms, {file_read, "", 2});
  samples_.add(7 * ms, 3 * ms, {sleep, "", 3});
  add_gap(0, 10 * ms);
  EXPECT_EQ(find(mixed).total, 10 * ms);
  EXPECT_EQ(find(mixed).cause.line, 0U);
}

TEST_F(host_causes_test, lines_of_one_library_count_together_and_the_longest_is_named) {
  samples_.add(0, 3 * ms, {cudnn_plan, "cuDNN", 1});
  samples_.add(3 * ms, 4 * ms, {cudnn_plan, "cuDNN", 2});
  samples_.add(7 * ms, 5 * ms, {sleep, "", 3});
  add_gap(0, 12 * ms);
  EXPECT_EQ(find(cudnn_plan).cause.line, 2U);
  EXPECT_EQ(find(cudnn_plan).total, 12 * ms);
}

TEST_F(host_causes_test, time_without_samples_is_unsampled) {
  samples_.add(0, 2 * ms, plan);
  add_gap(0, 10 * ms);
  add_gap(20 * ms, 1 * ms);
  EXPECT_EQ(find(cudnn_plan).total, 2 * ms);
  EXPECT_EQ(find(unsampled).total, 9 * ms);
  EXPECT_EQ(find(unsampled).gaps, 2U);
}

TEST_F(host_causes_test, a_long_gap_has_the_causes_of_its_pieces) {
  samples_.add(0, 250 * ms, {importing, "Python", 1});
  samples_.add(250 * ms, 150 * ms, {checkpoint_load, "PyTorch", 2});
  add_gap(0, 400 * ms);
  EXPECT_EQ(find(importing).total + find(checkpoint_load).total, 400 * ms);
  EXPECT_EQ(find(importing).gaps, 1U);
  EXPECT_GE(find(checkpoint_load).total, 100 * ms);
  EXPECT_EQ(find(importing).longest_gap, (time_range{0, 400 * ms}));
}

TEST_F(host_causes_test, only_the_samples_of_the_parts_and_their_threads_count) {
  samples_.add(0, 10 * ms, plan);
  samples_.add(0, 10 * ms, {sleep, "", 9}, other_thread);
  const host_span parts[] = {{main_thread, {2 * ms, 4 * ms}}, {other_thread, {5 * ms, 8 * ms}}};
  add({{0, 10 * ms}, parts, 0});
  EXPECT_EQ(find(sleep).total, 5 * ms);  // Both parts are one piece.
  EXPECT_EQ(groups_.total(), 5 * ms);
}

TEST_F(host_causes_test, a_cost_at_the_start_does_not_recur) {
  for (time_ns at = 0; at < 500 * ms; at += 50 * ms) {
    samples_.add(at, 10 * ms, plan);
    add_gap(at, 10 * ms);
  }
  for (time_ns at = 500 * ms; at < 10'000 * ms; at += 100 * ms) {
    samples_.add(at, 10 * ms, dispatch);
    add_gap(at, 10 * ms);
  }
  EXPECT_FALSE(find(cudnn_plan).recurs);
  EXPECT_TRUE(find(dispatcher).recurs);
  EXPECT_EQ(find(cudnn_plan).first, 0);
  EXPECT_EQ(find(cudnn_plan).last, 460 * ms);
  // The run was shorter so far.
  EXPECT_TRUE(find(cudnn_plan, 1000 * ms).recurs);
}

TEST_F(host_causes_test, nor_does_a_cost_before_the_second_step_or_in_one_gap) {
  for (std::uint64_t step = 1; step <= 10; ++step) {
    const time_ns at = static_cast<time_ns>(step) * 1000 * ms;
    for (time_ns call = 0; call < 5; ++call) {
      samples_.add(at + call * 20 * ms, 10 * ms, step == 1 ? plan : dispatch);
      add_gap(at + call * 20 * ms, 10 * ms, step);
    }
  }
  samples_.add(6500 * ms, 300 * ms, {checkpoint_save, "PyTorch", 3});
  add_gap(6500 * ms, 300 * ms, 10);
  EXPECT_FALSE(find(cudnn_plan, 11'000 * ms).recurs);
  EXPECT_EQ(find(cudnn_plan).steps, 1U);
  EXPECT_EQ(find(cudnn_plan).gaps, 5U);
  EXPECT_TRUE(find(dispatcher).recurs);
  EXPECT_EQ(find(dispatcher).steps, 9U);
  EXPECT_FALSE(find(checkpoint_save).recurs);
}

TEST_F(host_causes_test, beyond_a_limit_lose_their_line_first_and_never_their_reason) {
  const auto add_cause = [&](time_ns at, time_ns length, const host_cause& cause) {
    samples_.add(at * 100 * ms, length * ms, cause);
    add_gap(at * 100 * ms, length * ms);
  };
  for (std::uint64_t line = 1; line <= 4; ++line)
    add_cause(static_cast<time_ns>(line), 60 - static_cast<time_ns>(line), {cudnn_plan, "cuDNN", line});
  add_cause(5, 20, {cpu_compute, "NumPy", 5});
  add_cause(6, 10, {cpu_compute, "OpenMP", 6});
  add_cause(7, 5, {cpu_compute, "MKL", 7});
  const std::vector<host_cause_group> groups = groups_.groups(10'000 * ms, 2);
  std::map<host_cause, time_ns> totals;
  for (const host_cause_group& each : groups) totals[each.cause] = each.total / ms;
  EXPECT_EQ(totals, (std::map<host_cause, time_ns>{{{cudnn_plan, "cuDNN", 1}, 59},
                                                   {{cudnn_plan, "cuDNN", 2}, 58},
                                                   {{cudnn_plan, "cuDNN", 0}, 57 + 56},
                                                   {{cpu_compute, "NumPy", 0}, 20},
                                                   {{cpu_compute, "", 0}, 15}}));
  EXPECT_EQ(groups[0].cause.line, 0U) << "the most time first";
  EXPECT_EQ(groups[0].gaps, 2U);
  EXPECT_EQ(groups[0].longest_gap, (time_range{300 * ms, 357 * ms}));
  EXPECT_EQ(groups[0].first, 300 * ms);
  EXPECT_EQ(groups[0].last, 456 * ms);
  EXPECT_FALSE(groups[0].recurs) << "all of it lies in the first tenth of the run";
}

TEST_F(host_causes_test, do_not_recur_together_if_each_occurs_at_the_start) {
  for (std::uint64_t line = 0; line < 20; ++line) {
    const bool late = line >= 10;
    const time_ns at = static_cast<time_ns>(line) * 20 * ms + (late ? 5000 * ms : 0);
    samples_.add(at, 10 * ms, {late ? file_read : cudnn_plan, "", line + 1});
    add_gap(at, 10 * ms);
  }
  for (const host_cause_group& each : groups_.groups(10'000 * ms, 0)) {
    EXPECT_EQ(each.total, 100 * ms);
    EXPECT_EQ(each.recurs, each.cause.reason == file_read);
  }
}

// Property: whatever the gaps, parts and samples, nothing is lost or counted twice.
TEST_F(host_causes_test, the_groups_add_up_to_all_parts_exactly) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::uint64_t below) { return static_cast<time_ns>(random() % below); };
    sample_list samples;
    for (int i = 0; i < 300; ++i)  // They overlap, leave holes, and differ in everything.
      samples.add(pick(3'000), pick(40),
                  {static_cast<host_reason>(random() % 20), random() % 3 == 0 ? "" : "x", random() % 4},
                  random() % 2 == 0 ? main_thread : other_thread);
    host_cause_groups groups(pick(100), 1 + pick(200));
    time_ns expected = 0, at = 0;
    for (std::uint64_t gap = 0; gap < 40; ++gap) {
      std::vector<host_span> parts;
      const time_ns begin = at;
      for (int i = 0; i < 3; ++i) {
        const time_ns start = at + pick(10);
        at = start + pick(60);
        parts.push_back({random() % 2 == 0 ? main_thread : other_thread, {start, at}});
        expected += at - start;
      }
      groups.add({{begin, at}, parts, gap / 3}, samples,
                 [](const sample& each) -> const host_cause& { return each.cause; });
    }
    time_ns sum = 0;
    for (const host_cause_group& each : groups.groups(at)) {
      EXPECT_GT(each.total, 0);
      EXPECT_LE(each.longest, each.total);
      EXPECT_LE(each.first, each.last);
      EXPECT_LE(each.steps, each.gaps);
      sum += each.total;
    }
    EXPECT_EQ(sum, expected);
    EXPECT_EQ(groups.total(), expected);
    std::map<host_reason, time_ns> reasons, folded;
    for (const host_cause_group& each : groups.groups(at)) reasons[each.cause.reason] += each.total;
    for (const host_cause_group& each : groups.groups(at, random() % 8)) folded[each.cause.reason] += each.total;
    EXPECT_EQ(folded, reasons);
  }
}

TEST(growing_histogram, sums_as_a_list_does_up_to_the_width_of_a_bin) {
  std::mt19937_64 random(3);
  growing_histogram histogram(1000);
  std::map<time_ns, time_ns> reference;
  time_ns latest = 0;
  for (int i = 0; i < 2000; ++i) {
    const time_ns at = 1000 + static_cast<time_ns>(random() % 5'000) * ms,
                  amount = static_cast<time_ns>(random() % 100);
    histogram.add(at, amount);
    reference[at] += amount;
    latest = std::max(latest, at);
  }
  const auto sum_before = [&](time_ns time) {
    time_ns sum = 0;
    for (auto each = reference.begin(); each != reference.lower_bound(time); ++each) sum += each->second;
    return sum;
  };
  const time_ns width = (latest - 1000) / 64 + ms;
  for (time_ns time = 0; time < 5'100 * ms; time += 37 * ms) {
    EXPECT_GE(histogram.sum_before(time), sum_before(time));
    EXPECT_LE(histogram.sum_before(time), sum_before(time + width));
  }
}

/// Samples of nothing.
struct no_samples {
  template <class Use>
  void for_each_in(const index::thread_key& /*thread*/, time_range /*range*/, Use /*use*/) const {}
};

TEST(host_cause_groups, of_a_gap_of_centuries_cost_no_more_than_others) {
  host_cause_groups groups(-latest_time);
  const time_range gap{-latest_time, latest_time};
  const host_span span{{}, gap};
  groups.add({gap, {&span, 1}, 0}, no_samples{}, [](const auto&) { return host_cause{}; });
  ASSERT_EQ(groups.groups(latest_time).size(), 1U);
  EXPECT_EQ(groups.total(), gap.length());
}

}  // namespace
}  // namespace sluice::metrics
