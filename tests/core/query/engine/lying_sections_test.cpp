#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

#include "core/index/tensor_facts.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/trace/model/row_references.hpp"
#include "tests/core/query/results/results_in_words.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"

/// A file's sections may contain false data of any kind.
namespace sluice::query {
namespace {

using summary::section_reader;
using testing::indexed;
using testing::recording;

/// Adds rows of a kind with random numbers in all members.
template <class Row>
void lie(trace::file_writer& to, std::mt19937_64& random, std::pair<time_ns, time_ns> over) {
  std::vector<Row> rows(20);
  for (Row& row : rows) {
    trace::for_each_member(row, [&](auto& member) {
      using member_type = std::remove_cvref_t<decltype(member)>;
      const std::uint64_t number = random() >> (random() % 64);
      if constexpr (std::is_same_v<member_type, bool>) {
        member = number % 2 == 0;
      } else if constexpr (std::is_enum_v<member_type> && trace::enum_values < member_type >> 0) {
        member = static_cast<member_type>(number % trace::enum_values<member_type>);
      } else {
        member = static_cast<member_type>(number);
      }
    });
  }
  to.add_summary<Row>(rows, over);
}

TEST(part_of_a_lying_file, results_something_and_does_not_break) {
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    random_recording reported(seed, true);
    reported.recorded.flush();
    std::mt19937_64 random(seed);
    trace::file_writer& to = reported.recorded.writer();
    {
      const indexed before(reported.recorded.open());
      const std::vector<trace::section_row> sections{{0, 1000, 5}, {1000, 2500, 5}, {2500, 9000, 5}};
      to.add_summary<trace::section_row>(sections);
      lie<trace::boundary_block_row>(to, random, {INT64_MIN, INT64_MAX});
      lie<trace::boundary_block_row>(to, random, {500, 1500});
      lie<trace::block_uses_row>(to, random, {0, 5000});
      lie<trace::block_category_row>(to, random, {0, 5000});
      lie<trace::open_slice_row>(to, random, {1000, 1000});
      lie<trace::chunk_reach_row>(to, random, {INT64_MIN, INT64_MAX});
      lie<trace::chunk_reach_row>(to, random, {1000, 1000});
      lie<trace::step_row>(to, random, {INT64_MIN, INT64_MAX});
      lie<trace::step_row>(to, random, {1000, 1000});
      lie<trace::last_sample_row>(to, random, {INT64_MIN, INT64_MAX});
      lie<trace::last_sample_row>(to, random, {1000, 1000});
      summary::save_sections(before.index, *before.snapshot, sections, to);
    }
    reported.recorded.close();
    const auto file = reported.recorded.open();
    const std::map<trace::process_id, index::step_source> sources{{trace::process_id{0}, index::step_source::marks},
                                                                  {trace::process_id{1}, index::step_source::marks}};
    const auto steps = std::make_shared<const index::step_facts>(file->latest(), sources);
    const auto store = section_reader::open(file->latest(), steps);
    ASSERT_TRUE(store) << store.error().to_string();
    for (std::size_t section = 0; section < 3; ++section) {
      const auto found = (*store)->get_index(section, section);
      ASSERT_TRUE(found) << found.error().to_string();
      const time_range range{-latest_time, latest_time};
      static_cast<void>(ask(statistics_query{range}, **found, *file->latest()));
      blocks_query blocks;
      blocks.range = range;
      static_cast<void>(ask(blocks, **found, *file->latest()));
      stacks_query stacks;
      stacks.range = range;
      static_cast<void>(ask(stacks, **found, *file->latest()));
      for (const index::block_record& block : (*found)->memory().blocks())
        static_cast<void>(ask(details_query{{}, block.id}, **found, *file->latest()));
    }
  }
}

TEST(part_of_a_lying_file, is_refused_if_what_is_saved_of_the_whole_is_cut_or_changed) {
  random_recording reported(5, false);
  reported.recorded.flush();
  std::string saved;
  {
    recording other;
    const indexed before(reported.recorded.open());
    const std::vector<trace::section_row> sections{{0, 1000, 5}, {1000, 9000, 5}};
    summary::save_sections(before.index, *before.snapshot, sections, other.writer());
    other.close();
    const auto now = other.open()->latest();
    std::vector<trace::saved_row> rows;
    for (const trace::chunk_info& chunk : now->summaries())
      if (chunk.type == trace::row_type::saved) {
        ASSERT_TRUE(now->read_summary(chunk, rows));
      }
    ASSERT_EQ(rows.size(), 1U);
    saved = rows[0].bytes;
  }
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < 60; ++i) {
    recording recorded;
    recorded.add_alloc(5, 1, 10);
    trace::saved_row lies{summary::sections_name, summary::full_sections_version, saved};
    if (i % 2 == 0) {
      lies.bytes.resize(random() % saved.size());
    } else {
      for (int changes = 0; changes < 5; ++changes) lies.bytes[random() % saved.size()] = static_cast<char>(random());
    }
    const std::vector<trace::section_row> sections{{0, 1000, 5}, {1000, 9000, 5}};
    recorded.writer().add_summary<trace::section_row>(sections);
    recorded.writer().add_summary<trace::saved_row>(std::span(&lies, 1));
    recorded.close();
    const auto store = section_reader::open(recorded.open()->latest(), {});
    if (i % 2 == 0) {
      EXPECT_FALSE(store);
    } else if (store) {
      EXPECT_TRUE((*store)->get_index(1, 1));
    }
  }
}

TEST(part_of_a_file_without_summaries, is_not_found) {
  recording recorded;
  recorded.add_alloc(5, 1, 10);
  recorded.close();
  const auto store = section_reader::open(recorded.open()->latest(), {});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, error_code::not_found);
}

}  // namespace
}  // namespace sluice::query
