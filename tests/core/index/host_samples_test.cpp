// Samples of host threads in an index: their order, and which of them a range meets.
#include "core/index/work/host_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tests/core/recordings/recording.hpp"

namespace sluice::index {
namespace {

constexpr thread_key main_thread{trace::process_id{1}, trace::thread_id{1}};

trace::host_sample_event make_row(time_ns begin, time_ns length, std::uint64_t id = 1, std::uint64_t thread = 1) {
  trace::host_sample_event row;
  row.id = trace::event_id{id};
  row.time = begin;
  row.length = length;
  row.process = trace::process_id{1};
  row.thread = trace::thread_id{thread};
  row.state = trace::host_state::running;
  row.stack = trace::stack_id{id};
  return row;
}

using span = std::pair<time_ns, time_ns>;

std::vector<span> list_spans(const host_samples& samples, const thread_key& thread = main_thread) {
  std::vector<span> spans;
  const auto found = samples.threads().find(thread);
  if (found == samples.threads().end()) return spans;
  for (const host_sample& each : found->second) spans.emplace_back(each.begin, each.end);
  return spans;
}

TEST(host_samples, are_in_order_of_time_whatever_the_order_of_the_rows) {
  host_samples samples;
  samples.add({make_row(20, 10, 3), make_row(0, 10, 1)});
  samples.add({make_row(10, 10, 2)});
  samples.settle();
  EXPECT_EQ(list_spans(samples), (std::vector<span>{{0, 10}, {10, 20}, {20, 30}}));
}

TEST(host_samples, end_where_the_next_one_begins) {
  host_samples samples;
  samples.add({make_row(0, 100, 1), make_row(40, 10, 2), make_row(60, 10, 3)});
  samples.settle();
  EXPECT_EQ(list_spans(samples), (std::vector<span>{{0, 40}, {40, 50}, {60, 70}}));
  samples.add({make_row(45, 100, 4)});
  samples.settle();
  EXPECT_EQ(list_spans(samples), (std::vector<span>{{0, 40}, {40, 45}, {45, 60}, {60, 70}})) << "a late row";
}

TEST(host_samples, of_one_time_leave_only_the_last) {
  host_samples samples;
  samples.add({make_row(5, 10, 2), make_row(5, 30, 1)});
  samples.settle();
  EXPECT_EQ(list_spans(samples), (std::vector<span>{{5, 5}, {5, 15}}));
  std::vector<std::uint64_t> stacks;
  samples.for_each_in(main_thread, {0, 100},
                      [&](const host_sample& each, time_range) { stacks.push_back(raw(each.stack)); });
  EXPECT_EQ(stacks, std::vector<std::uint64_t>{2});
}

TEST(host_samples, keep_threads_apart_and_all_that_a_row_says) {
  trace::host_sample_event row = make_row(0, 10, 7, 2);
  row.state = trace::host_state::blocked;
  row.system_call = 202;
  row.python_distance = 90;
  host_samples samples;
  samples.add({make_row(0, 10), row});
  samples.settle();
  EXPECT_EQ(list_spans(samples), (std::vector<span>{{0, 10}}));
  const host_sample& other = samples.threads().at({trace::process_id{1}, trace::thread_id{2}}).at(0);
  EXPECT_EQ(other.state, trace::host_state::blocked);
  EXPECT_EQ(other.stack, trace::stack_id{7});
  EXPECT_EQ(other.system_call, 202);
  EXPECT_EQ(other.python_distance, 90);
  EXPECT_EQ(other.event, trace::event_id{7});
}

TEST(host_samples, with_impossible_lengths_are_counted_or_shortened) {
  host_samples samples;
  samples.add({make_row(0, -5, 1), make_row(10, INT64_MAX, 2), make_row(INT64_MAX, 10, 3), make_row(INT64_MIN, 10, 4)});
  samples.settle();
  EXPECT_EQ(samples.malformed(), 1U);
  EXPECT_EQ(
      list_spans(samples),
      (std::vector<span>{{-latest_time, -latest_time + 10}, {0, 0}, {10, latest_time}, {latest_time, latest_time}}));
}

TEST(host_samples, of_an_unknown_thread_are_none) {
  const host_samples samples;
  samples.for_each_in(main_thread, all_time, [](const host_sample&, time_range) { FAIL(); });
}

/// For each ns of a range, the stack of the sample that `for_each_in` gives for it, compared with the row that was the
/// last to begin before it.
TEST(host_samples, of_a_range_are_those_that_overlap_it) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    std::vector<trace::host_sample_event> rows;
    const std::size_t count = 1 + random() % 30;
    for (std::uint64_t id = 1; id <= count; ++id)
      rows.push_back(make_row(static_cast<time_ns>(random() % 200), static_cast<time_ns>(random() % 40), id));
    host_samples samples;
    for (std::size_t i = 0; i < rows.size(); i += 7) {
      samples.add({rows.begin() + static_cast<std::ptrdiff_t>(i),
                   rows.begin() + static_cast<std::ptrdiff_t>(std::min(i + 7, rows.size()))});
      samples.settle();
    }
    const auto stack_at = [&](time_ns time) {
      const trace::host_sample_event* last = nullptr;
      for (const auto& row : rows)
        if (row.time <= time && (last == nullptr || std::pair(row.time, row.id) > std::pair(last->time, last->id)))
          last = &row;
      return last != nullptr && last->time + last->length > time ? last->stack : trace::stack_id::none;
    };
    const auto begin = static_cast<time_ns>(random() % 200);
    const time_range range{begin, begin + static_cast<time_ns>(random() % 80)};
    std::vector<trace::stack_id> found(static_cast<std::size_t>(range.length()));
    samples.for_each_in(main_thread, range, [&](const host_sample& each, time_range part) {
      ASSERT_LT(part.begin, part.end);
      ASSERT_EQ(part, intersect({each.begin, each.end}, range));
      for (time_ns time = part.begin; time < part.end; ++time) {
        auto& at = found[static_cast<std::size_t>(time - range.begin)];
        ASSERT_EQ(at, trace::stack_id::none) << "samples do not overlap";
        at = each.stack;
      }
    });
    for (time_ns time = range.begin; time < range.end; ++time)
      ASSERT_EQ(found[static_cast<std::size_t>(time - range.begin)], stack_at(time)) << "at " << time;
  }
}

TEST(host_samples, are_in_the_index_of_a_recording) {
  testing::recording recorded;
  recorded.standard_tables();
  auto row = recorded.event<trace::host_sample_event>(100);
  row.length = 50;
  row.stack = trace::stack_id{9};
  recorded.writer().add(row);
  row.time = 150;
  row.length = -1;
  recorded.writer().add(row);
  recorded.close();
  const testing::indexed whole(recorded.open());
  EXPECT_EQ(list_spans(whole.index.samples()), (std::vector<span>{{100, 150}, {150, 150}}));
  EXPECT_EQ(whole.snapshot->end(), 150) << "a sample ends at its time and length";
  ASSERT_EQ(whole.index.warnings().size(), 1U);
  EXPECT_EQ(whole.index.warnings()[0], words_of_malformed(1));
}

}  // namespace
}  // namespace sluice::index
