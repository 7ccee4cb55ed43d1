// sort_runs gives the same result as std::stable_sort for nearly sorted input.
#include "instrumentation/writer/sort_runs.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace sluice::writer {
namespace {

struct item {
  std::int64_t time = 0;
  std::size_t place = 0;
  friend bool operator==(const item&, const item&) = default;
};

void sorts_as_the_library(std::vector<item> items) {
  for (std::size_t i = 0; i < items.size(); ++i) items[i].place = i;
  std::vector<item> expected = items;
  std::stable_sort(expected.begin(), expected.end(), [](const item& a, const item& b) { return a.time < b.time; });
  std::vector<item> spare;
  sort_runs(items, spare, [](const item& i) { return i.time; });
  EXPECT_TRUE(items == expected);
}

TEST(sort_runs, sorts_nothing_and_one) {
  sorts_as_the_library({});
  sorts_as_the_library({{5}});
}

TEST(sort_runs, sorts_threads_one_behind_the_other) {
  std::mt19937_64 random(1);
  for (std::size_t threads = 1; threads < 9; ++threads) {
    std::vector<item> items;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      std::int64_t now = static_cast<std::int64_t>(random() % 50);
      for (std::size_t i = random() % 2'000; i-- > 0;) {
        now += static_cast<std::int64_t>(random() % 4);
        // Some records arrive late: by a few records, or by many.
        const std::uint64_t late = random() % 50;
        items.push_back({now - (late == 0 ? 500 : late < 10 ? 5 : 0)});
      }
    }
    sorts_as_the_library(std::move(items));
  }
}

TEST(sort_runs, sorts_what_is_in_no_order) {
  std::mt19937_64 random(2);
  for (const std::size_t count : {2u, 3u, 15u, 16u, 17u, 18u, 33u, 1'000u}) {
    std::vector<item> items;
    for (std::size_t i = 0; i < count; ++i) items.push_back({static_cast<std::int64_t>(random() % 100)});
    sorts_as_the_library(items);
    std::sort(items.begin(), items.end(), [](const item& a, const item& b) { return a.time > b.time; });
    sorts_as_the_library(std::move(items));
  }
}

}  // namespace
}  // namespace sluice::writer
