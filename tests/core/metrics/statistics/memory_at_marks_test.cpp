#include "core/metrics/statistics/memory_at_marks.hpp"

#include <gtest/gtest.h>

#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::metrics {
namespace {

using testing::indexed;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::layer;
using trace::memory_kind;

class marks : public ::testing::Test {
 protected:
  void step(trace::time_ns time, std::int64_t number, std::uint64_t process = 1) {
    auto row = made_.event<trace::marker_event>(time);
    row.name = made_.text("step");
    row.step = number;
    row.process = trace::process_id{process};
    made_.writer().add(row);
  }
  void block(trace::time_ns time, std::uint64_t id, std::uint64_t bytes, layer layer, std::uint64_t parent = 0) {
    auto row = made_.event<trace::alloc_event>(time);
    row.block = trace::block_id{id};
    row.parent = trace::block_id{parent};
    row.bytes = bytes;
    row.kind = memory_kind::device;
    row.layer = layer;
    row.device = trace::device_id{1};
    made_.writer().add(row);
  }
  std::vector<program_mark> found() {
    made_.close();
    const indexed loaded(made_.open());
    return make_report(loaded.index, *loaded.snapshot).marks;
  }
  /// The memory of a layer at a mark; null if that layer has no memory.
  static const memory_at_mark* of(const program_mark& mark, layer layer) {
    for (const memory_at_mark& m : mark.memory) {
      if (m.memory.layer == layer) return &m;
    }
    return nullptr;
  }

  recording made_;
};

TEST_F(marks, of_a_program_that_makes_none_are_none) {
  made_.add_alloc(1 * ms, 1, 5 * mib);
  EXPECT_TRUE(found().empty());
}

TEST_F(marks, tell_blocks_and_the_segments_that_hold_them_by_layer) {
  block(1 * ms, 1, 20 * mib, layer::driver);
  block(2 * ms, 2, 8 * mib, layer::driver);  // A segment without an owner.
  block(3 * ms, 3, 5 * mib, layer::framework, 1);
  step(4 * ms, 0);
  block(5 * ms, 4, 6 * mib, layer::framework, 1);
  made_.add_free(6 * ms, 3, layer::framework);
  made_.add_free(7 * ms, 4, layer::framework);
  step(7 * ms, 1);
  made_.add_free(8 * ms, 1);
  step(9 * ms, 2);
  const auto whole = found();
  ASSERT_EQ(whole.size(), 3U);
  EXPECT_EQ(of(whole[0], layer::driver)->bytes, 28 * mib);
  EXPECT_EQ(of(whole[0], layer::framework)->bytes, 5 * mib);
  EXPECT_EQ(of(whole[0], layer::framework)->blocks, 1U);
  EXPECT_EQ(of(whole[0], layer::framework)->segment_bytes, 20 * mib);
  ASSERT_NE(of(whole[1], layer::framework), nullptr) << "the empty segment is still held";
  EXPECT_EQ(of(whole[1], layer::framework)->bytes, 0U) << "a free at the mark's time counts as done";
  EXPECT_EQ(of(whole[1], layer::framework)->segment_bytes, 20 * mib);
  EXPECT_EQ(of(whole[2], layer::framework), nullptr);
  EXPECT_EQ(of(whole[2], layer::driver)->bytes, 8 * mib);
}

TEST_F(marks, are_in_order_and_see_their_own_process_only) {
  step(5 * ms, 1);
  step(2 * ms, 0);
  step(6 * ms, 0, 2);
  block(1 * ms, 1, mib, layer::driver);
  const auto whole = found();
  ASSERT_EQ(whole.size(), 3U);
  EXPECT_EQ(whole[0].step, 0);
  EXPECT_EQ(whole[1].step, 1);
  EXPECT_EQ(whole[1].memory.size(), 1U);
  EXPECT_EQ(whole[2].process, trace::process_id{2});
  EXPECT_TRUE(whole[2].memory.empty());
}

TEST_F(marks, hold_the_last_value_of_each_counter_and_pool) {
  trace::counter_row counter;
  counter.id = trace::counter_id{1};
  counter.process = trace::process_id{1};
  made_.writer().add(counter);
  trace::pool_row pool;
  pool.id = trace::pool_id{1};
  pool.process = trace::process_id{1};
  made_.writer().add(pool);
  for (const trace::time_ns time : {3 * ms, 1 * ms}) {
    auto value = made_.event<trace::counter_event>(time);
    value.counter = counter.id;
    value.value = static_cast<double>(time);
    made_.writer().add(value);
    auto sample = made_.event<trace::pool_event>(time);
    sample.pool = pool.id;
    sample.reserved = 10 * mib;
    sample.used = static_cast<std::uint64_t>(time);
    made_.writer().add(sample);
  }
  step(2 * ms, 0);
  step(3 * ms, 1);
  const auto whole = found();
  ASSERT_EQ(whole.size(), 2U);
  ASSERT_EQ(whole[0].counters.size(), 1U);
  EXPECT_EQ(whole[0].counters[0].value, 1e6);
  EXPECT_EQ(whole[1].counters[0].value, 3e6);
  ASSERT_EQ(whole[1].pools.size(), 1U);
  EXPECT_EQ(whole[1].pools[0].used, 3'000'000U);
  EXPECT_EQ(whole[1].pools[0].reserved, 10 * mib);
}

TEST_F(marks, are_at_most_a_thousand) {
  for (int i = 0; i < 1200; ++i) step(i * ms, i);
  const auto whole = found();
  ASSERT_EQ(whole.size(), mark_limit);
  EXPECT_EQ(whole.back().step, 999);
}

}  // namespace
}  // namespace sluice::metrics
