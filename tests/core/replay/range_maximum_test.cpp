#include "core/replay/range_maximum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sluice::replay {
namespace {

TEST(range_maximum, finds_what_a_search_from_end_to_end_finds) {
  for (const std::size_t places : {1U, 2U, 7U, 8U, 33U}) {
    std::mt19937 random(static_cast<unsigned>(places));
    range_maximum maximum(places);
    std::vector<std::uint32_t> plain(places);
    for (std::uint32_t number = 1; number <= 400; ++number) {
      const std::size_t changed = random() % places;
      plain[changed] = random() % 3 == 0 ? 0 : number;
      maximum.set(changed, plain[changed]);
      const std::size_t first = random() % (places + 1);
      const std::size_t last = first + random() % (places + 1 - first);
      const auto begin = plain.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = plain.begin() + static_cast<std::ptrdiff_t>(last);
      const auto greatest = std::max_element(begin, end);
      const std::size_t expected =
          greatest == end || *greatest == 0 ? range_maximum::none : static_cast<std::size_t>(greatest - plain.begin());
      ASSERT_EQ(maximum.greatest_in(first, last), expected) << number << ": [" << first << ", " << last << ")";
    }
  }
}

TEST(range_maximum, of_no_places_finds_none) { EXPECT_EQ(range_maximum(0).greatest_in(0, 0), range_maximum::none); }

}  // namespace
}  // namespace sluice::replay
