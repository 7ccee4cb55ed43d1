#include "app/gui/views/stacks/host_words.hpp"

#include <gtest/gtest.h>

namespace sluice::gui {
namespace {

constexpr time_ns ms = 1'000'000;

query::host_stacks make_found(time_ns sampled, time_ns idle) {
  query::host_stacks found;
  found.sampled = found.launches_known = true;
  found.device = trace::device_id{1};
  found.idle = idle;
  found.view.tree.nodes.push_back({0, 1, 0, 0, {0, 1, sampled, 0}, {}});
  return found;
}

TEST(panel_of_host_stacks, asks_for_what_is_chosen) {
  host_choice choice;
  choice.only_idle = false;
  choice.device = trace::device_id{3};
  choice.libraries = false;
  choice.inverted = true;
  const query::host_stacks_query query = make_query(choice, {5, 9});
  EXPECT_EQ(query.filter.range, (time_range{5, 9}));
  EXPECT_FALSE(query.filter.only_idle);
  EXPECT_TRUE(query.filter.only_launching);
  EXPECT_EQ(query.filter.device, trace::device_id{3});
  EXPECT_TRUE(query.fold);
  EXPECT_EQ(query.order, metrics::stack_order::from_callee);
}

TEST(panel_of_host_stacks, shows_the_time_between_the_first_and_the_last_work) {
  metrics::range_statistics statistics;
  EXPECT_EQ(choose_range(nullptr, {0, 100}), (time_range{0, 100}));
  EXPECT_EQ(choose_range(&statistics, {0, 100}), (time_range{0, 100}));
  for (const auto& [kernels, first, last] : {std::tuple(2, 30, 60), std::tuple(1, 20, 50), std::tuple(0, 1, 99)}) {
    metrics::device_activity& device = statistics.devices.emplace_back();
    device.kernels = static_cast<std::uint64_t>(kernels);
    device.first = first;
    device.last = last;
  }
  EXPECT_EQ(choose_range(&statistics, {0, 100}), (time_range{20, 60}));
}

TEST(panel_of_host_stacks, says_why_it_is_empty) {
  query::host_stacks found = make_found(0, 10 * ms);
  EXPECT_EQ(explain_empty(found, {}, "GPU 0", {})->headline, "No samples here");
  found.idle = 0;
  EXPECT_EQ(explain_empty(found, {}, "GPU 0", {})->headline, "GPU 0 was never idle here");
  found.device.reset();
  EXPECT_EQ(explain_empty(found, {}, "", {})->headline, "No kernels were recorded");
  EXPECT_FALSE(explain_empty(make_found(5 * ms, 10 * ms), {}, "GPU 0", {}));
}

TEST(panel_of_host_stacks, says_why_there_are_no_samples) {
  query::host_stacks found = make_found(0, 0);
  found.sampled = false;
  const auto without = explain_empty(found, {}, "GPU 0", {});
  ASSERT_TRUE(without);
  EXPECT_NE(without->advice.find("--no-sampling"), std::string::npos);
  const query::message refused{trace::severity::warning,
                               "the kernel refused to sample host threads (perf_event_open: EACCES)", 0};
  const auto told = explain_empty(found, {}, "GPU 0", {{}, refused});
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->advice.starts_with(refused.text)) << told->advice;
  EXPECT_NE(told->advice.find("sluice doctor"), std::string::npos);
}

TEST(panel_of_host_stacks, says_what_the_tree_adds_up) {
  const query::host_stacks found = make_found(5 * ms, 10 * ms);
  EXPECT_EQ(get_total(found, {}, "GPU 0"),
            "5.00 ms of threads that launch kernels, in 10.0 ms in which GPU 0 was idle");
  host_choice all;
  all.only_idle = all.only_launching = false;
  EXPECT_EQ(get_total(found, all, "GPU 0"), "5.00 ms of all threads");
}

}  // namespace
}  // namespace sluice::gui
