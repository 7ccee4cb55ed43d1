// Generations: the blocks that were allocated after each mark and are still live. SQL gives the expected numbers.
#include "core/query/types/generations.hpp"

#include <gtest/gtest.h>

#include "core/query/engine/engine.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/query/sql/sql_fixture.hpp"

namespace sluice::query {
namespace {

using ::sluice::testing::mib;
using ::sluice::testing::ms;

class generations : public sql_test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    for (std::uint64_t i = 1; i <= 40; ++i) {
      made_.add_alloc(static_cast<time_ns>(i) * 10 * ms, i, i * mib, trace::memory_kind::device,
                      trace::layer::framework, "torch");
      if (i % 3 == 0) made_.add_free(static_cast<time_ns>(i) * 10 * ms + 5 * ms, i, trace::layer::framework);
    }
  }
  generation_list ask_generations(const generations_query& query) {
    engine asked(file_);
    return **asked.ask_now(query);
  }
};

TEST_F(generations, hold_what_sql_counts) {
  open();
  const std::vector<time_ns> marks = {100 * ms, 250 * ms};
  const time_ns at = 352 * ms;
  const generation_list found = ask_generations({.marks = marks, .at = at});
  ASSERT_EQ(found.generations.size(), 3U);
  const std::vector<time_ns> ends = {-1, marks[0], marks[1], INT64_MAX};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto rows = ask(
        fmt::format("SELECT count(*), coalesce(sum(bytes), 0) FROM blocks WHERE layer = 'framework' AND born >= {} AND "
                    "born < {} AND born <= {} AND (died IS NULL OR died > {})",
                    ends[i], ends[i + 1], at, at));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0], fmt::format("{}|{}", found.generations[i].blocks, found.generations[i].bytes)) << i;
    EXPECT_GT(found.generations[i].blocks, 0U);
  }
}

TEST_F(generations, are_split_by_line_without_losing_bytes) {
  open();
  const generation_list found = ask_generations({.marks = {200 * ms}, .at = 500 * ms});
  for (const generation& each : found.generations) {
    std::uint64_t bytes = each.other_bytes;
    for (const generation_group& group : each.groups) bytes += group.bytes;
    EXPECT_EQ(bytes, each.bytes);
  }
  EXPECT_EQ(found.generations[1].groups.at(0).largest, trace::block_id{40});
}

TEST_F(generations, leave_out_marks_after_the_moment) {
  open();
  EXPECT_EQ(ask_generations({.marks = {100 * ms, 300 * ms}, .at = 200 * ms}).generations.size(), 2U);
}

TEST_F(generations, are_the_same_from_sections) {
  summary::finalize_options ending;
  ending.min_events = 1;
  ending.section_events = 10;
  ASSERT_TRUE(summary::finalize(made_.writer(), ending));
  file_ = trace::file::open(made_.path()).value();
  const generation_list found = ask_generations({.marks = {100 * ms, 250 * ms}, .at = 352 * ms});
  ASSERT_EQ(found.generations.size(), 3U);
  std::uint64_t expected = 0;
  for (std::uint64_t i = 25; i <= 35; ++i) expected += i % 3 == 0 ? 0 : i * mib;
  EXPECT_EQ(found.generations[2].bytes, expected);
}

}  // namespace
}  // namespace sluice::query
