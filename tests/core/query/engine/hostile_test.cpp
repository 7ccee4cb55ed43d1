#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "core/index/growing_index.hpp"
#include "core/query/engine/engine.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/timeline/tile_grid.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"
#include "tests/core/trace/random_rows.hpp"

/// Queries files with false contents: any value in any member. No query may crash, hang or exhaust memory; the
/// sanitizers detect invalid accesses.
namespace sluice::query {
namespace {

using testing::recording;

template <class Row>
void add_random(recording& recorded, std::mt19937_64& random, int count) {
  for (int i = 0; i < count; ++i) {
    Row row = trace::testing::random_row<Row>(random);
    if constexpr (trace::is_event_row<Row>) {
      const time_ns extremes[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
      if (random() % 3 == 0) row.time = extremes[random() % 7];
      if constexpr (requires { row.end; }) {
        if (random() % 3 == 0) row.end = extremes[random() % 7];
      }
      row.id = trace::event_id{1 + random() % 1000};
    }
    recorded.writer().add(row);
  }
}

void add_all_kinds(recording& recorded, std::mt19937_64& random) {
#define SLUICE_ADD(row, kind) \
  if constexpr (!std::is_same_v<trace::row, trace::index_row>) add_random<trace::row>(recorded, random, 60);
  SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
}

/// Expects that all results arrive and none is an error. If `disputed`, two results for a track may differ.
void ask_everything(const recording& recorded, bool disputed = false) {
  engine asked(recorded.open());
  const auto tracks = asked.ask_now(tracks_query{});
  ASSERT_TRUE(tracks);
  const time_range ranges[] = {(*tracks)->span,        {0, 1000}, {INT64_MIN, INT64_MAX},
                               {INT64_MAX, INT64_MIN}, {5, 5},    {INT64_MAX - 1, INT64_MAX}};
  for (const time_range& range : ranges) {
    EXPECT_TRUE(asked.ask_now(statistics_query{range}));
    blocks_query blocks;
    blocks.range = range;
    for (const auto column : {block_column::bytes, block_column::lifetime, block_column::name, block_column::died}) {
      blocks.sort = column;
      EXPECT_TRUE(asked.ask_now(blocks));
    }
    for (std::size_t i = 0; i < (*tracks)->tracks.size(); i += 17) {
      const track& t = (*tracks)->tracks[i];
      for (const std::uint32_t width : {0U, 333U}) {
        const bool curves = t.kind == track_kind::memory || t.kind == track_kind::pool ||
                            t.kind == track_kind::bandwidth || t.kind == track_kind::counter;
        if (curves) {
          EXPECT_TRUE(asked.ask_now(series_query{t.id, range, width}) || disputed);
        } else {
          EXPECT_TRUE(asked.ask_now(slices_query{t.id, range, width}) || disputed);
        }
      }
    }
  }
  for (const auto measure : {stack_measure::peak, stack_measure::live, stack_measure::allocated,
                             stack_measure::transferred, stack_measure::host})
    for (const auto order : {metrics::stack_order::from_caller, metrics::stack_order::from_callee})
      for (const time_range& range : ranges) {
        stacks_query stacks{range, measure, range.begin};
        stacks.order = order;
        EXPECT_TRUE(asked.ask_now(stacks));
      }
  EXPECT_TRUE(asked.ask_now(report_query{}));
  EXPECT_TRUE(asked.ask_now(messages_query{}));
  for (std::uint64_t id = 0; id < 1010; ++id) {
    static_cast<void>(asked.ask_now(details_query{trace::event_id{id}, {}}));
    static_cast<void>(asked.ask_now(details_query{{}, trace::block_id{id}}));
  }
}

TEST(hostile_trace, is_answered_whatever_it_says) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    recording recorded(50);
    add_all_kinds(recorded, random);
    recorded.close();
    ask_everything(recorded);
  }
}

summary::finalize_options many_sections() {
  summary::finalize_options options;
  options.min_events = 1;
  options.section_events = 60;
  return options;
}

TEST(hostile_trace, is_summed_up_whatever_it_says) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    recording recorded(50);
    add_all_kinds(recorded, random);
    ASSERT_TRUE(summary::finalize(recorded.writer(), many_sections()));
    ask_everything(recorded);
  }
}

/// Replaces rows of any kind among the summaries of a sound recording, in existing tiles.
TEST(hostile_summaries, are_answered_from_or_left_alone) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    recording recorded(50);
    recorded.standard_tables();
    for (int i = 0; i < 500; ++i) {
      recorded.add_alloc(i * 100, static_cast<std::uint64_t>(i + 1), random() % 1000);
      recorded.add_kernel(i * 100, i * 100 + 150);
    }
    ASSERT_TRUE(recorded.writer().flush());
    const auto lie = [&]<class Row>(Row, int count, std::optional<std::pair<time_ns, time_ns>> over = std::nullopt) {
      std::vector<Row> rows;
      for (int i = 0; i < count; ++i) {
        Row& row = rows.emplace_back(trace::testing::random_row<Row>(random));
        if constexpr (requires { row.curve; }) row.curve = static_cast<std::uint32_t>(over ? random() % 9 : i);
        if constexpr (requires { row.lane; }) row.lane = static_cast<std::uint32_t>(over ? random() % 9 : i);
        if constexpr (requires { row.depth; }) row.depth = static_cast<std::uint32_t>(random() % 3);
        if constexpr (requires { row.time; })
          if (over && random() % 4 != 0) row.time = over->first + static_cast<time_ns>(random() % 4096);
      }
      recorded.writer().add_summary<Row>(rows, over);
    };
    std::vector<trace::section_row> sections;
    for (const timeline::tile& root : timeline::root_tiles(0, 50'000))
      for (time_ns at = root.begin; at < root.end(); at += root.length() / 4)
        sections.push_back({at, at + root.length() / 4, 10});
    recorded.writer().add_summary<trace::section_row>(sections);
    lie(trace::curve_row{}, 8);
    lie(trace::lane_row{}, 8);
    for (const trace::section_row& section : sections) {
      lie(trace::curve_bin_row{}, 50, std::pair{section.time, section.end - 1});
      lie(trace::integer_bin_row{}, 50, std::pair{section.time, section.end - 1});
      lie(trace::lane_bin_row{}, 50, std::pair{section.time, section.end - 1});
    }
    lie(trace::boundary_block_row{}, 20, std::pair{time_ns{0}, time_ns{50'000}});
    lie(trace::block_category_row{}, 20, std::pair{time_ns{0}, time_ns{50'000}});
    index::growing_index growing_index;
    const auto now = recorded.open()->latest();
    while (!growing_index.absorb(*now, SIZE_MAX)) {
    }
    const auto saved = summary::saved_stored_metrics(summary::make_stored_metrics(growing_index, *now));
    if (saved && seed % 2 == 0) recorded.writer().add_summary<trace::saved_row>(std::span(&*saved, 1));
    recorded.close();
    ask_everything(recorded, true);
  }
}

}  // namespace
}  // namespace sluice::query
