// The layout of segments in rows that each represent the same number of bytes.
#include "app/gui/views/memory_map/memory_map_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice::gui {
namespace {

constexpr std::uint64_t kib = 1024;

struct reported_segment {
  std::size_t group;
  std::uint64_t bytes;
  std::uint64_t used;
};

query::memory_map make_map(const std::vector<reported_segment>& segments) {
  query::memory_map map;
  std::uint64_t id = 0;
  for (const reported_segment& each : segments) {
    query::address_segment& segment = map.segments.emplace_back();
    segment.block = trace::block_id{++id};
    segment.address = id << 40;
    segment.bytes = each.bytes;
    segment.used = each.used;
    segment.group = each.group;
    while (map.groups.size() <= each.group) {
      query::address_group& group = map.groups.emplace_back();
      group.layer = static_cast<trace::layer>(map.groups.size() - 1);
    }
  }
  return map;
}

TEST(map_layout, gives_segments_as_many_lines_as_they_need_under_their_heading) {
  const auto map = make_map({{0, 100 * kib, 0}, {0, 64 * kib, 0}, {1, 1, 0}});
  map_layout layout;
  layout.assign(map, 32 * kib, map_order::address, {});
  EXPECT_EQ(layout.lines(), 1 + 4 + 2 + 1 + 1);
  EXPECT_TRUE(layout.row_at(0)->heading);
  EXPECT_EQ(layout.row_at(4)->at, 0U);
  EXPECT_EQ(layout.row_at(5)->at, 1U);
  EXPECT_TRUE(layout.row_at(7)->heading);
  EXPECT_EQ(layout.row_at(7)->at, 1U);
  EXPECT_EQ(layout.row_at(9), nullptr);
  EXPECT_EQ(layout.row_at(-1), nullptr);
}

TEST(map_layout, cuts_the_last_line_of_a_segment) {
  const auto map = make_map({{0, 100 * kib, 0}});
  map_layout layout;
  layout.assign(map, 32 * kib, map_order::address, {});
  const map_row& row = *layout.row_at(4);
  EXPECT_EQ(layout.piece(row, 1, 100 * kib).begin, 0U);
  EXPECT_EQ(layout.piece(row, 1, 100 * kib).end, 32 * kib);
  EXPECT_EQ(layout.piece(row, 4, 100 * kib).begin, 96 * kib);
  EXPECT_EQ(layout.piece(row, 4, 100 * kib).end, 100 * kib);
}

TEST(map_layout, sorts_inside_a_group_only) {
  const auto map = make_map({{0, 10, 1}, {0, 30, 30}, {0, 20, 0}, {1, 99, 0}});
  const auto order = [&](map_order by) {
    map_layout layout;
    layout.assign(map, 32 * kib, by, {});
    std::vector<std::size_t> values;
    for (const map_row& row : layout.rows())
      if (!row.heading) values.push_back(row.at);
    return values;
  };
  EXPECT_EQ(order(map_order::address), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(order(map_order::size), (std::vector<std::size_t>{1, 2, 0, 3}));
  EXPECT_EQ(order(map_order::free), (std::vector<std::size_t>{2, 0, 1, 3}));
}

TEST(map_layout, shows_only_the_heading_of_a_folded_group) {
  const auto map = make_map({{0, 10, 1}, {0, 30, 30}, {1, 99, 0}});
  map_layout layout;
  layout.assign(map, 32 * kib, map_order::address, {get_key(map.groups[0])});
  EXPECT_EQ(layout.lines(), 3);
  EXPECT_FALSE(layout.get_line(0, 0).has_value());
  EXPECT_EQ(layout.get_line(2, 0), 2);
}

TEST(map_layout, finds_the_line_of_every_byte) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 30; ++round) {
    std::vector<reported_segment> segments;
    for (std::size_t i = 0; i < 1 + random() % 40; ++i) segments.push_back({i / 9, 1 + random() % (900 * kib), 0});
    const auto map = make_map(segments);
    map_layout layout;
    layout.assign(map, std::uint64_t{1} << (10 + random() % 12), static_cast<map_order>(random() % 3), {});
    std::int64_t line = 0;
    for (const map_row& row : layout.rows()) {
      ASSERT_EQ(row.first, row.indent == 0 ? line : line - 1) << "an indented one shares the line of the one before it";
      line = row.first;
      for (std::int64_t each = row.first; each < row.first + row.lines; ++each, ++line) {
        const auto here = layout.rows_at(each);
        ASSERT_EQ(std::count_if(here.begin(), here.end(), [&](const map_row& one) { return &one == &row; }), 1);
        if (row.heading) continue;
        const map_piece piece = layout.piece(row, each, map.segments[row.at].bytes);
        ASSERT_LT(piece.begin, piece.end);
        ASSERT_EQ(layout.get_line(row.at, piece.begin), each);
        ASSERT_EQ(layout.get_line(row.at, piece.end - 1), each);
      }
    }
    EXPECT_EQ(line, layout.lines());
  }
}

