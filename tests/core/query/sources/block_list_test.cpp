#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "core/query/engine/engine.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/query/results/results_in_words.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/random_recording.hpp"

/// For a long recording, queries about blocks are answered from a list of its blocks, with the same results as from an
/// index of all its events.
namespace sluice::query {
namespace {

constexpr block_column last_column = block_column::idle;

/// One program, recorded twice: as one section, and as many sections.
class two_recordings {
 public:
  explicit two_recordings(std::uint64_t seed) : whole_(seed, false), sections_(seed, false) {
    for (random_recording* each : {&whole_, &sections_}) lengthen(each->recorded);
    whole_.recorded.close();
    summary::finalize_options ending;
    ending.min_events = 1;
    ending.section_events = 2;
    EXPECT_TRUE(summary::finalize(sections_.recorded.writer(), ending));
    by_index = std::make_unique<engine>(trace::file::open(whole_.recorded.path()).value());
    by_list = std::make_unique<engine>(trace::file::open(sections_.recorded.path()).value());
    std::vector<trace::section_row> rows;
    std::size_t sections = 0;
    for (const trace::chunk_info& chunk : by_list->snapshot()->summaries())
      if (chunk.type == trace::row_type::section && by_list->snapshot()->read_summary(chunk, rows))
        sections += rows.size();
    EXPECT_GT(sections, 24U) << "fewer are read by one index, without a list";
  }

  [[nodiscard]] time_range span() const {
    const auto snapshot = by_index->snapshot();
    return {snapshot->begin(), snapshot->end() + 1};
  }

  void compare(const blocks_query& query) {
    const auto expected = by_index->ask_now(query);
    const auto found = by_list->ask_now(query);
    ASSERT_TRUE(expected && found);
    EXPECT_EQ(in_words(**found), in_words(**expected));
    EXPECT_EQ((*found)->uses_known, (*expected)->uses_known);
    EXPECT_EQ((*found)->by, (*expected)->by);
    ASSERT_EQ((*found)->asked_by.size(), (*expected)->asked_by.size());
    for (std::size_t i = 0; i < (*found)->asked_by.size(); ++i)
      EXPECT_EQ((*found)->names[(*found)->asked_by[i]], (*expected)->names[(*expected)->asked_by[i]]);
  }

  std::unique_ptr<engine> by_index;
  std::unique_ptr<engine> by_list;

 private:
  /// Sections are no shorter than their bins, so many sections need a long recording.
  static void lengthen(testing::recording& recorded) {
    for (time_ns time = 0; time < 40'000; time += 60) {
      auto row = recorded.event<trace::marker_event>(time);
      row.step = -1;
      recorded.writer().add(row);
    }
  }

  random_recording whole_;
  random_recording sections_;
};

blocks_query sorted_by(block_column column, bool descending, time_range range) {
  blocks_query output;
  output.range = range;
  output.sort = column;
  output.descending = descending;
  output.with_uses = true;
  return output;
}

TEST(block_list, sorts_by_each_column_as_an_index_does) {
  testing::for_each_seed(1, 12, [](std::uint64_t seed) {
    two_recordings recordings(seed);
    for (auto column = 0; column <= static_cast<int>(last_column); ++column)
      for (const bool descending : {false, true}) {
        SCOPED_TRACE(fmt::format("column {}, descending {}", column, descending));
        recordings.compare(sorted_by(static_cast<block_column>(column), descending, recordings.span()));
      }
  });
}

TEST(block_list, filters_and_cuts_as_an_index_does) {
  testing::for_each_seed(1, 12, [](std::uint64_t seed) {
    two_recordings recordings(seed);
    std::mt19937_64 random(seed);
    const auto one_in = [&](std::uint64_t many) { return random() % many == 0; };
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      blocks_query asked =
          sorted_by(static_cast<block_column>(random() % (static_cast<std::uint64_t>(last_column) + 1)), one_in(2),
                    recordings.span());
      // The first query covers all blocks: after it, any range is answered from the list.
      if (i > 0 && one_in(3)) {
        const auto length = static_cast<std::uint64_t>(asked.range.length());
        asked.range.begin += static_cast<time_ns>(random() % length);
        asked.range.end = asked.range.begin + 1 + static_cast<time_ns>(random() % length);
      }
      asked.with_uses = one_in(2);
      asked.rows = one_in(2) ? random() % 20 : block_table::row_limit;
      asked.only_unfreed = one_in(4);
      asked.only_unused = one_in(6);
      if (one_in(3)) asked.layer = one_in(2) ? trace::layer::framework : trace::layer::pool;
      if (one_in(4)) asked.kind = one_in(3) ? trace::memory_kind::pinned : trace::memory_kind::device;
      if (one_in(4)) asked.device = trace::device_id{random() % 3};
      if (one_in(5)) asked.category = static_cast<index::category>(random() % index::category_count);
      if (one_in(4)) asked.min_bytes = random() % 800;
      const char* const texts[] = {"SITE 2", "line 4", "backward", "0x40", "70", "nowhere"};
      if (one_in(3)) asked.filter = texts[random() % std::size(texts)];
      if (one_in(4)) asked.groups = block_groups{memory_grouping::process, {random() % 2}, one_in(2)};
      if (one_in(4)) asked.process = trace::process_id{random() % 3};
      SCOPED_TRACE(fmt::format("question {}, column {}, filter '{}'", i, static_cast<int>(asked.sort), asked.filter));
      recordings.compare(asked);
    }
  });
}

TEST(block_list, filters_by_process_as_an_index_does) {
  testing::for_each_seed(1, 12, [](std::uint64_t seed) {
    two_recordings recordings(seed);
    for (const std::uint64_t process : {1, 2, 3}) {
      blocks_query asked = sorted_by(block_column::bytes, true, recordings.span());
      asked.with_uses = false;
      asked.process = trace::process_id{process};
      recordings.compare(asked);
    }
  });
}

TEST(block_list, is_made_once_for_all_who_ask_at_the_same_time) {
  testing::for_each_seed(1, 6, [](std::uint64_t seed) {
    two_recordings recordings(seed);
    const std::array<block_column, 4> columns = {block_column::born, block_column::name, block_column::idle,
                                                 block_column::address};
    std::array<std::string, 4> found;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < columns.size(); ++i)
      threads.emplace_back([&, i] {
        const auto table = recordings.by_list->ask_now(sorted_by(columns[i], false, recordings.span()));
        found[i] = table ? in_words(**table) : table.error().to_string();
      });
    for (std::thread& each : threads) each.join();
    for (std::size_t i = 0; i < columns.size(); ++i)
      EXPECT_EQ(found[i], in_words(**recordings.by_index->ask_now(sorted_by(columns[i], false, recordings.span()))));
  });
}

}  // namespace
}  // namespace sluice::query
