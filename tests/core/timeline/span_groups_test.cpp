#include "core/timeline/span_groups.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sluice::analysis {
namespace {

using places = std::vector<std::size_t>;

places found(const span_groups& in, time_range range) {
  places all;
  in.for_each_in(range, [&](std::size_t place) { all.push_back(place); });
  return all;
}

TEST(span_groups, find_what_a_look_at_each_span_finds) {
  std::mt19937_64 random(2);
  for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1000}}) {
    span_groups tried;
    std::vector<time_range> spans;  // With their last instant as the end.
    for (std::size_t i = 0; i < count; ++i) {
      const auto first = static_cast<time_ns>(i * 10 + random() % 100);
      const bool everywhere = random() % 100 == 0;
      spans.push_back(everywhere ? time_range{INT64_MIN, INT64_MAX}
                                 : time_range{first, first + static_cast<time_ns>(random() % 40)});
      tried.add(spans.back().begin, spans.back().end);
    }
    for (int i = 0; i < 200; ++i) {
      const auto begin = static_cast<time_ns>(random() % (count * 10 + 200)) - 50;
      const time_range range{begin, begin + static_cast<time_ns>(random() % 100)};
      places expected;
      for (std::size_t s = 0; s < count; ++s)
        if (spans[s].begin < range.end && spans[s].end >= range.begin) expected.push_back(s);
      ASSERT_EQ(found(tried, range), expected);
    }
  }
}

TEST(span_groups, may_be_none) { EXPECT_EQ(found({}, {0, 10}), places()); }

}  // namespace
}  // namespace sluice::analysis
