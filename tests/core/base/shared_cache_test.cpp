#include "core/base/shared_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <compare>
#include <thread>

namespace sluice {
namespace {

struct number {
  int subject = 0;
  int size = 0;  ///< A larger item also serves a request for a smaller one.
  friend auto operator<=>(const number&, const number&) = default;
  [[nodiscard]] bool is_in(const number& other) const { return subject == other.subject && size <= other.size; }
};
using numbers = shared_cache<number, int>;

class cache_of_numbers : public ::testing::Test {
 protected:
  /// A cache whose items take 10 bytes each.
  numbers of(std::size_t max_bytes) {
    return {max_bytes, [this](const number& key) { return make(key); }, [](const int&) { return std::size_t{10}; }};
  }
  numbers::made make(const number& key) {
    ++created;
    if (key.subject < 0) return fail(error_code::not_found, "no such number");
    return std::make_shared<const int>(key.subject);
  }
  std::atomic<int> created{0};
};

TEST_F(cache_of_numbers, makes_each_once_as_long_as_it_is_kept) {
  numbers totals = of(20);
  EXPECT_EQ(**totals.get({1}), 1);
  EXPECT_EQ(**totals.get({1}), 1);
  EXPECT_EQ(created, 1);
  EXPECT_EQ(totals.memory_bytes(), 10U);
  EXPECT_EQ(totals.at_hand({2}), nullptr);
  EXPECT_EQ(created, 1);
}

TEST_F(cache_of_numbers, lets_go_what_was_not_asked_for_longest) {
  numbers totals = of(20);
  static_cast<void>(totals.get({1}));
  static_cast<void>(totals.get({2}));
  static_cast<void>(totals.get({1}));
  static_cast<void>(totals.get({3}));
  EXPECT_NE(totals.at_hand({1}), nullptr);
  EXPECT_EQ(totals.at_hand({2}), nullptr);
  EXPECT_EQ(totals.memory_bytes(), 20U);
}

TEST_F(cache_of_numbers, keeps_the_last_one_whatever_the_budget) {
  numbers none = of(0);
  static_cast<void>(none.get({1}));
  static_cast<void>(none.get({2}));
  EXPECT_EQ(none.at_hand({1}), nullptr);
  EXPECT_NE(none.at_hand({2}), nullptr);
}

TEST_F(cache_of_numbers, serves_with_what_says_more) {
  numbers totals = of(100);
  static_cast<void>(totals.get({1, 5}));
  EXPECT_NE(totals.at_hand({1, 3}), nullptr);
  EXPECT_EQ(totals.at_hand({1, 6}), nullptr);
  EXPECT_EQ(totals.at_hand({0, 3}), nullptr);
  EXPECT_EQ(totals.at_hand({2, 0}), nullptr);
}

TEST_F(cache_of_numbers, lets_go_what_something_kept_later_serves_for_too) {
  numbers totals = of(100);
  static_cast<void>(totals.get({1, 2}));
  static_cast<void>(totals.get({1, 3}));
  static_cast<void>(totals.get({2, 2}));
  EXPECT_EQ(totals.memory_bytes(), 20U);
  EXPECT_NE(totals.at_hand({1, 2}), nullptr);
}

TEST_F(cache_of_numbers, keeps_no_failure) {
  numbers totals = of(100);
  EXPECT_EQ(totals.get({-1}).error().code, error_code::not_found);
  EXPECT_EQ(totals.get({-1}).error().code, error_code::not_found);
  EXPECT_EQ(created, 2);
  EXPECT_EQ(totals.memory_bytes(), 0U);
}

TEST_F(cache_of_numbers, makes_ahead_what_is_neither_kept_nor_made) {
  numbers totals = of(100);
  const auto twice = [&](const number& key) { return make({key.subject * 2}); };
  EXPECT_TRUE(totals.make_ahead({1}, twice));
  EXPECT_EQ(**totals.get({1}), 2);
  EXPECT_FALSE(totals.make_ahead({1}, twice));
  EXPECT_TRUE(totals.make_ahead({-1}, twice)) << "each caller gets the error";
  EXPECT_EQ(totals.get({-1}).error().code, error_code::not_found);
  EXPECT_EQ(created, 3);
}

TEST_F(cache_of_numbers, makes_nothing_ahead_that_is_being_made_and_does_not_wait_for_it) {
  numbers* cache = nullptr;
  bool ahead = true;
  numbers totals(
      100,
      [&](const number& key) {
        ahead = cache->make_ahead(key, [&](const number& again) { return make(again); });
        return make(key);
      },
      [](const int&) { return std::size_t{10}; });
  cache = &totals;
  EXPECT_EQ(**totals.get({1}), 1);
  EXPECT_FALSE(ahead);
  EXPECT_EQ(created, 1);
}

TEST_F(cache_of_numbers, shares_the_making_among_all_who_ask_at_a_time) {
  std::atomic<int> making{0};
  std::atomic<int> together{0};
  const auto make_beside_another = [&](const number& key) {
    // Waits until the other thread also builds an item, so that neither thread builds all items.
    ++making;
    while (making < 2 && together < 1) std::this_thread::yield();
    ++together;
    return make(key);
  };
  numbers totals(1000, make_beside_another, [](const int&) { return std::size_t{10}; });
  const number wanted[] = {{1}, {2}, {3}, {4}};
  const auto ask = [&] {
    const auto found = totals.get_each(wanted);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(**found[i], wanted[i].subject);
  };
  std::thread other(ask);
  ask();
  other.join();
  EXPECT_EQ(created, 4);
}

}  // namespace
}  // namespace sluice
