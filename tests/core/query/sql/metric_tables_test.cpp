// The tables of analyses, computed from one event store of the recording and over runs of its sections.
#include "core/query/sql/metric_tables.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/query/sql/sql_text.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

using testing::mib;
using testing::ms;

constexpr std::uint64_t program_blocks = 400;

/// Writes a program that allocates a block each ms: most are freed soon, some much later, and some never. It also
/// copies, runs kernels, and fails to allocate.
void write_program(testing::recording& to) {
  to.standard_tables();
  for (std::uint64_t i = 1; i <= program_blocks; ++i) {
    const time_ns now = static_cast<time_ns>(i) * ms;
    to.add_alloc(now, i, i % 7 * mib + 256);
    to.add_kernel(now + 1000, now + 400'000, i % 3 == 0 ? "gemm" : "copy");
    if (i % 5 == 0) to.add_copy(now + 100'000, now + 300'000, mib);
    if (i > 3 && i % 50 != 0) to.add_free(now + 500'000, i - 3);
    if (i > 300 && (i - 200) % 100 == 50) to.add_free(now + 600'000, i - 200);
    if (i % 90 != 0) continue;
    auto failed = to.event<trace::alloc_failed_event>(now + 700'000);
    failed.layer = trace::layer::driver;
    failed.kind = trace::memory_kind::device;
    failed.device = trace::device_id{1};
    failed.bytes = 300;
    failed.error = 2;
    to.writer().add(failed);
  }
}

class metric_tables_of_runs : public ::testing::Test {
 protected:
  metric_tables_of_runs() {
    write_program(whole_);
    write_program(sections_);
    whole_.close();
    summary::finalize_options ending;
    ending.min_events = 1;
    ending.section_events = 50;
    EXPECT_TRUE(summary::finalize(sections_.writer(), ending));
    open(whole_, from_whole_);
    open(sections_, from_runs_);
  }

  static void open(const testing::recording& recorded, sql_context& context) {
    constexpr std::uint64_t events_in_a_run = 120;
    context.trace = recorded.open()->latest();
    context.frames = std::make_unique<symbols::frame_cache>(symbols::options_for(*context.trace));
    context.opened = summary::recording_sections::open(context.trace, {}, events_in_a_run).value();
  }

  static const metric_table& get_table(std::string_view name) {
    const auto tables = metric_tables();
    return *std::find_if(tables.begin(), tables.end(), [&](const metric_table& each) { return each.name == name; });
  }

  static std::string line_of(const metric_table& table, const metric_rows& rows, std::size_t row) {
    std::string line, scratch;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const cell value = rows.at(row, column, scratch);
      // The last digits of sums of reals depend on where the runs end.
      line += (value.type == cell::kind::real ? fmt::format("{:.9g}", value.real) : to_text(value)) + "|";
    }
    return line;
  }

  static std::vector<std::string> list(sql_context& context, const metric_table& table,
                                       std::optional<time_range> range = std::nullopt) {
    std::vector<std::string> lines;
    const auto visited = table.for_each(context, range, [&](const metric_rows& rows) -> result<void> {
      for (std::size_t row = 0; row < rows.size(); ++row) lines.push_back(line_of(table, rows, row));
      return {};
    });
    EXPECT_TRUE(visited) << visited.error().to_string();
    return lines;
  }

  testing::recording whole_, sections_{64};
  sql_context from_whole_, from_runs_;
};

TEST_F(metric_tables_of_runs, have_the_blocks_of_the_whole_recording_in_the_same_order) {
  ASSERT_EQ(from_whole_.opened->runs(), 1U);
  ASSERT_GT(from_runs_.opened->runs(), 5U);
  const auto blocks = list(from_runs_, get_table("block"));
  EXPECT_EQ(blocks.size(), program_blocks);
  EXPECT_EQ(blocks, list(from_whole_, get_table("block")));
}

// Without uses, which this program lacks, less of each section is read.
TEST_F(metric_tables_of_runs, have_the_same_blocks_if_their_uses_are_not_read) {
  const metric_table& table = get_table("block");
  std::vector<std::string> lines;
  for (std::size_t run = 0; run < from_runs_.opened->runs(); ++run) {
    const auto rows = table.make_run(from_runs_, run, 1).value();
    for (std::size_t row = 0; row < rows->size(); ++row) lines.push_back(line_of(table, *rows, row));
  }
  EXPECT_EQ(lines, list(from_whole_, table));
}

TEST_F(metric_tables_of_runs, find_a_block_in_any_run) {
  const metric_table& table = get_table("block");
  const auto blocks = list(from_runs_, table);
  // From the last to the first, so that few are in a run that was read for the one before.
  for (std::uint64_t id = program_blocks; id > 0; id -= id > 7 ? 7 : id) {
    const auto found = table.look_up(from_runs_, {cell::kind::integer, static_cast<std::int64_t>(id), 0, {}});
    ASSERT_TRUE(found) << found.error().to_string();
    ASSERT_EQ((*found)->size(), 1U) << id;
    EXPECT_EQ(line_of(table, **found, 0), blocks[id - 1]);
    EXPECT_EQ((*found)->id_of(0), static_cast<std::int64_t>(id));
  }
}

TEST_F(metric_tables_of_runs, find_no_block_that_is_not_there) {
  const metric_table& table = get_table("block");
  for (const cell& wanted : {cell{cell::kind::integer, 99'999, 0, {}}, cell{cell::kind::integer, -1, 0, {}}, cell{},
                             cell{cell::kind::text, 0, 0, "7"}})
    for (sql_context* context : {&from_whole_, &from_runs_}) {
      const auto found = table.look_up(*context, wanted);
      ASSERT_TRUE(found);
      EXPECT_EQ((*found)->size(), 0U);
    }
}

TEST_F(metric_tables_of_runs, have_the_metrics_of_a_range) {
  const time_range range{101 * ms + 200'000, 333 * ms};
  for (const metric_table& table : metric_tables())
    if (table.ranged) {
      EXPECT_EQ(list(from_runs_, table, range), list(from_whole_, table, range)) << table.name;
    }
  EXPECT_FALSE(list(from_runs_, get_table("allocation_retry"), range).empty());
  EXPECT_FALSE(list(from_runs_, get_table("memory_use"), range).empty());
}

TEST_F(metric_tables_of_runs, end_when_the_query_is_interrupted) {
  from_runs_.opened.reset();
  from_runs_.interrupted = true;
  const auto visited =
      get_table("block").for_each(from_runs_, {}, [](const metric_rows&) -> result<void> { return {}; });
  ASSERT_FALSE(visited);
  EXPECT_EQ(visited.error().code, error_code::cancelled);
}

}  // namespace
}  // namespace sluice::query
