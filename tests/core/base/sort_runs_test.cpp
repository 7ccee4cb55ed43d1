#include "core/base/sort_runs.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace sluice::timeline {
namespace {

using item = std::pair<int, int>;  ///< Sort key, and original position.

bool earlier(const item& a, const item& b) { return a.first < b.first; }

TEST(runs, are_sorted_as_a_stable_sort_sorts_them) {
  for (int runs = 0; runs < 40; ++runs) {
    std::mt19937_64 random(static_cast<std::uint64_t>(runs));
    std::vector<item> items;
    for (int run = 0; run < runs; ++run) {
      const auto begin = items.size();
      for (std::uint64_t i = random() % 200; i > 0; --i)
        items.emplace_back(static_cast<int>(random() % 50), static_cast<int>(items.size()));
      std::stable_sort(items.begin() + static_cast<std::ptrdiff_t>(begin), items.end(), earlier);
    }
    auto wanted = items;
    std::stable_sort(wanted.begin(), wanted.end(), earlier);
    sort_runs(items, earlier);
    EXPECT_EQ(items, wanted) << runs << " runs";
  }
}

}  // namespace
}  // namespace sluice::timeline
