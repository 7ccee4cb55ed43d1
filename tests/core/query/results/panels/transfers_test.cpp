#include "core/query/types/transfers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/core/query/results/in_both_ways.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::query {
namespace {

using metrics::copy_cell;
using metrics::copy_line;
using metrics::copy_table;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::direction;
using trace::memory_kind;

constexpr time_range everything{0, 100'000 * ms};

/// Adds a copy that a call with this stack requests.
trace::event_id add_copy(recording& to, trace::stack_id stack, time_ns begin, time_ns end, std::uint64_t bytes,
                         direction way = direction::h2d, memory_kind side = memory_kind::pinned,
                         std::uint64_t content = 0) {
  auto call = to.event<trace::api_call_event>(begin);
  call.end = begin + 1000;
  call.name = to.text("cuMemcpyAsync");
  call.stack = stack;
  auto row = to.event<trace::transfer_event>(begin);
  row.call = trace::event_id{to.writer().add(call)};
  row.end = end;
  row.bytes = bytes;
  row.direction = way;
  row.source_kind = way == direction::d2h ? memory_kind::device : side;
  row.destination_kind = way == direction::d2h ? side : memory_kind::device;
  row.device = trace::device_id{1};
  row.stream = trace::stream_id{1};
  row.enqueued = begin;
  if (content != 0) {
    row.content = trace::content_check::exact;
    row.content_hash = content;
    row.content_bytes = bytes;
  }
  return trace::event_id{to.writer().add(row)};
}

/// Writes a loop: one line copies batches to the device, another copies results back, and kernels overlap some copies.
void write_loop(recording& to) {
  to.standard_tables();
  testing::stack_maker stack(to);
  const trace::stack_id load = stack({testing::python("load", "/home/me/train.py", 7)});
  const trace::stack_id read = stack({testing::python("read", "/home/me/train.py", 9)});
  for (time_ns i = 0; i < 60; ++i) {
    const time_ns begin = i * 10 * ms;
    add_copy(to, load, begin, begin + 2 * ms, 16 * mib, direction::h2d,
             i % 4 == 0 ? memory_kind::host : memory_kind::pinned, 100 + static_cast<std::uint64_t>(i / 2));
    to.add_kernel(begin + 1 * ms, begin + 5 * ms);
    add_copy(to, read, begin + 6 * ms, begin + 7 * ms, 4 * mib, direction::d2h);
  }
}

const copy_line& get_line(const copy_table& table, direction way) {
  const auto found =
      std::find_if(table.lines.begin(), table.lines.end(), [&](const auto& each) { return each.direction == way; });
  EXPECT_NE(found, table.lines.end());
  return *found;
}

TEST(transfers, are_summed_up_by_line_and_direction) {
  recording recorded;
  write_loop(recorded);
  recorded.close();
  const copy_table table = make_result(recorded.path(), transfers_query{everything});
  ASSERT_EQ(table.lines.size(), 2U);
  const copy_line& in = get_line(table, direction::h2d);
  EXPECT_EQ(in.place.line.line, 7U);
  EXPECT_EQ(in.count, 60U);
  EXPECT_EQ(in.bytes, 60 * 16 * mib);
  EXPECT_EQ(in.pageable_bytes, 15 * 16 * mib);
  EXPECT_EQ(in.pinned_bytes, 45 * 16 * mib);
  EXPECT_EQ(in.busy, 60 * 2 * ms);
  EXPECT_TRUE(in.kernels_known);
  EXPECT_EQ(in.alone, 60 * 1 * ms);
  EXPECT_DOUBLE_EQ(in.rate(), 16.0 * mib / 2e-3);
  const copy_line& out = get_line(table, direction::d2h);
  EXPECT_EQ(out.place.line.line, 9U);
  EXPECT_EQ(out.alone, out.busy) << "no kernel runs beside them";
}

TEST(transfers, agree_with_the_report) {
  recording recorded;
  write_loop(recorded);
  recorded.close();
  const copy_table table = make_result(recorded.path(), transfers_query{everything});
  const metrics::report report = make_result(recorded.path(), report_query{});
  for (const metrics::transfer_statistics& way : report.whole.transfers) {
    const copy_line& line = get_line(table, way.direction);
    EXPECT_EQ(line.count, way.count);
    EXPECT_EQ(static_cast<double>(line.bytes), way.bytes);
    double fastest = 0;
    std::uint64_t counted = 0;
    for (const copy_cell& cell : table.cells) {
      if (cell.direction != way.direction) continue;
      counted += cell.count;
      fastest = std::max(fastest, cell.rate);
    }
    EXPECT_EQ(counted, way.count);
    EXPECT_EQ(fastest, way.fastest_bandwidth);
  }
  EXPECT_EQ(get_line(table, direction::h2d).repeated, report.duplicates.repeated.all);
  EXPECT_EQ(get_line(table, direction::h2d).repeated.copies, 30U);
  EXPECT_TRUE(table.contents_checked);
}

TEST(transfers, of_a_range_are_those_that_begin_in_it) {
  recording recorded;
  write_loop(recorded);
  recorded.close();
  const copy_table table = make_result(recorded.path(), transfers_query{{100 * ms, 200 * ms}});
  EXPECT_EQ(get_line(table, direction::h2d).count, 10U);
  EXPECT_EQ(get_line(table, direction::h2d).range, (time_range{100 * ms, 190 * ms + 1}));
  EXPECT_EQ(get_line(table, direction::h2d).repeated.copies, 5U);
}

TEST(transfers, from_sections_are_those_from_an_index_of_everything) {
  const auto [whole, sections] = ask_both_ways(write_loop, transfers_query{everything});
  ASSERT_EQ(sections.lines.size(), whole.lines.size());
  for (std::size_t i = 0; i < whole.lines.size(); ++i) {
    EXPECT_EQ(sections.lines[i].count, whole.lines[i].count);
    EXPECT_EQ(sections.lines[i].bytes, whole.lines[i].bytes);
    EXPECT_EQ(sections.lines[i].pageable_bytes, whole.lines[i].pageable_bytes);
    EXPECT_EQ(sections.lines[i].busy, whole.lines[i].busy);
    EXPECT_EQ(sections.lines[i].alone, whole.lines[i].alone);
    EXPECT_EQ(sections.lines[i].repeated, whole.lines[i].repeated);
    EXPECT_EQ(sections.lines[i].largest, whole.lines[i].largest);
  }
  ASSERT_EQ(sections.cells.size(), whole.cells.size());
  for (std::size_t i = 0; i < whole.cells.size(); ++i) {
    EXPECT_EQ(sections.cells[i].count, whole.cells[i].count);
    EXPECT_EQ(sections.cells[i].fastest, whole.cells[i].fastest);
  }
}

TEST(transfers, of_about_one_size_and_rate_are_one_cell_with_the_fastest_of_them) {
  recording recorded;
  recorded.standard_tables();
  add_copy(recorded, {}, 0, 1000'000, 1 * mib);
  const auto fastest = add_copy(recorded, {}, 2 * ms, 2 * ms + 990'000, 1 * mib);
  add_copy(recorded, {}, 4 * ms, 5 * ms, 8 * mib);
  add_copy(recorded, {}, 6 * ms, 6 * ms, 8 * mib);
  recorded.close();
  const copy_table table = make_result(recorded.path(), transfers_query{everything});
  ASSERT_EQ(table.cells.size(), 2U);
  EXPECT_EQ(table.cells[0].count, 2U);
  EXPECT_EQ(table.cells[0].bytes, 2 * mib);
  EXPECT_EQ(table.cells[0].fastest, fastest);
  EXPECT_EQ(table.cells[0].size, 1 * mib);
  EXPECT_EQ(table.cells[0].begin, 2 * ms);
  EXPECT_EQ(table.cells[1].count, 1U);
  EXPECT_EQ(table.left_out, 1U) << "it took no time";
  EXPECT_FALSE(table.contents_checked);
}

TEST(transfers, of_many_small_pieces_are_a_storm) {
  recording recorded;
  recorded.standard_tables();
  testing::stack_maker stack(recorded);
  const trace::stack_id pieces = stack({testing::python("pieces", "/home/me/train.py", 3)});
  for (time_ns i = 0; i < 300; ++i) add_copy(recorded, pieces, i * 10'000, i * 10'000 + 2'000, 4096);
  recorded.close();
  const copy_table table = make_result(recorded.path(), transfers_query{everything});
  ASSERT_EQ(table.lines.size(), 1U);
  EXPECT_TRUE(table.lines[0].storm);
  EXPECT_EQ(table.lines[0].small, 300U);
  EXPECT_EQ(table.lines[0].small_spread, 299 * 10'000 + 2'000);
}

TEST(transfers, that_come_back_are_round_trips_of_both_lines) {
  recording recorded;
  recorded.standard_tables();
  testing::stack_maker stack(recorded);
  const trace::stack_id down = stack({testing::python("down", "/home/me/train.py", 3)});
  const trace::stack_id up = stack({testing::python("up", "/home/me/train.py", 5)});
  add_copy(recorded, down, 0, ms, 2 * mib, direction::d2h, memory_kind::pinned, 9);
  add_copy(recorded, up, 5 * ms, 7 * ms, 2 * mib, direction::h2d, memory_kind::pinned, 9);
  recorded.close();
  const copy_table table = make_result(recorded.path(), transfers_query{everything});
  ASSERT_EQ(table.round_trips.size(), 1U);
  EXPECT_EQ(table.round_trips[0].down.line.line, 3U);
  EXPECT_EQ(table.round_trips[0].up.line.line, 5U);
  EXPECT_EQ(table.round_trips[0].to_host.busy, ms);
  EXPECT_EQ(table.round_trips[0].to_device.busy, 2 * ms);
  EXPECT_EQ(get_line(table, direction::d2h).round_trips.copies, 1U);
  EXPECT_EQ(get_line(table, direction::h2d).round_trips.bytes, 2 * mib);
}

}  // namespace
}  // namespace sluice::query
