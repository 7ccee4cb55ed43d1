#include "core/query/types/memory_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/core/query/results/in_both_ways.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::query {
namespace {

using testing::recording;
using trace::layer;
using trace::memory_kind;

void alloc(recording& to, time_ns time, std::uint64_t block, std::uint64_t bytes, trace::stack_id stack,
           std::uint64_t stream = 1) {
  auto row = to.event<trace::alloc_event>(time);
  row.block = trace::block_id{block};
  row.bytes = bytes;
  row.kind = memory_kind::device;
  row.layer = layer::driver;
  row.device = trace::device_id{1};
  row.stream = trace::stream_id{stream};
  row.address = block << 32;
  row.stack = stack;
  to.writer().add(row);
}

memory_groups_query about(time_range range, std::uint32_t width, memory_grouping by = memory_grouping::line) {
  return {range, width, by, layer::driver, trace::device_id{1}, memory_kind::device};
}

trace::stack_id line(testing::stack_maker& stack, std::uint64_t number) {
  return stack({testing::python("f" + std::to_string(number), "/home/me/train.py", number)});
}

/// Writes random allocations and frees of blocks from 20 lines.
void write_random(recording& to) {
  to.standard_tables();
  testing::stack_maker stack(to);
  std::mt19937 random(5);
  std::vector<std::uint64_t> live;
  for (std::uint64_t i = 1; i <= 600; ++i) {
    const auto time = static_cast<time_ns>(i * 10);
    alloc(to, time, i, 1 + random() % 1000, line(stack, 1 + random() % 20), random() % 3 + 1);
    live.push_back(i);
    if (random() % 3 == 0) continue;
    const std::size_t at = random() % live.size();
    to.add_free(time + static_cast<time_ns>(random() % 10), live[at]);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

TEST(memory_groups, add_up_to_the_total_at_the_highest_moment_of_each_part) {
  recording recorded;
  recorded.standard_tables();
  testing::stack_maker stack(recorded);
  alloc(recorded, 0, 1, 100, line(stack, 1));
  alloc(recorded, 110, 2, 50, line(stack, 2));
  recorded.add_free(120, 2);
  alloc(recorded, 130, 3, 20, line(stack, 3));
  recorded.add_free(250, 1);
  alloc(recorded, 399, 4, 1, line(stack, 1));
  recorded.close();
  const memory_groups found = make_result(recorded.path(), about({0, 400}, 4));
  EXPECT_EQ(found.total, (std::vector<std::uint64_t>{100, 150, 120, 21}));
  EXPECT_EQ(found.moments, (std::vector<time_ns>{0, 110, 200, 399}));
  EXPECT_EQ(found.peak, 150U);
  EXPECT_EQ(found.peak_time, 110);
  EXPECT_EQ(found.blocks, 4U);
  ASSERT_EQ(found.groups.size(), 3U);
  EXPECT_EQ(found.groups[0].label, "me/train.py:1, f1");
  EXPECT_EQ(found.groups[0].bytes, (std::vector<std::uint64_t>{100, 100, 100, 1}));
  EXPECT_EQ(found.groups[1].bytes, (std::vector<std::uint64_t>{0, 50, 0, 0}));
  EXPECT_EQ(found.groups[2].bytes, (std::vector<std::uint64_t>{0, 0, 20, 20}));
  EXPECT_EQ(found.groups[0].at_peak, 100U);
}

TEST(memory_groups, have_the_peak_of_the_report_and_what_its_lines_held) {
  recording recorded;
  write_random(recorded);
  recorded.close();
  const memory_groups found = make_result(recorded.path(), about({0, 10'000}, 300));
  const metrics::report report = make_result(recorded.path(), report_query{});
  ASSERT_EQ(report.peaks.size(), 1U);
  EXPECT_EQ(found.peak, report.peaks[0].bytes);
  EXPECT_EQ(found.peak_time, report.peaks[0].time);
  std::size_t compared = 0;
  for (const metrics::line_use& each : report.peaks[0].lines.lines) {
    const std::string label = symbols::get_place(each.line) + ", " + symbols::get_name(each.line);
    const auto group = std::find_if(found.groups.begin(), found.groups.end(),
                                    [&](const memory_group& subject) { return subject.label == label; });
    if (group == found.groups.end()) continue;
    EXPECT_EQ(group->at_peak, each.metrics.bytes) << label;
    ++compared;
  }
  EXPECT_GE(compared, 4U);
}

TEST(memory_groups, beyond_the_limit_are_one) {
  recording recorded;
  write_random(recorded);
  recorded.close();
  const memory_groups found = make_result(recorded.path(), about({0, 10'000}, 100));
  EXPECT_EQ(found.group_count, 20U);
  ASSERT_EQ(found.groups.size(), memory_groups::limit);
  ASSERT_EQ(found.others.bytes.size(), 100U);
  for (std::size_t part = 0; part < 100; ++part) {
    std::uint64_t sum = found.others.bytes[part];
    for (const memory_group& each : found.groups) sum += each.bytes[part];
    EXPECT_EQ(sum, found.total[part]);
  }
}

TEST(memory_groups, of_a_range_begin_with_what_was_live_then) {
  recording recorded;
  write_random(recorded);
  recorded.close();
  const memory_groups whole = make_result(recorded.path(), about({0, 8'000}, 8'000));
  const memory_groups found = make_result(recorded.path(), about({3'000, 4'000}, 1'000));
  for (std::size_t part = 0; part < 1'000; ++part)
    ASSERT_EQ(found.total[part], whole.total[3'000 + part]) << "at " << 3'000 + part;
}

TEST(memory_groups, select_the_blocks_that_they_hold) {
  recording recorded;
  write_random(recorded);
  recorded.close();
  for (const memory_grouping by : {memory_grouping::line, memory_grouping::module, memory_grouping::package,
                                   memory_grouping::owner, memory_grouping::stream, memory_grouping::process}) {
    const memory_groups found = make_result(recorded.path(), about({0, 10'000}, 50, by));
    const std::size_t part = 21;
    blocks_query blocks;
    blocks.range = {found.moments[part], found.moments[part] + 1};
    blocks.layer = layer::driver;
    blocks.device = trace::device_id{1};
    blocks.kind = memory_kind::device;
    std::vector<std::uint64_t> keys;
    for (const memory_group& each : found.groups) {
      blocks.groups = block_groups{by, {each.key}, false};
      EXPECT_EQ(make_result(recorded.path(), blocks).total_bytes, each.bytes[part]) << each.label;
      keys.push_back(each.key);
    }
    blocks.groups = block_groups{by, keys, true};
    EXPECT_EQ(make_result(recorded.path(), blocks).total_bytes,
              found.others.bytes.empty() ? 0 : found.others.bytes[part]);
  }
}

TEST(memory_groups, from_sections_are_those_from_an_index_of_everything) {
  for (const memory_grouping by : {memory_grouping::line, memory_grouping::stream, memory_grouping::process}) {
    const auto [whole, sections] = ask_both_ways(write_random, about({0, 10'000}, 200, by));
    EXPECT_EQ(sections.total, whole.total);
    EXPECT_EQ(sections.moments, whole.moments);
    EXPECT_EQ(sections.blocks, whole.blocks);
    ASSERT_EQ(sections.groups.size(), whole.groups.size());
    for (std::size_t i = 0; i < whole.groups.size(); ++i) {
      EXPECT_EQ(sections.groups[i].label, whole.groups[i].label);
      EXPECT_EQ(sections.groups[i].bytes, whole.groups[i].bytes);
    }
  }
}

TEST(memory_groups, are_only_of_the_memory_that_was_asked_for) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(10, 1, 100, memory_kind::device);
  recorded.add_alloc(20, 2, 1000, memory_kind::pinned);
  recorded.add_alloc(30, 3, 5000, memory_kind::device, layer::pool);
  recorded.close();
  const memory_groups found = make_result(recorded.path(), about({0, 100}, 10));
  EXPECT_EQ(found.peak, 100U);
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].label, "") << "no stack was recorded";
}

}  // namespace
}  // namespace sluice::query
