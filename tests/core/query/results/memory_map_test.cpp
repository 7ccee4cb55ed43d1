#include "core/query/types/memory_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "core/query/engine/engine.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

using testing::recording;
using trace::layer;
using trace::memory_kind;

trace::alloc_event block(recording& recorded, time_ns time, std::uint64_t id, std::uint64_t address,
                         std::uint64_t bytes, layer layer, std::uint64_t parent = 0) {
  auto row = recorded.event<trace::alloc_event>(time);
  row.block = trace::block_id{id};
  row.parent = trace::block_id{parent};
  row.address = address;
  row.bytes = bytes;
  row.layer = layer;
  row.kind = memory_kind::device;
  row.device = trace::device_id{1};
  return row;
}

memory_map ask(recording& recorded, const memory_map_query& query) {
  recorded.close();
  engine asked(recorded.open());
  const auto found = asked.ask_now(query);
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? **found : memory_map{};
}

TEST(memory_map, shows_blocks_in_their_segment_and_the_holes_between_them) {
  recording recorded;
  recorded.standard_tables();
  recorded.writer().add(block(recorded, 1, 1, 1000, 100, layer::driver));
  recorded.writer().add(block(recorded, 2, 2, 1000, 10, layer::framework, 1));
  recorded.writer().add(block(recorded, 2, 3, 1040, 20, layer::framework, 1));
  recorded.writer().add(block(recorded, 2, 4, 1090, 10, layer::framework, 1));
  recorded.add_free(5, 4, layer::framework);
  const memory_map found = ask(recorded, {.time = 4, .width = 100});
  ASSERT_EQ(found.segments.size(), 1U);
  const address_segment& segment = found.segments[0];
  EXPECT_EQ(segment.block, trace::block_id{1});
  EXPECT_EQ(segment.used, 40U);
  EXPECT_EQ(segment.largest_hole, 30U);
  EXPECT_DOUBLE_EQ(segment.fragmentation(), 0.5);
  ASSERT_EQ(segment.items.size(), 3U);
  EXPECT_EQ(segment.items[1].address, 1040U);
  EXPECT_EQ(segment.items[1].bytes, 20U);
  EXPECT_EQ(segment.items[2].block, trace::block_id{4});
}

TEST(memory_map, leaves_out_what_died_and_what_is_not_born) {
  recording recorded;
  recorded.standard_tables();
  recorded.writer().add(block(recorded, 1, 1, 1000, 100, layer::driver));
  recorded.writer().add(block(recorded, 2, 2, 1000, 10, layer::framework, 1));
  recorded.writer().add(block(recorded, 7, 3, 1040, 20, layer::framework, 1));
  recorded.add_free(5, 2, layer::framework);
  const memory_map found = ask(recorded, {.time = 7, .width = 100});
  ASSERT_EQ(found.segments.size(), 1U);
  ASSERT_EQ(found.segments[0].items.size(), 1U);
  EXPECT_EQ(found.segments[0].items[0].block, trace::block_id{3});
  EXPECT_EQ(found.segments[0].largest_hole, 40U);
}

TEST(memory_map, finds_the_segment_by_address_where_a_block_names_none) {
  recording recorded;
  recorded.standard_tables();
  recorded.writer().add(block(recorded, 1, 1, 1000, 100, layer::driver));
  recorded.writer().add(block(recorded, 1, 2, 1200, 100, layer::driver));
  recorded.writer().add(block(recorded, 2, 3, 1220, 30, layer::pool));
  recorded.writer().add(block(recorded, 2, 4, 1230, 10, layer::framework));
  recorded.writer().add(block(recorded, 2, 5, 1290, 30, layer::pool));  // Crosses the segment's end: no parent.
  const memory_map found = ask(recorded, {.time = 3, .width = 100});
  ASSERT_EQ(found.segments.size(), 2U);
  EXPECT_EQ(found.segments[0].block, trace::block_id{2});
  EXPECT_EQ(found.segments[0].items.at(0).block, trace::block_id{3});
  EXPECT_EQ(found.segments[0].blocks, 1U);
  EXPECT_EQ(found.segments[1].block, trace::block_id{3});
  EXPECT_EQ(found.segments[1].items.at(0).block, trace::block_id{4});
}

