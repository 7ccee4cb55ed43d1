#include "core/metrics/idle/idle_spans.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/core/recordings/each_seed.hpp"

namespace sluice::metrics {
namespace {

idle_part make_part(time_range span, gap_cause cause) {
  idle_part part;
  part.gap = part.span = part.ran = span;
  part.cause = cause;
  return part;
}

std::vector<idle_part> draw_parts(std::mt19937_64& random) {
  std::vector<idle_part> parts;
  time_ns now = 0;
  for (int i = 0; i < 200; ++i) {
    now += static_cast<time_ns>(random() % 20);
    const auto length = 1 + static_cast<time_ns>(random() % (random() % 10 == 0 ? 300 : 8));
    parts.push_back(make_part({now, now + length}, static_cast<gap_cause>(random() % gap_cause_count)));
    now += length;
  }
  return parts;
}

std::vector<idle_span> merge(const std::vector<idle_part>& parts, time_range range, std::uint32_t width) {
  idle_span_merger merger(range, width);
  const recent_samples none;
  for (const idle_part& each : parts) merger.add(each, none);
  return merger.get_spans();
}

TEST(idle_spans, keep_all_time_and_have_the_cause_of_most_of_it) {
  testing::for_each_seed(1, 200, [](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::vector<idle_part> parts = draw_parts(random);
    const time_range range{static_cast<time_ns>(random() % 500), 800 + static_cast<time_ns>(random() % 2000)};
    const auto width = static_cast<std::uint32_t>(1 + random() % 400);
    const std::vector<idle_span> spans = merge(parts, range, width);
    EXPECT_LE(spans.size(), 3 * width + 1);
    std::uint64_t counted = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const idle_span& each = spans[i];
      EXPECT_GE(each.span.begin, i > 0 ? spans[i - 1].span.end : range.begin);
      std::map<gap_cause, time_ns> causes;
      time_ns idle = 0;
      std::uint64_t inside = 0;
      for (const idle_part& part : parts) {
        const time_ns length = intersect(intersect(part.span, range), each.span).length();
        if (length <= 0) continue;
        causes[part.cause] += length;
        idle += length;
        ++inside;
      }
      EXPECT_EQ(each.idle, idle);
      EXPECT_EQ(each.parts, inside);
      for (const auto& [cause, time] : causes) EXPECT_LE(time, causes[each.cause]);
      EXPECT_EQ(each.longest.cause, each.cause);
      counted += inside;
    }
    const auto visible = std::count_if(parts.begin(), parts.end(),
                                       [&](const idle_part& part) { return intersect(part.span, range).length() > 0; });
    EXPECT_EQ(counted, static_cast<std::uint64_t>(visible)) << "each part is in one span";
  });
}

TEST(idle_spans, of_long_parts_are_these_parts) {
  const std::vector<idle_part> parts{make_part({10, 30}, gap_cause::host), make_part({30, 50}, gap_cause::launch)};
  const std::vector<idle_span> spans = merge(parts, {0, 100}, 10);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].span, (time_range{10, 30}));
  EXPECT_EQ(spans[1].cause, gap_cause::launch);
  EXPECT_EQ(spans[1].parts, 1U);
}

TEST(idle_spans, outside_of_the_range_are_left_out) {
  EXPECT_TRUE(merge({make_part({10, 30}, gap_cause::host)}, {40, 80}, 10).empty());
  const std::vector<idle_span> cut = merge({make_part({10, 50}, gap_cause::host)}, {40, 80}, 10);
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].span, (time_range{40, 50}));
  EXPECT_EQ(cut[0].longest.gap, (time_range{10, 50}));
}

TEST(recent_samples, cover_gaps_that_began_in_an_earlier_section) {
  index::host_samples first, second;
  trace::host_sample_event row;
  row.process = trace::process_id{1};
  row.thread = trace::thread_id{1};
  row.time = 50;
  row.length = 100;
  row.stack = trace::stack_id{7};
  first.add({row});
  second.add({row});
  first.settle();
  second.settle();
  recent_samples samples;
  samples.add(first, {0, 100});
  samples.add(second, {100, 200});
  const auto get_times = [&](time_range range) {
    work_times times;
    samples.add_times({row.process, row.thread}, range, times);
    return times;
  };
  const index::host_work work{row.stack, row.state, row.system_call};
  EXPECT_EQ(get_times({60, 140}), (work_times{{work, 80}})) << "both halves of the sample";
  samples.forget(100);
  EXPECT_EQ(get_times({60, 140}), (work_times{{work, 40}}));
  samples.forget(150);
  EXPECT_EQ(get_times({0, 200}), work_times());
}

}  // namespace
}  // namespace sluice::metrics
