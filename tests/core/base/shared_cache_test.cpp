#include "core/base/shared_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <compare>
#include <thread>

namespace sluice {
namespace {

struct number {
  int of = 0;
  int size = 0;  ///< A larger item also serves a request for a smaller one.
  friend auto operator<=>(const number&, const number&) = default;
  [[nodiscard]] bool is_in(const number& other) const { return of == other.of && size <= other.size; }
};
using numbers = shared_cache<number, int>;

class cache_of_numbers : public ::testing::Test {
 protected:
  /// A cache whose items take 10 bytes each.
  numbers of(std::size_t max_bytes) {
    return {max_bytes, [this](const number& key) { return make(key); }, [](const int&) { return std::size_t{10}; }};
  }
  numbers::made make(const number& key) {
    ++made;
    if (key.of < 0) return fail(error_code::not_found, "no such number");
    return std::make_shared<const int>(key.of);
  }
  std::atomic<int> made{0};
};

TEST_F(cache_of_numbers, makes_each_once_as_long_as_it_is_kept) {
  numbers all = of(20);
  EXPECT_EQ(**all.get({1}), 1);
  EXPECT_EQ(**all.get({1}), 1);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(all.memory_bytes(), 10U);
  EXPECT_EQ(all.at_hand({2}), nullptr);
  EXPECT_EQ(made, 1);
}

TEST_F(cache_of_numbers, lets_go_what_was_not_asked_for_longest) {
  numbers all = of(20);
  static_cast<void>(all.get({1}));
  static_cast<void>(all.get({2}));
  static_cast<void>(all.get({1}));
  static_cast<void>(all.get({3}));
  EXPECT_NE(all.at_hand({1}), nullptr);
  EXPECT_EQ(all.at_hand({2}), nullptr);
  EXPECT_EQ(all.memory_bytes(), 20U);
}

TEST_F(cache_of_numbers, keeps_the_last_one_whatever_the_budget) {
  numbers none = of(0);
  static_cast<void>(none.get({1}));
  static_cast<void>(none.get({2}));
  EXPECT_EQ(none.at_hand({1}), nullptr);
  EXPECT_NE(none.at_hand({2}), nullptr);
}

TEST_F(cache_of_numbers, serves_with_what_says_more) {
  numbers all = of(100);
  static_cast<void>(all.get({1, 5}));
  EXPECT_NE(all.at_hand({1, 3}), nullptr);
  EXPECT_EQ(all.at_hand({1, 6}), nullptr);
  EXPECT_EQ(all.at_hand({0, 3}), nullptr);
  EXPECT_EQ(all.at_hand({2, 0}), nullptr);
}

TEST_F(cache_of_numbers, lets_go_what_something_kept_later_serves_for_too) {
  numbers all = of(100);
  static_cast<void>(all.get({1, 2}));
  static_cast<void>(all.get({1, 3}));
  static_cast<void>(all.get({2, 2}));
  EXPECT_EQ(all.memory_bytes(), 20U);
  EXPECT_NE(all.at_hand({1, 2}), nullptr);
}

TEST_F(cache_of_numbers, keeps_no_failure) {
  numbers all = of(100);
  EXPECT_EQ(all.get({-1}).error().code, error_code::not_found);
  EXPECT_EQ(all.get({-1}).error().code, error_code::not_found);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(all.memory_bytes(), 0U);
}

TEST_F(cache_of_numbers, makes_ahead_what_is_neither_kept_nor_made) {
  numbers all = of(100);
  const auto twice = [&](const number& key) { return make({key.of * 2}); };
  EXPECT_TRUE(all.make_ahead({1}, twice));
  EXPECT_EQ(**all.get({1}), 2);
  EXPECT_FALSE(all.make_ahead({1}, twice));
  EXPECT_TRUE(all.make_ahead({-1}, twice)) << "each caller gets the error";
  EXPECT_EQ(all.get({-1}).error().code, error_code::not_found);
  EXPECT_EQ(made, 3);
}

TEST_F(cache_of_numbers, makes_nothing_ahead_that_is_being_made_and_does_not_wait_for_it) {
  numbers* cache = nullptr;
  bool ahead = true;
  numbers all(
      100,
      [&](const number& key) {
        ahead = cache->make_ahead(key, [&](const number& again) { return make(again); });
        return make(key);
      },
      [](const int&) { return std::size_t{10}; });
  cache = &all;
  EXPECT_EQ(**all.get({1}), 1);
  EXPECT_FALSE(ahead);
  EXPECT_EQ(made, 1);
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
  numbers all(1000, make_beside_another, [](const int&) { return std::size_t{10}; });
  const number wanted[] = {{1}, {2}, {3}, {4}};
  const auto ask = [&] {
    const auto found = all.get_each(wanted);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(**found[i], wanted[i].of);
  };
  std::thread other(ask);
  ask();
  other.join();
  EXPECT_EQ(made, 4);
}

}  // namespace
}  // namespace sluice