TEST(memory_map, is_asked_for_one_segment_or_one_device) {
  recording recorded;
  recorded.standard_tables();
  for (const std::uint64_t id : {1, 2}) {
    recorded.writer().add(block(recorded, 1, id, id * 1000, 100, layer::driver));
    auto inside = block(recorded, 1, 10 + id, id * 1000, 10, layer::framework, id);
    recorded.writer().add(inside);
  }
  recorded.close();
  engine asked(recorded.open());
  const auto one = asked.ask_now(memory_map_query{.time = 2, .segment = trace::block_id{2}, .width = 10});
  ASSERT_EQ((*one)->segments.size(), 1U);
  EXPECT_EQ((*one)->segments[0].block, trace::block_id{2});
  const auto other = asked.ask_now(memory_map_query{.time = 2, .device = trace::device_id{9}, .width = 10});
  EXPECT_TRUE((*other)->segments.empty());
}

TEST(memory_map, shows_a_segment_that_nothing_lies_in_now) {
  recording recorded;
  recorded.standard_tables();
  recorded.writer().add(block(recorded, 1, 1, 1000, 100, layer::driver));
  recorded.writer().add(block(recorded, 1, 2, 2000, 100, layer::driver));
  recorded.writer().add(block(recorded, 2, 3, 1000, 10, layer::framework, 1));
  recorded.add_free(5, 3, layer::framework);
  const memory_map found = ask(recorded, {.time = 6, .width = 100});
  ASSERT_EQ(found.segments.size(), 1U) << "memory that never holds a block is not a segment";
  EXPECT_EQ(found.segments[0].block, trace::block_id{1});
  EXPECT_EQ(found.segments[0].used, 0U);
  EXPECT_EQ(found.segments[0].largest_hole, 100U);
  EXPECT_TRUE(found.segments[0].items.empty());
  EXPECT_EQ(found.segments[0].fragmentation(), 0);
}

TEST(memory_map, shows_blocks_in_no_segment_if_asked) {
  recording recorded;
  recorded.standard_tables();
  recorded.writer().add(block(recorded, 1, 1, 1000, 100, layer::driver));
  recorded.writer().add(block(recorded, 1, 2, 2000, 64, layer::driver));
  recorded.writer().add(block(recorded, 2, 3, 1000, 10, layer::framework, 1));
  recorded.close();
  engine asked(recorded.open());
  EXPECT_EQ((*asked.ask_now(memory_map_query{.time = 3, .width = 10}))->segments.size(), 1U);
  const auto found = *asked.ask_now(memory_map_query{.time = 3, .width = 10, .lone = true});
  ASSERT_EQ(found->segments.size(), 2U);
  const address_segment& lone = found->segments[1];
  EXPECT_TRUE(lone.lone);
  EXPECT_EQ(lone.block, trace::block_id{2});
  EXPECT_EQ(lone.used, 64U);
  ASSERT_EQ(lone.items.size(), 1U);
  EXPECT_EQ(lone.items[0].block, trace::block_id{2});
}

