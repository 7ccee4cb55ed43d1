#include "core/summary/sections/section_cache.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/core/recordings/in_sections.hpp"

namespace sluice::query {
namespace {

using testing::in_parts;

TEST(section_cache, gives_the_same_index_as_long_as_it_is_kept) {
  const in_parts parts;
  summary::section_cache cache(parts.store, SIZE_MAX);
  EXPECT_EQ(cache.at_hand(2, 3, index::section_scope::everything), nullptr);
  const auto first = cache.get(2, 3, index::section_scope::everything).value();
  EXPECT_EQ(cache.get(2, 3, index::section_scope::everything).value(), first);
  EXPECT_EQ(cache.at_hand(2, 3, index::section_scope::everything), first);
  EXPECT_NE(cache.get(2, 2, index::section_scope::everything).value(), first);
  EXPECT_EQ(cache.memory_bytes(),
            first->memory_bytes() + cache.at_hand(2, 2, index::section_scope::everything)->memory_bytes());
}

TEST(section_cache, results_with_what_says_more_than_was_asked_for) {
  const in_parts parts;
  summary::section_cache cache(parts.store, SIZE_MAX);
  const auto memory = cache.get(1, 1, index::section_scope::memory).value();
  EXPECT_EQ(cache.at_hand(1, 1, index::section_scope::metrics), nullptr);
  const auto metrics = cache.get(1, 1, index::section_scope::metrics).value();
  EXPECT_NE(metrics, memory);
  EXPECT_EQ(cache.at_hand(1, 1, index::section_scope::everything), nullptr);
  EXPECT_EQ(cache.get(1, 1, index::section_scope::memory).value(), metrics);
}

TEST(section_cache, keeps_what_is_drawn_for_itself_without_blocks) {
  const in_parts parts;
  summary::section_cache cache(parts.store, SIZE_MAX);
  const auto everything = cache.get(1, 1, index::section_scope::everything).value();
  EXPECT_EQ(cache.at_hand(1, 1, index::section_scope::timeline), nullptr);
  const auto timeline = cache.get(1, 1, index::section_scope::timeline).value();
  EXPECT_EQ(cache.get(1, 1, index::section_scope::memory).value(), everything);
  ASSERT_FALSE(everything->memory().blocks().empty());
  EXPECT_TRUE(timeline->memory().blocks().empty());
  EXPECT_EQ(timeline->memory().use().size(), everything->memory().use().size());
}

TEST(section_cache, lets_go_what_was_not_asked_for_longest_when_the_budget_is_spent) {
  const in_parts parts;
  std::size_t three = 0;
  for (const std::size_t section : {0, 1, 2}) three += parts.store->get_index(section, section).value()->memory_bytes();
  summary::section_cache cache(parts.store, three);
  for (const std::size_t section : {0, 1, 2})
    static_cast<void>(cache.get(section, section, index::section_scope::everything));
  static_cast<void>(cache.get(0, 0, index::section_scope::everything));
  static_cast<void>(cache.get(5, 6, index::section_scope::everything));
  EXPECT_LE(cache.memory_bytes(), three);
  EXPECT_NE(cache.at_hand(5, 6, index::section_scope::everything), nullptr);
  EXPECT_EQ(cache.at_hand(1, 1, index::section_scope::everything), nullptr);
}

TEST(section_cache, keeps_one_even_without_a_budget_and_what_is_held_outlives_it) {
  const in_parts parts;
  summary::section_cache cache(parts.store, 0);
  const auto held = cache.get(1, 1, index::section_scope::everything).value();
  EXPECT_EQ(cache.at_hand(1, 1, index::section_scope::everything), held);
  static_cast<void>(cache.get(2, 2, index::section_scope::everything));
  EXPECT_EQ(cache.at_hand(1, 1, index::section_scope::everything), nullptr);
  EXPECT_TRUE(held->is_part());
  EXPECT_NE(cache.get(1, 1, index::section_scope::everything).value(), held);
}

TEST(section_cache, builds_ahead_what_is_not_kept_and_calls_who_has_something_to_do_in_between) {
  const in_parts parts;
  summary::section_cache cache(parts.store, SIZE_MAX);
  int called = 0;
  const auto between = [&] {
    ++called;
    EXPECT_EQ(cache.at_hand(2, 2, index::section_scope::timeline), nullptr);
    EXPECT_FALSE(cache.prepare(2, index::section_scope::timeline, {})) << "another thread builds it";
    return true;
  };
  EXPECT_TRUE(cache.prepare(2, index::section_scope::timeline, between));
  EXPECT_GE(called, 3) << "chunks of allocations, of frees and of blocks allocated before";
  EXPECT_NE(cache.at_hand(2, 2, index::section_scope::timeline), nullptr);
  EXPECT_FALSE(cache.prepare(2, index::section_scope::timeline, {}));
}

// The first caller withdraws at its second check: nothing more is read or kept, and the next caller builds the index.
TEST(section_cache, gives_up_at_the_next_chunk_once_nobody_wants_it) {
  const in_parts parts;
  summary::section_cache cache(parts.store, SIZE_MAX);
  int looks = 0;
  const auto given_up = cache.get(2, 2, index::section_scope::everything, [&] { return ++looks < 2; });
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, error_code::cancelled);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(cache.memory_bytes(), 0U);
  EXPECT_TRUE(cache.get(2, 2, index::section_scope::everything));
}

TEST(section_cache, says_that_there_are_no_such_sections) {
  const in_parts parts;
  summary::section_cache cache(parts.store, SIZE_MAX);
  EXPECT_FALSE(cache.get(3, 2, index::section_scope::everything));
  EXPECT_FALSE(cache.get(0, 8, index::section_scope::everything));
  EXPECT_EQ(cache.memory_bytes(), 0U);
}

TEST(section_cache, builds_an_index_once_for_all_who_ask_at_a_time) {
  const in_parts parts;
  summary::section_cache cache(parts.store, SIZE_MAX);
  std::vector<std::shared_ptr<const index::event_store>> found(8);
  std::vector<std::thread> askers;
  for (auto& each : found)
    askers.emplace_back([&] { each = cache.get(0, 7, index::section_scope::everything).value(); });
  for (std::thread& each : askers) each.join();
  for (const auto& each : found) EXPECT_EQ(each, found[0]);
}

TEST(section_cache, gives_each_of_some_sections_and_nothing_where_there_is_none) {
  const in_parts parts;
  summary::section_cache cache(parts.store, 0);
  const std::vector<std::size_t> wanted = {3, 1, 99, 7};
  const auto found = cache.get_each(wanted, index::section_scope::memory);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[2], nullptr);
  for (const std::size_t i : {0U, 1U, 3U}) {
    const auto alone = parts.store->get_index(wanted[i], wanted[i], index::section_scope::memory).value();
    ASSERT_NE(found[i], nullptr);
    EXPECT_EQ(found[i]->memory().blocks().size(), alone->memory().blocks().size());
  }
}

TEST(section_cache, shares_the_work_among_all_who_ask_for_the_same_sections) {
  const in_parts parts;
  summary::section_cache cache(parts.store, SIZE_MAX);
  const std::vector<std::size_t> values = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::vector<std::shared_ptr<const index::event_store>>> found(6);
  std::vector<std::thread> askers;
  for (auto& each : found) askers.emplace_back([&] { each = cache.get_each(values, index::section_scope::timeline); });
  for (std::thread& each : askers) each.join();
  for (const auto& each : found) EXPECT_EQ(each, found[0]);
  for (const auto& index : found[0]) EXPECT_NE(index, nullptr);
}

}  // namespace
}  // namespace sluice::query
