// Steps from an event to the next or previous one with the same name.
#include <gtest/gtest.h>

#include "core/query/engine/engine.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

using testing::ms;
using testing::recording;
using trace::event_id;

class same_name_test : public ::testing::Test {
 protected:
  event_id add_kernel(trace::time_ns begin, const char* name) { return made_.add_kernel(begin, begin + 10, name); }
  result<std::shared_ptr<const event_details>> ask(event_id event, same_name which) {
    if (!engine_) {
      made_.close();
      engine_ = std::make_unique<engine>(made_.open());
    }
    details_query query;
    query.event = event;
    query.which = which;
    return engine_->ask_now(query);
  }
  event_id next(event_id event) {
    const auto found = ask(event, same_name::next);
    return found ? (*found)->event : event_id::none;
  }
  event_id previous(event_id event) {
    const auto found = ask(event, same_name::previous);
    return found ? (*found)->event : event_id::none;
  }

  recording made_;
  std::unique_ptr<engine> engine_;
};

TEST_F(same_name_test, passes_over_other_names_however_far_it_is) {
  made_.standard_tables();
  const event_id first = add_kernel(5, "gemm");
  for (int i = 0; i < 20; ++i) add_kernel(100 + i * 50 * ms, "copy");
  const event_id second = add_kernel(2000 * ms, "gemm");
  const event_id third = add_kernel(2000 * ms + 100, "gemm");
  EXPECT_EQ(next(first), second);
  EXPECT_EQ(next(second), third);
  EXPECT_EQ(previous(third), second);
  EXPECT_EQ(previous(second), first);
  EXPECT_EQ((*ask(first, same_name::next))->span, (time_range{2000 * ms, 2000 * ms + 10}));
}

TEST_F(same_name_test, of_a_sample_is_the_same_stack_of_the_same_thread) {
  made_.standard_tables();
  const auto add_sample = [&](trace::time_ns begin, std::uint64_t thread, std::uint64_t stack) {
    auto row = made_.event<trace::host_sample_event>(begin);
    row.length = 10;
    row.thread = trace::thread_id{thread};
    row.stack = trace::stack_id{stack};
    return event_id{made_.writer().add(row)};
  };
  const event_id first = add_sample(0, 1, 1);
  add_sample(10, 1, 2);
  add_sample(20, 2, 1);
  const event_id second = add_sample(30, 1, 1);
  EXPECT_EQ(next(first), second);
  EXPECT_EQ(previous(second), first);
  EXPECT_EQ((*ask(first, same_name::next))->span, (time_range{30, 40}));
}

TEST_F(same_name_test, goes_through_events_that_begin_together_one_by_one) {
  made_.standard_tables();
  const event_id a = add_kernel(5, "gemm");
  const event_id b = add_kernel(5, "gemm");
  const event_id c = add_kernel(5, "gemm");
  EXPECT_EQ(next(a), b);
  EXPECT_EQ(next(b), c);
  EXPECT_EQ(previous(c), b);
  EXPECT_EQ(previous(b), a);
}

TEST_F(same_name_test, says_that_there_is_none) {
  made_.standard_tables();
  const event_id only = add_kernel(5, "gemm");
  add_kernel(10 * ms, "copy");
  for (const same_name which : {same_name::next, same_name::previous}) {
    const auto found = ask(only, which);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, error_code::not_found);
  }
  EXPECT_FALSE(ask(event_id{123456}, same_name::next)) << "no such event";
}

TEST_F(same_name_test, takes_copies_of_one_direction_as_the_same) {
  made_.standard_tables();
  const event_id first = made_.add_copy(1 * ms, 2 * ms, 100);
  made_.add_copy(3 * ms, 4 * ms, 100, trace::direction::d2h);
  const event_id last = made_.add_copy(5 * ms, 6 * ms, 100);
  EXPECT_EQ(next(first), last);
  EXPECT_EQ(previous(last), first);
}

}  // namespace
}  // namespace sluice::query