TEST(memory_map, adds_up_each_layer_by_itself) {
  recording recorded;
  recorded.standard_tables();
  for (const std::uint64_t id : {1, 2, 3}) recorded.writer().add(block(recorded, 1, id, id * 1000, 100, layer::driver));
  recorded.writer().add(block(recorded, 2, 4, 1000, 60, layer::pool, 1));
  recorded.writer().add(block(recorded, 2, 5, 2010, 10, layer::framework, 2));
  recorded.writer().add(block(recorded, 2, 6, 1000, 20, layer::framework, 4));
  const memory_map found = ask(recorded, {.time = 3, .width = 100, .lone = true});
  ASSERT_EQ(found.groups.size(), 3U);
  const address_group& driver = found.groups[0];
  EXPECT_EQ(driver.layer, layer::driver);
  EXPECT_EQ(driver.segments, 2U);
  EXPECT_EQ(driver.bytes, 200U);
  EXPECT_EQ(driver.used, 70U);
  EXPECT_EQ(driver.largest_hole, 80U);
  EXPECT_DOUBLE_EQ(driver.fragmentation(), 1 - 80.0 / 130);
  EXPECT_EQ(found.groups[1].layer, layer::pool);
  EXPECT_EQ(found.groups[1].used, 20U);
  EXPECT_TRUE(found.groups[2].lone);
  EXPECT_EQ(found.groups[2].bytes, 100U);
  for (const address_segment& each : found.segments) EXPECT_EQ(found.groups[each.group].layer, each.layer);
}

TEST(memory_map, of_more_segments_than_it_shows_still_tells_the_sums) {
  recording recorded;
  recorded.standard_tables();
  constexpr std::uint64_t many = memory_map::segment_limit + 50;
  for (std::uint64_t id = 1; id <= many; ++id)
    recorded.writer().add(block(recorded, 1, id, id << 20, 1000 + id, layer::driver));
  const memory_map found = ask(recorded, {.time = 3, .width = 100, .lone = true});
  EXPECT_EQ(found.segments.size(), memory_map::segment_limit);
  EXPECT_EQ(found.count, many);
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].segments, many);
  EXPECT_EQ(found.groups[0].bytes, many * 1000 + many * (many + 1) / 2);
  EXPECT_EQ(found.segments[0].block, trace::block_id{51}) << "the smallest are left out";
}

TEST(memory_map, merges_what_shares_a_pixel_of_so_many_bytes) {
  recording recorded;
  recorded.standard_tables();
  recorded.writer().add(block(recorded, 1, 1, 0x1000, 1000, layer::driver));
  for (std::uint64_t i = 0; i < 100; ++i)
    recorded.writer().add(block(recorded, 2, 2 + i, 0x1000 + i * 10, 5, layer::framework, 1));
  recorded.close();
  engine asked(recorded.open());
  EXPECT_EQ((*asked.ask_now(memory_map_query{.time = 3, .pixel = 1}))->segments[0].items.size(), 100U);
  const auto coarse = *asked.ask_now(memory_map_query{.time = 3, .pixel = 100});
  ASSERT_EQ(coarse->segments[0].items.size(), 10U);
  EXPECT_EQ(coarse->segments[0].items[0].count, 10U);
  EXPECT_EQ(coarse->segments[0].items[0].used, 50U);
  EXPECT_EQ(coarse->segments[0].used, 500U);
}

TEST(memory_map, tells_where_a_block_lies_or_lay) {
  recording recorded;
  recorded.standard_tables();
  recorded.writer().add(block(recorded, 1, 1, 1000, 100, layer::driver));
  recorded.writer().add(block(recorded, 2, 2, 1010, 10, layer::framework, 1));
  recorded.writer().add(block(recorded, 3, 3, 1040, 20, layer::framework));
  recorded.add_free(5, 3, layer::framework);
  recorded.close();
  engine asked(recorded.open());
  const auto found = *asked.ask_now(
      memory_map_query{.time = 6,
                       .width = 10,
                       .marks = {trace::block_id{3}, trace::block_id{2}, trace::block_id{1}, trace::block_id{77}}});
  ASSERT_EQ(found->marked.size(), 3U) << "there is no block 77";
  EXPECT_EQ(found->marked[0].block, trace::block_id{3});
  EXPECT_EQ(found->marked[0].segment, trace::block_id{1});
  EXPECT_EQ(found->marked[0].address, 1040U);
  EXPECT_EQ(found->marked[0].bytes, 20U);
  EXPECT_FALSE(found->marked[0].live);
  EXPECT_TRUE(found->marked[1].live);
  EXPECT_EQ(found->marked[1].address, 1010U);
  EXPECT_EQ(found->marked[2].segment, trace::block_id{1}) << "a segment is where it is";
}

