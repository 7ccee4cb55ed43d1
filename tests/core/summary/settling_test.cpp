#include "core/summary/passes/settling.hpp"

#include <gtest/gtest.h>

namespace sluice::summary {
namespace {

/// A recording of one process with steps that start at given times.
class process_with_steps {
 public:
  process_with_steps(std::initializer_list<time_ns> begins) {
    index::step_list list{index::step_source::marks, {}};
    for (const time_ns begin : begins) list.steps.push_back({.span = {begin, begin + 10}});
    if (!list.steps.empty()) facts_.add(trace::process_id{1}, std::move(list));
  }
  operator const index::step_facts&() const { return facts_; }

 private:
  index::step_facts facts_;
};

TEST(settling_time, is_that_of_the_last_two_complete_steps) {
  EXPECT_EQ(settling_time(process_with_steps{40, 50, 60, 70}, {0, 80}), 20);
}

TEST(settling_time, without_steps_is_a_tenth_of_the_recording) {
  EXPECT_EQ(settling_time(process_with_steps{}, {0, 500}), 50);
}

TEST(awaits_second_step, until_the_first_takes_longer_than_what_came_before) {
  EXPECT_TRUE(awaits_second_step(process_with_steps{40}, {0, 60}));
  EXPECT_FALSE(awaits_second_step(process_with_steps{40}, {0, 90}));
  EXPECT_FALSE(awaits_second_step(process_with_steps{40, 50}, {0, 60}));
  EXPECT_FALSE(awaits_second_step(process_with_steps{}, {0, 60}));
}

}  // namespace
}  // namespace sluice::summary
