#include "core/timeline/slice_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace sluice::timeline {
namespace {

using ::testing::ElementsAre;

slice_item item(time_ns begin, time_ns end, std::uint64_t event, std::uint64_t bytes = 1) {
  slice_item output;
  output.begin = begin;
  output.end = end;
  output.event = trace::event_id{event};
  output.bytes = bytes;
  return output;
}

void add(slice_set& set, const std::vector<slice_item>& items) {
  for (const slice_item& each : items) set.add(each);
  set.settle();
}

std::map<std::uint64_t, std::uint16_t> lanes_by_event(const slice_set& set) {
  std::map<std::uint64_t, std::uint16_t> lanes;
  set.for_each(INT64_MIN / 4, INT64_MAX / 4,
               [&](const slice_item& s, std::uint16_t lane) { lanes[raw(s.event)] = lane; });
  return lanes;
}

TEST(slice_set, puts_what_lies_inside_another_into_a_deeper_lane) {
  slice_set set;
  add(set, {item(0, 100, 1), item(10, 50, 2), item(20, 30, 3), item(50, 90, 4), item(100, 110, 5)});
  EXPECT_EQ(lanes_by_event(set), (std::map<std::uint64_t, std::uint16_t>{{1, 0}, {2, 1}, {3, 2}, {4, 1}, {5, 0}}));
}

TEST(slice_set, gives_the_same_lanes_whatever_order_slices_come_in) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20; ++round) {
    std::vector<slice_item> items;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const auto begin = static_cast<time_ns>(random() % 5000);
      items.push_back(item(begin, begin + static_cast<time_ns>(random() % 40), i + 1));
    }
    slice_set at_once;
    add(at_once, items);
    std::shuffle(items.begin(), items.end(), random);
    slice_set in_pieces;
    for (std::size_t i = 0; i < items.size(); i += 50) {
      add(in_pieces,
          {items.begin() + static_cast<std::ptrdiff_t>(i), items.begin() + static_cast<std::ptrdiff_t>(i + 50)});
    }
    EXPECT_EQ(in_pieces.size(), 500U);
    EXPECT_EQ(lanes_by_event(in_pieces), lanes_by_event(at_once));
  }
}