TEST(memory_map, takes_mappings_side_by_side_for_one_segment) {
  recording recorded;
  recorded.standard_tables();
  const auto virtual_memory = [&](std::uint64_t id, std::uint64_t address, std::uint64_t bytes, memory_kind kind,
                                  std::uint64_t parent = 0) {
    auto row = block(recorded, 1, id, address, bytes, layer::driver, parent);
    row.kind = kind;
    recorded.writer().add(row);
  };
  virtual_memory(1, 0x10000, 0x8000, memory_kind::reservation);
  virtual_memory(2, 1, 0x1000, memory_kind::physical);
  virtual_memory(3, 0x11000, 0x1000, memory_kind::mapping, 1);
  virtual_memory(4, 0x10000, 0x1000, memory_kind::mapping, 1);
  virtual_memory(5, 0x14000, 0x1000, memory_kind::mapping, 1);
  recorded.writer().add(block(recorded, 2, 6, 0x10800, 0x1000, layer::framework, 4));  // Spans both mappings.
  recorded.writer().add(block(recorded, 2, 7, 0x11c00, 0x400, layer::framework, 3));
  recorded.writer().add(block(recorded, 2, 8, 0x14000, 0x100, layer::framework));
  recorded.close();
  engine asked(recorded.open());
  const auto found = *asked.ask_now(memory_map_query{
      .time = 3, .width = 100, .lone = true, .marks = {trace::block_id{7}, trace::block_id{3}, trace::block_id{1}}});
  ASSERT_EQ(found->segments.size(), 2U) << "no reservation, no physical memory";
  const address_segment& run = found->segments[0];
  EXPECT_EQ(run.block, trace::block_id{4});
  EXPECT_EQ(run.bytes, 0x2000U);
  EXPECT_EQ(run.used, 0x1400U);
  EXPECT_EQ(run.largest_hole, 0x800U);
  ASSERT_EQ(run.items.size(), 2U);
  EXPECT_EQ(run.items[0].bytes, 0x1000U);
  EXPECT_EQ(found->segments[1].address, 0x14000U);
  ASSERT_EQ(found->marked.size(), 2U) << "a reservation has no place";
  EXPECT_EQ(found->marked[0].segment, trace::block_id{4});
  EXPECT_EQ(found->marked[1].segment, trace::block_id{4});
  EXPECT_EQ(found->marked[1].address, 0x11000U);
}

TEST(memory_step, is_the_next_birth_or_death) {
  recording recorded;
  recorded.standard_tables();
  recorded.writer().add(block(recorded, 10, 1, 1000, 100, layer::driver));
  recorded.writer().add(block(recorded, 20, 2, 1000, 30, layer::framework, 1));
  recorded.writer().add(block(recorded, 20, 3, 1030, 50, layer::framework, 1));
  recorded.add_free(30, 2, layer::framework);
  auto other = block(recorded, 25, 4, 9000, 7, layer::driver);
  other.device = trace::device_id{2};
  recorded.writer().add(other);
  recorded.close();
  engine asked(recorded.open());
  const auto step = [&](time_ns begin, bool forward, std::optional<trace::device_id> device = {}) {
    return **asked.ask_now(memory_step_query{begin, forward, device});
  };
  const memory_step two = step(10, true);
  EXPECT_EQ(two.time, 20);
  EXPECT_EQ(two.born, 2U);
  EXPECT_EQ(two.born_bytes, 80U);
  EXPECT_EQ(two.died, 0U);
  EXPECT_EQ(two.block, trace::block_id{3}) << "the largest";
  EXPECT_EQ(step(20, true).time, 25);
  EXPECT_EQ(step(20, true, trace::device_id{1}).time, 30) << "on this device";
  EXPECT_EQ(step(20, true, trace::device_id{1}).died_bytes, 30U);
  EXPECT_EQ(step(30, true).time, trace::unknown_time);
  EXPECT_EQ(step(30, false).time, 25);
  EXPECT_EQ(step(10, false).time, trace::unknown_time);
  EXPECT_EQ(step(10, false).since, 10) << "a result names its query";
}

