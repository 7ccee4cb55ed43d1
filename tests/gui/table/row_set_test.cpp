#include "app/gui/views/table/row_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

namespace sluice::gui {
namespace {

using runs = std::vector<row_set::run>;

TEST(row_set, of_a_range_is_one_run_whichever_end_is_said_first) {
  row_set rows;
  rows.choose(7, 3);
  EXPECT_EQ(rows.runs(), (runs{{3, 8}}));
  EXPECT_EQ(rows.size(), 5U);
  rows.choose(0, 9'999'999);
  EXPECT_EQ(rows.runs().size(), 1U);
  rows.clear();
  EXPECT_TRUE(rows.empty());
}

TEST(row_set, joins_and_parts_runs) {
  row_set rows;
  rows.toggle(4);
  rows.toggle(6);
  EXPECT_EQ(rows.runs(), (runs{{4, 5}, {6, 7}}));
  rows.toggle(5);
  EXPECT_EQ(rows.runs(), (runs{{4, 7}}));
  rows.toggle(5);
  EXPECT_EQ(rows.runs(), (runs{{4, 5}, {6, 7}}));
}

TEST(row_set, holds_what_a_set_holds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    row_set rows;
    std::set<std::size_t> expected;
    for (int step = 0; step < 200; ++step) {
      const std::size_t row = random() % 30;
      rows.toggle(row);
      if (!expected.erase(row)) expected.insert(row);
      ASSERT_EQ(rows.size(), expected.size());
      for (std::size_t each = 0; each < 31; ++each) ASSERT_EQ(rows.contains(each), expected.contains(each)) << each;
      for (std::size_t i = 1; i < rows.runs().size(); ++i) ASSERT_GT(rows.runs()[i].begin, rows.runs()[i - 1].end);
    }
  }
}

}  // namespace
}  // namespace sluice::gui
