#include "core/base/sort_runs.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace sluice {
namespace {

using item = std::pair<int, int>;  ///< Sort key, and original position.

bool earlier(const item& a, const item& b) { return a.first < b.first; }

void expect_sorts_like_a_stable_sort(std::vector<item> items) {
  for (std::size_t i = 0; i < items.size(); ++i) items[i].second = static_cast<int>(i);
  auto wanted = items;
  std::stable_sort(wanted.begin(), wanted.end(), earlier);
  sort_runs(items, earlier);
  EXPECT_EQ(items, wanted);
}

int draw(std::mt19937_64& random, std::uint64_t below) { return static_cast<int>(random() % below); }

TEST(sort_runs, sorts_nothing_and_one) {
  expect_sorts_like_a_stable_sort({});
  expect_sorts_like_a_stable_sort({{5, 0}});
}

TEST(sort_runs, sorts_runs_one_behind_the_other) {
  std::mt19937_64 random(1);
  for (int runs = 0; runs < 40; ++runs) {
    std::vector<item> items;
    for (int run = 0; run < runs; ++run) {
      int now = draw(random, 50);
      for (int i = draw(random, 200); i > 0; --i) items.emplace_back(now += draw(random, 4), 0);
    }
    expect_sorts_like_a_stable_sort(std::move(items));
  }
}

TEST(sort_runs, sorts_runs_with_items_that_are_late_by_a_few_or_by_many) {
  std::mt19937_64 random(1);
  for (int runs = 1; runs < 9; ++runs) {
    std::vector<item> items;
    for (int run = 0; run < runs; ++run) {
      int now = draw(random, 50);
      for (int i = draw(random, 2'000); i > 0; --i) {
        now += draw(random, 4);
        const int late = draw(random, 50);
        items.emplace_back(now - (late == 0 ? 500 : late < 10 ? 5 : 0), 0);
      }
    }
    expect_sorts_like_a_stable_sort(std::move(items));
  }
}

TEST(sort_runs, sorts_what_is_in_no_order) {
  std::mt19937_64 random(2);
  for (const int count : {2, 3, 15, 16, 17, 18, 33, 1'000}) {
    std::vector<item> items;
    for (int i = 0; i < count; ++i) items.emplace_back(draw(random, 100), 0);
    expect_sorts_like_a_stable_sort(items);
    std::sort(items.begin(), items.end(), [](const item& a, const item& b) { return a.first > b.first; });
    expect_sorts_like_a_stable_sort(std::move(items));
  }
}

}  // namespace
}  // namespace sluice