/// The reference is a walk over every byte.
TEST(memory_map, of_random_segments_is_right_to_the_byte_at_any_width) {
  constexpr std::uint64_t size = 2000;
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    recording recorded;
    recorded.standard_tables();
    recorded.writer().add(block(recorded, 0, 1, 5000, size, layer::driver));
    std::vector<bool> used(size, false);
    std::uint64_t count = 0;
    std::uint64_t id = 1;
    for (std::uint64_t at = random() % 50; at + 60 < size; at += random() % (seed % 3 == 0 ? 3 : 90)) {
      const std::uint64_t bytes = 1 + random() % 40;
      auto row =
          block(recorded, static_cast<time_ns>(random() % 10), ++id, 5000 + at, bytes, layer::framework, random() % 2);
      recorded.writer().add(row);
      const time_ns died = row.time + static_cast<time_ns>(random() % 10);
      recorded.add_free(died, id, layer::framework);
      if (row.time <= 6 && died > 6) {
        std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(at), bytes, true);
        ++count;
      }
      at += bytes;
    }
    const auto width = static_cast<std::uint32_t>(1 + random() % 400);
    const memory_map found = ask(recorded, {.time = 6, .width = width});
    if (count == 0) {
      EXPECT_TRUE(found.segments.empty());
      continue;
    }
    ASSERT_EQ(found.segments.size(), 1U);
    const address_segment& segment = found.segments[0];
    EXPECT_EQ(segment.used, static_cast<std::uint64_t>(std::count(used.begin(), used.end(), true)));
    std::uint64_t hole = 0, longest = 0;
    for (const bool taken : used) {
      hole = taken ? 0 : hole + 1;
      longest = std::max(longest, hole);
    }
    EXPECT_EQ(segment.largest_hole, longest);
    EXPECT_EQ(segment.blocks, count);
    EXPECT_LE(segment.items.size(), 2 * width + 1);
    std::uint64_t blocks = 0, bytes = 0, reached = 5000;
    std::vector<bool> drawn(size, false);
    for (const address_item& item : segment.items) {
      EXPECT_GE(item.address, reached);
      reached = item.address + item.bytes;
      blocks += item.count;
      bytes += item.used;
      EXPECT_LE(item.used, item.bytes);
      EXPECT_TRUE(item.count == 1 || item.bytes <= size / width) << "seed " << seed;
      std::fill_n(drawn.begin() + static_cast<std::ptrdiff_t>(item.address - 5000), item.bytes, true);
    }
    EXPECT_EQ(blocks, count);
    EXPECT_EQ(bytes, segment.used);
    for (std::size_t i = 0; i < size; ++i) EXPECT_TRUE(drawn[i] || !used[i]) << i;
  }
}

TEST(memory_map, survives_addresses_at_the_end_of_all_and_blocks_on_top_of_one_another) {
  recording recorded;
  recorded.standard_tables();
  recorded.writer().add(block(recorded, 1, 1, UINT64_MAX - 50, 1000, layer::driver));
  for (std::uint64_t id = 2; id < 300; ++id)
    recorded.writer().add(block(recorded, 1, id, UINT64_MAX - 40, UINT64_MAX, layer::framework, 1 + id % 3));
  const memory_map found = ask(recorded, {.time = 2, .width = UINT32_MAX});
  for (const address_segment& segment : found.segments) {
    EXPECT_LE(segment.used, segment.bytes);
    EXPECT_LE(segment.largest_hole, segment.bytes);
  }
}

}  // namespace
}  // namespace sluice::query
