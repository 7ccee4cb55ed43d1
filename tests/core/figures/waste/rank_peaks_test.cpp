#include "core/figures/waste/rank_peaks.hpp"

#include <gtest/gtest.h>

#include "tests/core/figures/waste/wasteful_recording.hpp"

namespace sluice::analysis {
namespace {

using testing::mib;
using testing::us;
using testing::wasteful_recording;

void add_rank(wasteful_recording& told, std::uint64_t process, std::int64_t rank) {
  trace::process_row row;
  row.id = trace::process_id{process};
  row.pid = process;
  row.rank = rank;
  told.made.writer().add(row);
}

void alloc(wasteful_recording& told, std::uint64_t process, time_ns time, std::uint64_t block, std::uint64_t bytes,
           trace::stack_id stack = {}, trace::layer layer = trace::layer::driver) {
  auto row = told.made.event<trace::alloc_event>(time * us);
  row.process = trace::process_id{process};
  row.block = trace::block_id{block};
  row.bytes = bytes;
  row.layer = layer;
  row.kind = trace::memory_kind::device;
  row.device = trace::device_id{1};
  row.stack = stack;
  told.made.writer().add(row);
}

TEST(rank_peaks, are_of_each_rank_alone) {
  wasteful_recording told;
  add_rank(told, 10, 1);
  add_rank(told, 11, 0);
  const trace::stack_id model = told.stack({testing::python("model", "/home/me/train.py", 3)});
  const trace::stack_id batch = told.stack({testing::python("batch", "/home/me/train.py", 9)});
  alloc(told, 10, 0, 1, 4 * mib, model);
  alloc(told, 10, 20, 2, 2 * mib, batch);
  alloc(told, 10, 30, 3, mib, batch);
  told.free(50, 2);
  told.free(51, 1);
  alloc(told, 11, 40, 4, 5 * mib, model);
  told.free(60, 4);
  alloc(told, 11, 70, 5, 3 * mib, model);
  const auto ranks = told.waste().ranks;
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].rank, 0);
  EXPECT_EQ(ranks[0].bytes, 5 * mib);
  EXPECT_EQ(ranks[0].time, 40 * us);
  EXPECT_EQ(ranks[1].rank, 1);
  EXPECT_EQ(ranks[1].bytes, 7 * mib);
  EXPECT_EQ(ranks[1].time, 30 * us);
  ASSERT_EQ(ranks[1].held.size(), 2U);
  EXPECT_EQ(ranks[1].held[0].stack, model);
  EXPECT_EQ(ranks[1].held[0].bytes, 4 * mib);
  EXPECT_EQ(ranks[1].held[1].stack, batch);
  EXPECT_EQ(ranks[1].held[1].bytes, 3 * mib);
}

TEST(rank_peaks, are_of_the_highest_layer) {
  wasteful_recording told;
  add_rank(told, 10, 0);
  add_rank(told, 11, 1);
  for (const std::uint64_t process : {10, 11}) {
    alloc(told, process, 0, process, 8 * mib);
    alloc(told, process, 1, process + 10, 2 * mib, {}, trace::layer::framework);
  }
  for (const rank_peak& each : told.waste().ranks) {
    EXPECT_EQ(each.layer, trace::layer::framework);
    EXPECT_EQ(each.bytes, 2 * mib);
  }
}

TEST(rank_peaks, need_several_ranks) {
  wasteful_recording told;
  add_rank(told, 10, 0);
  alloc(told, 10, 0, 1, mib);
  EXPECT_TRUE(told.waste().ranks.empty());
}

}  // namespace
}  // namespace sluice::analysis
