#include "core/query/results/query_operator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/query/engine/engine.hpp"
#include "core/replay/replay.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/recordings/replayed_program.hpp"

namespace sluice::query {
namespace {

using testing::recording;
using testing::replayed_program;

what_if_curves ask(const std::string& path) {
  engine asked(trace::file::open(path).value());
  const auto found = asked.ask_now(what_if_query{});
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? **found : what_if_curves{};
}

TEST(what_if, has_a_curve_for_each_policy_that_reaches_its_peak) {
  recording recorded;
  replayed_program program(recorded);
  testing::grow_slowly(program, 20);
  recorded.close();
  const what_if_curves found = ask(recorded.path());
  ASSERT_EQ(found.allocators.size(), 1U);
  const replayed_allocator& allocator = found.allocators[0];
  EXPECT_TRUE(allocator.reproduced);
  EXPECT_EQ(allocator.recorded_peak, program.allocator().peak);
  ASSERT_GE(allocator.policies.size(), replay::default_policies().size());
  for (const replayed_policy& each : allocator.policies) {
    ASSERT_EQ(each.reserved.size(), what_if_curves::parts) << each.policy;
    EXPECT_EQ(*std::max_element(each.reserved.begin(), each.reserved.end()), each.metrics.peak_reserved) << each.policy;
    EXPECT_GT(each.metrics.peak_reserved, 0U) << each.policy;
  }
  EXPECT_EQ(allocator.policies[0].metrics.peak_reserved, allocator.recorded_peak);
}

TEST(what_if, of_native_rises_as_its_segments_were_taken) {
  recording recorded;
  replayed_program program(recorded);
  testing::grow_slowly(program, 20);
  recorded.close();
  const what_if_curves found = ask(recorded.path());
  const auto& reserved = found.allocators.at(0).policies.at(0).reserved;
  EXPECT_TRUE(std::is_sorted(reserved.begin(), reserved.end())) << "nothing is released";
  EXPECT_LT(reserved[10], reserved[300]);
}

TEST(what_if, from_sections_is_that_from_an_index_of_everything) {
  recording whole;
  recording parts;
  for (recording* each : {&whole, &parts}) {
    replayed_program program(*each);
    testing::grow_slowly(program, 400);
    for (std::int64_t step = 0; step < 4; ++step) {
      auto mark = each->event<trace::marker_event>(step * 1000);
      mark.step = step;
      each->writer().add(mark);
    }
    auto failed = each->event<trace::alloc_failed_event>(10'000 * testing::ms);
    failed.layer = trace::layer::framework;
    failed.kind = trace::memory_kind::device;
    failed.device = trace::device_id{1};
    failed.bytes = testing::gib;
    each->writer().add(failed);
  }
  whole.close();
  summary::finalize_options ending;
  ending.min_events = 1;
  ending.section_events = 100;
  ASSERT_TRUE(summary::finalize(parts.writer(), ending));
  const what_if_curves expected = ask(whole.path());
  const what_if_curves found = ask(parts.path());
  ASSERT_EQ(found.allocators.size(), 1U);
  EXPECT_EQ(found.span, expected.span);
  ASSERT_EQ(expected.allocators[0].policies.size(), replay::default_policies().size() + 2)
      << "to empty the cache in each step, and before the failure";
  EXPECT_GT(expected.allocators[0].policies[0].metrics.at_failure, 0U);
  for (std::size_t i = 0; i < expected.allocators[0].policies.size(); ++i) {
    EXPECT_EQ(found.allocators[0].policies[i].metrics, expected.allocators[0].policies[i].metrics);
    EXPECT_EQ(found.allocators[0].policies[i].reserved, expected.allocators[0].policies[i].reserved);
  }
}

TEST(what_if, is_empty_without_requests_to_a_framework) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1, 1, 100);
  recorded.close();
  const what_if_curves found = ask(recorded.path());
  EXPECT_TRUE(found.allocators.empty());
  EXPECT_FALSE(found.too_many);
}

TEST(what_if, ends_when_it_is_withdrawn) {
  recording recorded;
  replayed_program program(recorded);
  testing::grow_slowly(program, 20);
  recorded.close();
  const testing::indexed loaded(recorded.open());
  std::atomic<bool> cancelled{true};
  symbols::frame_cache frames;
  bool provisional = false;
  const auto found =
      result_to(what_if_query{}, sources{loaded.index, *loaded.snapshot, cancelled, frames,
                                         symbols::frame_cache::lookup::at_once, nullptr, nullptr, provisional});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::cancelled);
}

}  // namespace
}  // namespace sluice::query
