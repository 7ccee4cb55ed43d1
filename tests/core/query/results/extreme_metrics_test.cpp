// Times and sizes at the limits of their types, in every query, finding, table, format and command, under sanitizers.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <random>

#include "core/base/saturating.hpp"
#include "core/export/export.hpp"
#include "core/export/recording/merge.hpp"
#include "core/export/recording/trim.hpp"
#include "core/generate/tile.hpp"
#include "core/query/engine/engine.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/model/schema.hpp"
#include "tests/core/query/sql/sql_fixture.hpp"

namespace sluice::query {
namespace {

constexpr std::array<std::int64_t, 9> extremes = {INT64_MIN,     INT64_MIN + 1, -1,       0, 1, 1000,
                                                  INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};

/// A row whose ids are small, so that rows refer to each other, and whose times and sizes are extreme.
template <class Row>
Row extreme_row(std::mt19937_64& random, trace::string_id name) {
  Row row;
  const auto set = [&](auto field) {
    auto& member = row.*field.member;
    using type = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<type, trace::string_id>) {
      member = name;
    } else if constexpr (std::is_enum_v<type> && sizeof(type) == sizeof(std::uint64_t)) {
      member = static_cast<type>(1 + random() % 8);
    } else if constexpr (std::is_integral_v<type> && sizeof(type) == sizeof(std::int64_t)) {
      member = static_cast<type>(extremes[random() % extremes.size()]);
    }
  };
  trace::schema<Row>::apply([&](auto... fields) { (set(fields), ...); });
  if constexpr (requires { row.direction; }) row.direction = trace::direction::h2d;
  if constexpr (requires { row.flags; }) row.flags = 0;
  return row;
}

class extreme_metrics : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    for (testing::recording* each : {&made_, &other_}) fill(*each);
    trace_ = made_.open()->latest();
  }
  void fill(testing::recording& to) {
    std::mt19937_64 random(GetParam());
    to.standard_tables();
    const trace::string_id name = to.text("ncclDevKernel_AllReduce_Sum_f32");
#define SLUICE_ADD(row, kind)                                                            \
  if constexpr (trace::is_event_row<trace::row>) {                                       \
    for (int i = 0; i < 40; ++i) to.writer().add(extreme_row<trace::row>(random, name)); \
  }
    SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
    summary::finalize_options options;
    options.min_events = GetParam() % 2 == 0 ? 1 : UINT64_MAX;
    options.section_events = 100;
    ASSERT_TRUE(summary::finalize(to.writer(), options));
  }
  void TearDown() override { std::filesystem::remove_all(out_); }

  testing::recording made_{50}, other_{50};
  std::shared_ptr<const trace::snapshot> trace_;
  const std::string out_ = made_.path() + ".out";
};

// INT64_MIN and INT64_MAX as times and sizes, in every query of the window and of the report.
TEST_P(extreme_metrics, are_asked_for) {
  engine asked(made_.open());
  const auto tracks = asked.ask_now(tracks_query{}).value();
  for (const time_range& range : {tracks->span, time_range{0, 1000}, time_range{INT64_MIN, INT64_MAX}}) {
    static_cast<void>(asked.ask_now(statistics_query{range}));
    blocks_query blocks;
    blocks.range = range;
    static_cast<void>(asked.ask_now(blocks));
    for (const track& each : tracks->tracks) {
      static_cast<void>(asked.ask_now(slices_query{each.id, range, 100}));
      static_cast<void>(asked.ask_now(series_query{each.id, range, 100}));
    }
    for (const auto measure : {stack_measure::peak, stack_measure::live, stack_measure::allocated,
                               stack_measure::transferred, stack_measure::host})
      static_cast<void>(asked.ask_now(stacks_query{range, measure, range.begin}));
  }
  EXPECT_TRUE(asked.ask_now(report_query{}));
  EXPECT_TRUE(asked.ask_now(search_query{"nccl"}));
  for (std::uint64_t id = 0; id < 9; ++id) {
    static_cast<void>(asked.ask_now(details_query{trace::event_id{id}, {}}));
    static_cast<void>(asked.ask_now(details_query{{}, trace::block_id{id}}));
  }
}

// The extreme values in every table and view of SQL.
TEST_P(extreme_metrics, are_read_as_tables) {
  auto sql = sql_database::open(trace_).value();
  for (const sql_table_about& table : sql_schema()) {
    auto rows = sql->prepare("SELECT * FROM " + table.name);
    if (!rows) continue;  // Skips tables that need a range.
    for (auto more = rows->step(); more && *more; more = rows->step())
      for (std::size_t i = 0; i < rows->columns().size(); ++i) static_cast<void>(rows->at(i));
  }
}

// The extreme values in every export format, and in trimmed, merged and repeated recordings.
TEST_P(extreme_metrics, are_written) {
  for (const exports::format& as : exports::formats()) {
    SCOPED_TRACE(as.name);
    static_cast<void>(exports::write(*trace_, as, out_, {}));
    std::filesystem::remove_all(out_);
  }
  for (const time_range& range : {time_range{INT64_MIN, INT64_MAX}, time_range{-1, 1000}})
    static_cast<void>(exports::trim(*trace_, {.range = range, .redact = {}}, out_));
  static_cast<void>(exports::merge({trace_, other_.open()->latest()}, out_));
  static_cast<void>(generate::tile(made_.path(), 100'000, out_));
}

INSTANTIATE_TEST_SUITE_P(seeds, extreme_metrics, ::testing::Range(1U, 7U));

TEST(saturating, stays_within_the_limits) {
  EXPECT_EQ(saturating_sum<std::int64_t>(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(saturating_sum<std::int64_t>(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(saturating_difference<std::int64_t>(INT64_MAX, -1), INT64_MAX);
  EXPECT_EQ(saturating_difference<std::int64_t>(INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(saturating_difference<std::int64_t>(3, 5), -2);
  EXPECT_EQ(saturating_cast<std::int64_t>(1e300), INT64_MAX);
  EXPECT_EQ(saturating_cast<std::int64_t>(-1e300), INT64_MIN);
  EXPECT_EQ(saturating_cast<std::uint64_t>(-1.0), 0U);
  EXPECT_EQ(saturating_cast<std::uint64_t>(18446744073709551616.0), UINT64_MAX);
  EXPECT_EQ(saturating_cast<std::int64_t>(std::nan("")), 0);
  EXPECT_EQ(saturating_cast<std::int64_t>(7.9), 7);
}

}  // namespace
}  // namespace sluice::query