TEST(slice_set, finds_exactly_what_overlaps_a_range) {
  std::mt19937_64 random(5);
  slice_set set;
  std::vector<slice_item> items;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto begin = static_cast<time_ns>(random() % 100'000);
    items.push_back(item(begin, begin + static_cast<time_ns>(random() % 30), i + 1));
  }
  add(set, items);
  ASSERT_EQ(set.hidden(), 0U);
  for (int query = 0; query < 200; ++query) {
    auto a = static_cast<time_ns>(random() % 100'000);
    auto b = a + static_cast<time_ns>(random() % 1000);
    std::set<std::uint64_t> wanted;
    for (const slice_item& s : items) {
      if (s.begin < b && (s.end > a || s.begin >= a)) wanted.insert(raw(s.event));
    }
    std::set<std::uint64_t> found;
    set.for_each(a, b, [&](const slice_item& s, std::uint16_t) { found.insert(raw(s.event)); });
    EXPECT_EQ(found, wanted);
  }
}

TEST(slice_set, draws_every_slice_once_and_none_wider_than_it_is) {
  std::mt19937_64 random(9);
  slice_set set;
  std::vector<slice_item> items;
  time_ns now = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    now += static_cast<time_ns>(random() % 100);
    const auto length = static_cast<time_ns>(random() % (i % 100 == 0 ? 100'000 : 90));
    items.push_back(item(now, now + length, i + 1, i));
  }
  std::vector<slice_item> late(items.begin() + 5000, items.begin() + 6000);
  std::vector<slice_item> rest(items.begin(), items.begin() + 5000);
  rest.insert(rest.end(), items.begin() + 6000, items.end());
  add(set, rest);
  add(set, late);
  ASSERT_EQ(set.hidden(), 0U);

  for (const std::uint32_t width : {1U, 10U, 200U, 3000U}) {
    std::vector<drawn_slice> drawn;
    set.draw(0, now + 1, width, drawn);
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    double busy = 0;
    for (const drawn_slice& d : drawn) {
      count += d.count;
      bytes += d.item.bytes;
      busy += static_cast<double>(d.busy) * static_cast<double>(d.item.end - d.item.begin);
      EXPECT_LE(d.busy, 1.0001F);
    }
    double all_busy = 0;
    std::uint64_t all_bytes = 0;
    for (const slice_item& s : items) {
      all_busy += static_cast<double>(s.end - s.begin) * (s.end > s.begin ? 1 : 0);
      all_bytes += s.bytes;
    }
    EXPECT_EQ(count, items.size());
    EXPECT_EQ(bytes, all_bytes);
    EXPECT_NEAR(busy, all_busy, 1e-3 * all_busy);
    EXPECT_LE(drawn.size(), set.lanes() * (2 * width + 2));
  }
}

TEST(slice_set, merges_neighbours_in_a_pixel_and_keeps_the_longest) {
  slice_set set;
  add(set, {item(0, 10, 1), item(10, 40, 2), item(50, 55, 3), item(1000, 1900, 4)});
  std::vector<drawn_slice> drawn;
  set.draw(0, 10'000, 10, drawn);
  ASSERT_EQ(drawn.size(), 2U);
  EXPECT_EQ(drawn[0].count, 3U);
  EXPECT_EQ(drawn[0].item.event, trace::event_id{2});
  EXPECT_EQ(drawn[0].item.begin, 0);
  EXPECT_EQ(drawn[0].item.end, 55);
  EXPECT_FLOAT_EQ(drawn[0].busy, 45.0F / 55.0F);
  EXPECT_EQ(drawn[1].count, 1U);
}

TEST(slice_set, draws_no_more_lanes_than_the_limit) {
  slice_set set;
  std::vector<slice_item> many;
  for (std::uint64_t i = 0; i < 1000; ++i) many.push_back(item(0, 100 + static_cast<time_ns>(i), i + 1));
  add(set, many);
  EXPECT_EQ(set.lanes(), slice_set::lane_limit);
  EXPECT_EQ(set.hidden(), 1000 - slice_set::lane_limit);
  std::vector<drawn_slice> drawn;
  set.draw(0, 2000, 100, drawn);
  EXPECT_EQ(drawn.size(), slice_set::lane_limit);
}

TEST(slice_set, visits_what_finds_no_lane_whole_and_in_whatever_order_it_came) {
  std::mt19937_64 random(13);
  std::vector<slice_item> many;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    const auto begin = static_cast<time_ns>(random() % 1000);
    many.push_back(item(begin, begin + 900 + static_cast<time_ns>(random() % 900), i + 1));
  }
  slice_set set;
  for (std::size_t i = 0; i < many.size(); i += 100)
    add(set, {many.begin() + static_cast<std::ptrdiff_t>(i), many.begin() + static_cast<std::ptrdiff_t>(i + 100)});
  EXPECT_GT(set.hidden(), 0U);
  EXPECT_EQ(set.size(), many.size());
  for (const auto& [begin, end] : {std::pair<time_ns, time_ns>{0, 5000}, {500, 501}, {1900, 2000}, {2799, 5000}}) {
    std::map<std::uint64_t, time_ns> wanted, found;
    for (const slice_item& each : many)
      if (each.begin < end && each.end > begin) wanted[raw(each.event)] = each.end - each.begin;
    set.for_each(begin, end, [&](const slice_item& s, std::uint16_t) { found[raw(s.event)] += s.end - s.begin; });
    EXPECT_EQ(found, wanted) << begin << ".." << end;
  }
}

}  // namespace
}  // namespace sluice::timeline