TEST(map_layout, puts_short_segments_side_by_side) {
  const auto map =
      make_map({{0, 8 * kib, 0}, {0, 20 * kib, 0}, {0, 8 * kib, 0}, {0, 70 * kib, 0}, {0, 1, 0}, {1, 1, 0}});
  map_layout layout;
  layout.assign(map, 32 * kib, map_order::address, {});
  EXPECT_EQ(layout.rows_at(1).size(), 2U);
  EXPECT_EQ(layout.row_of(1)->indent, 8 * kib);
  EXPECT_EQ(layout.row_of(1)->first, 1);
  EXPECT_EQ(layout.row_of(2)->first, 2) << "there is no room for it on the first line";
  EXPECT_EQ(layout.row_of(3)->first, 3) << "a segment of several lines starts a line";
  EXPECT_EQ(layout.row_of(4)->first, 6) << "and shares none of them";
  EXPECT_EQ(layout.row_of(5)->first, 8) << "each group starts below its heading";
  EXPECT_EQ(layout.lines(), 9);
}

TEST(map_layout, gives_tiny_segments_room_enough_to_be_seen) {
  const auto map = make_map(std::vector<reported_segment>(20, {0, 1, 0}));
  map_layout layout;
  layout.assign(map, 32 * kib, map_order::address, {});
  EXPECT_EQ(layout.rows_at(1).size(), 16U);
  EXPECT_EQ(layout.row_of(15)->indent, 30 * kib);
  EXPECT_EQ(layout.row_of(16)->first, 2);
}

TEST(map_layout, chooses_lines_that_fill_the_room) {
  const auto one = make_map({{0, 1024 * kib, 0}});
  EXPECT_EQ(fitting_line(one, 1000), shortest_line);
  EXPECT_EQ(fitting_line(one, 17), 64 * kib);
  EXPECT_EQ(fitting_line(one, 16), 96 * kib) << "one of the lines is for the heading";
  EXPECT_EQ(fitting_line(one, 3), 512 * kib);
  EXPECT_EQ(fitting_line(make_map({{0, 680 * kib, 0}}), 2), 768 * kib) << "one and a half times a power of two";
}

TEST(map_layout, shows_all_segments_if_they_fit) {
  std::vector<reported_segment> many(42, {0, 2048 * kib, 0});
  for (const std::size_t at : {0, 14, 30, 41}) many[at].bytes = std::uint64_t{32} << 20;
  const auto map = make_map(many);
  map_layout layout;
  layout.assign(map, fitting_line(map, 34), map_order::address, {});
  EXPECT_LE(layout.lines(), 34);
  EXPECT_GE(layout.lines(), 17) << "the room is used";
}

TEST(map_layout, shows_the_largest_segment_if_not_all_fit) {
  std::vector<reported_segment> many(400, {0, 2048 * kib, 0});
  many[7].bytes = std::uint64_t{1} << 30;
  const auto map = make_map(many);
  map_layout layout;
  layout.assign(map, fitting_line(map, 20), map_order::address, {});
  EXPECT_LT(layout.row_of(7)->lines, 20);
  EXPECT_GT(layout.row_of(7)->lines, 5);
  EXPECT_LE(layout.lines(), 60);
}

TEST(map_layout, survives_segments_of_all_bytes) {
  const auto map = make_map({{0, UINT64_MAX, 0}, {0, 0, 0}, {0, UINT64_MAX / 2, 0}});
  map_layout layout;
  layout.assign(map, fitting_line(map, 10), map_order::free, {});
  EXPECT_GT(layout.lines(), 3);
  EXPECT_LT(layout.lines(), 20);
  EXPECT_EQ(fitting_line(query::memory_map{}, 10), shortest_line);
}

TEST(map_layout, finds_the_block_at_an_address_or_the_next) {
  query::address_segment segment;
  segment.items.resize(2);
  segment.items[0].address = 100;
  segment.items[0].bytes = 10;
  segment.items[1].address = 110;
  segment.items[1].bytes = 5;
  EXPECT_EQ(item_at(segment, 99), 0U);
  EXPECT_EQ(item_at(segment, 109), 0U);
  EXPECT_EQ(item_at(segment, 110), 1U);
  EXPECT_EQ(item_at(segment, 115), 2U);
}

}  // namespace
}  // namespace sluice::gui
