#include "core/timeline/tile_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice::timeline {
namespace {

constexpr time_ns span = time_ns{1} << 30;

/// Sets `count` chunks of one kind with `rows` rows each, one after another over the span.
void set_known(std::vector<trace::chunk_info>& chunks, trace::row_type type, int count, std::uint32_t rows) {
  for (int i = 0; i < count; ++i) {
    trace::chunk_info chunk;
    chunk.type = type;
    chunk.rows = rows;
    chunk.min_time = span / count * i;
    chunk.max_time = span / count * (i + 1) - 1;
    chunks.push_back(chunk);
  }
}

void expect_no_gap(std::span<const trace::section_row> sections) {
  ASSERT_FALSE(sections.empty());
  EXPECT_EQ(sections.front().time, 0);
  EXPECT_GE(sections.back().end, span);
  for (std::size_t i = 1; i < sections.size(); ++i) EXPECT_EQ(sections[i].time, sections[i - 1].end);
}

std::uint64_t max_events(std::span<const trace::section_row> sections) {
  std::uint64_t most = 0;
  for (const trace::section_row& each : sections) most = std::max(most, each.events);
  return most;
}

TEST(small_share, is_a_share_to_a_2048th_of_itself) {
  EXPECT_EQ(trace::small_share(0), 0);
  EXPECT_EQ(trace::compute_share(0), 0);
  EXPECT_EQ(trace::compute_share(trace::small_share(1)), 1);
  EXPECT_EQ(trace::compute_share(trace::small_share(0.5)), 0.5);
  EXPECT_EQ(trace::small_share(-0.1), 0) << "below all shares";
  EXPECT_EQ(trace::small_share(1.5), trace::small_share(1)) << "above all";
  EXPECT_EQ(trace::small_share(1e-30), 0) << "too small to be detected";
  for (double share = 1; share > 1e-15; share *= 0.997)
    ASSERT_NEAR(trace::compute_share(trace::small_share(share)), share, share / 2048);
  EXPECT_LE(trace::compute_share(trace::small_share(0.99999)), 1) << "no more than all";
}

TEST(plan_of_sections, divides_until_few_events_lie_in_each) {
  std::vector<trace::chunk_info> chunks;
  set_known(chunks, trace::row_type::kernel, 1024, 1000);
  const auto sections = plan_sections(0, span - 1, chunks, 5000);
  expect_no_gap(sections);
  EXPECT_LE(max_events(sections), 5000U);
  EXPECT_GE(max_events(sections), 5000U / 2);
}

TEST(plan_of_sections, divides_roots_even_where_nothing_happens) {
  const auto sections = plan_sections(0, span - 1, {}, 5000);
  expect_no_gap(sections);
  EXPECT_EQ(sections.size(), 16U);
}

TEST(plan_of_sections, takes_no_notice_of_blocks_that_are_freed_soon) {
  std::vector<trace::chunk_info> chunks;
  set_known(chunks, trace::row_type::alloc, 512, 1000);
  set_known(chunks, trace::row_type::free, 512, 1000);
  const auto sections = plan_sections(0, span - 1, chunks, 5000);
  EXPECT_LE(max_events(sections), 5000U);
}

/// The blocks that outlive their sections add at most a fixed share of all events to later sections, however many leak.
TEST(plan_of_sections, leaves_more_events_together_the_more_blocks_live) {
  std::vector<trace::chunk_info> chunks;
  set_known(chunks, trace::row_type::alloc, 4096, 1000);
  set_known(chunks, trace::row_type::free, 4096, 800);
  const auto sections = plan_sections(0, span - 1, chunks, 5000);
  expect_no_gap(sections);
  EXPECT_LE(sections.front().events, 5000U);
  const auto live_at = [](time_ns time) {
    return 4096.0 * 200 * static_cast<double>(time) / static_cast<double>(span);
  };
  double reported = 0;
  for (const trace::section_row& each : sections) reported += live_at(each.time);
  EXPECT_LE(reported, 4096 * 1800 * 4 / events_a_live_block);
}

std::vector<std::pair<time_ns, time_ns>> list_spans(std::span<const trace::section_row> sections) {
  std::vector<std::pair<time_ns, time_ns>> pairs;
  for (const trace::section_row& each : sections) pairs.emplace_back(each.time, each.end);
  return pairs;
}

/// Plans more sections after each eighth of the chunks, keeps the settled ones, and returns the plan at the end.
std::vector<trace::section_row> planned_while_growing(std::span<const trace::chunk_info> chunks, double target) {
  std::vector<trace::section_row> settled;
  for (std::size_t octile_coverage = 1; octile_coverage <= 8; ++octile_coverage) {
    const auto so_far = chunks.first(chunks.size() * octile_coverage / 8);
    const time_ns end = so_far.back().max_time;
    const auto next = plan_next_sections(so_far.front().min_time, end, so_far, target, settled, end - span / 64);
    for (const trace::section_row& each : next) EXPECT_LE(each.end, end - span / 64);
    settled.insert(settled.end(), next.begin(), next.end());
  }
  EXPECT_GT(settled.size(), 0U);
  return plan_sections(chunks.front().min_time, chunks.back().max_time, chunks, target, settled);
}

TEST(plan_of_sections, is_the_same_where_it_was_made_while_the_recording_grew) {
  std::vector<trace::chunk_info> chunks;
  set_known(chunks, trace::row_type::kernel, 1024, 1000);
  EXPECT_EQ(list_spans(planned_while_growing(chunks, 5000)), list_spans(plan_sections(0, span - 1, chunks, 5000)));
}

TEST(plan_of_sections, has_no_gap_where_it_was_made_while_a_recording_grew_that_began_slowly) {
  std::vector<trace::chunk_info> chunks;
  set_known(chunks, trace::row_type::kernel, 1024, 1000);
  for (std::size_t i = 0; i < 300; ++i) chunks[i].rows = 1;
  for (trace::chunk_info& each : chunks) each.min_time += span / 3, each.max_time += span / 3;
  const auto sections = planned_while_growing(chunks, 5000);
  for (std::size_t i = 1; i < sections.size(); ++i) ASSERT_EQ(sections[i].time, sections[i - 1].end);
  EXPECT_LE(sections.front().time, chunks.front().min_time);
  EXPECT_GT(sections.back().end, chunks.back().max_time);
  EXPECT_LE(max_events(sections), 5000U);
}

/// The longer a recording is, the larger are the tiles over the whole recording. A tile may start before the recording.
TEST(plan_of_sections, begins_with_settled_ones_however_long_the_recording_becomes) {
  constexpr time_ns begin = -span / 3;
  std::vector<trace::chunk_info> chunks;
  set_known(chunks, trace::row_type::kernel, 256, 1000);
  for (trace::chunk_info& each : chunks) each.min_time += begin, each.max_time += begin;
  const auto settled = plan_next_sections(begin, begin + span - 1, chunks, 5000, {}, span / 2);
  ASSERT_GT(settled.size(), 5U);
  const auto sections = plan_sections(begin, 100 * span, chunks, 5000, settled);
  EXPECT_EQ(sections.front().time, settled.front().time);
  EXPECT_LT(root_tiles(begin, 100 * span).front().begin, settled.front().time);
}

/// An event before all others appears after sections were settled.
TEST(plan_of_sections, keeps_settled_ones_when_the_recording_turns_out_to_begin_earlier) {
  std::vector<trace::chunk_info> chunks;
  set_known(chunks, trace::row_type::kernel, 1024, 1000);
  for (trace::chunk_info& each : chunks) each.min_time += span, each.max_time += span;
  const auto settled = plan_next_sections(span, 2 * span - 1, chunks, 5000, {}, span + span / 2);
  ASSERT_GT(settled.size(), 50U);
  const auto spans = list_spans(plan_sections(17, 2 * span - 1, chunks, 5000, settled));
  EXPECT_EQ(spans.front().first, 0);
  for (std::size_t i = 1; i < spans.size(); ++i) ASSERT_EQ(spans[i].first, spans[i - 1].second);
  for (const auto& each : list_spans(settled)) EXPECT_EQ(std::count(spans.begin(), spans.end(), each), 1);
}

}  // namespace
}  // namespace sluice::timeline
