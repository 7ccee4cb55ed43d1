#include <gtest/gtest.h>

#include <random>

#include "core/query/engine.hpp"
#include "tests/core/analysis/recording.hpp"
#include "tests/core/trace/random_rows.hpp"

/// Files that lie: any value in any member. Nothing may crash, hang or eat memory; the sanitizers watch the rest.
namespace sluice::query {
namespace {

using testing::recording;

template <class Row>
void add_random(recording& made, std::mt19937_64& random, int count) {
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
    made.writer().add(row);
  }
}

void add_all_kinds(recording& made, std::mt19937_64& random) {
#define SLUICE_ADD(row, kind) \
  if constexpr (!std::is_same_v<trace::row, trace::index_row>) add_random<trace::row>(made, random, 60);
  SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
}

TEST(hostile_trace, is_answered_whatever_it_says) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    recording made(50);
    add_all_kinds(made, random);
    made.close();
    engine asked(made.open());
    const auto tracks = asked.ask_now(tracks_question{});
    ASSERT_TRUE(tracks);
    const time_range ranges[] = {(*tracks)->span,        {0, 1000}, {INT64_MIN, INT64_MAX},
                                 {INT64_MAX, INT64_MIN}, {5, 5},    {INT64_MAX - 1, INT64_MAX}};
    for (const time_range& range : ranges) {
      EXPECT_TRUE(asked.ask_now(statistics_question{range}));
      blocks_question blocks;
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
            EXPECT_TRUE(asked.ask_now(series_question{t.id, range, width}));
          } else {
            EXPECT_TRUE(asked.ask_now(slices_question{t.id, range, width}));
          }
        }
      }
    }
    for (const auto measure :
         {stack_measure::peak, stack_measure::live, stack_measure::allocated, stack_measure::transferred})
      for (const auto order : {analysis::stack_order::from_caller, analysis::stack_order::from_callee})
        for (const time_range& range : ranges) {
          stacks_question stacks{range, measure, range.begin};
          stacks.order = order;
          EXPECT_TRUE(asked.ask_now(stacks));
        }
    EXPECT_TRUE(asked.ask_now(summary_question{}));
    EXPECT_TRUE(asked.ask_now(messages_question{}));
    for (std::uint64_t id = 0; id < 1010; ++id) {
      static_cast<void>(asked.ask_now(details_question{trace::event_id{id}, {}}));
      static_cast<void>(asked.ask_now(details_question{{}, trace::block_id{id}}));
    }
  }
}

}  // namespace
}  // namespace sluice::query
