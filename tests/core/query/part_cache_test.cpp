#include "core/analysis/part_cache.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/analysis/tensors.hpp"
#include "tests/core/query/random_recording.hpp"

namespace sluice::analysis {
namespace {

/// A recording with eight epochs.
struct in_parts {
  in_parts() {
    told.made.flush();
    const testing::indexed before(told.made.open());
    std::vector<trace::epoch_row> epochs;
    for (time_ns begin = 0; begin < 4000; begin += 500) epochs.push_back({begin, begin + 500, 0});
    told.made.writer().add_summary<trace::epoch_row>(epochs);
    save_parts(before.index, *before.snapshot, epochs, told.made.writer());
    told.made.close();
    store = part_store::open(told.made.open()->latest(), {}).value();
  }
  query::random_recording told{11, false};
  std::shared_ptr<const part_store> store;
};

TEST(part_cache, gives_the_same_index_as_long_as_it_is_kept) {
  const in_parts of;
  part_cache cache(of.store, SIZE_MAX);
  EXPECT_EQ(cache.at_hand(2, 3), nullptr);
  const auto first = cache.get(2, 3).value();
  EXPECT_EQ(cache.get(2, 3).value(), first);
  EXPECT_EQ(cache.at_hand(2, 3), first);
  EXPECT_NE(cache.get(2, 2).value(), first);
  EXPECT_EQ(cache.memory_bytes(), first->memory_bytes() + cache.at_hand(2, 2)->memory_bytes());
}

TEST(part_cache, lets_go_what_was_not_asked_for_longest_when_the_budget_is_spent) {
  const in_parts of;
  std::size_t three = 0;
  for (const std::size_t epoch : {0, 1, 2}) three += of.store->index_of(epoch, epoch).value()->memory_bytes();
  part_cache cache(of.store, three);
  for (const std::size_t epoch : {0, 1, 2}) static_cast<void>(cache.get(epoch, epoch));
  static_cast<void>(cache.get(0, 0));
  static_cast<void>(cache.get(5, 6));
  EXPECT_LE(cache.memory_bytes(), three);
  EXPECT_NE(cache.at_hand(5, 6), nullptr);
  EXPECT_EQ(cache.at_hand(1, 1), nullptr);
}

TEST(part_cache, keeps_one_even_without_a_budget_and_what_is_held_outlives_it) {
  const in_parts of;
  part_cache cache(of.store, 0);
  const auto held = cache.get(1, 1).value();
  EXPECT_EQ(cache.at_hand(1, 1), held);
  static_cast<void>(cache.get(2, 2));
  EXPECT_EQ(cache.at_hand(1, 1), nullptr);
  EXPECT_TRUE(held->is_part());
  EXPECT_NE(cache.get(1, 1).value(), held);
}

TEST(part_cache, says_that_there_are_no_such_epochs) {
  const in_parts of;
  part_cache cache(of.store, SIZE_MAX);
  EXPECT_FALSE(cache.get(3, 2));
  EXPECT_FALSE(cache.get(0, 8));
  EXPECT_EQ(cache.memory_bytes(), 0U);
}

TEST(part_cache, builds_an_index_once_for_all_who_ask_at_a_time) {
  const in_parts of;
  part_cache cache(of.store, SIZE_MAX);
  std::vector<std::shared_ptr<const index>> found(8);
  std::vector<std::thread> askers;
  for (auto& each : found) askers.emplace_back([&] { each = cache.get(0, 7).value(); });
  for (std::thread& each : askers) each.join();
  for (const auto& each : found) EXPECT_EQ(each, found[0]);
}

}  // namespace
}  // namespace sluice::analysis
