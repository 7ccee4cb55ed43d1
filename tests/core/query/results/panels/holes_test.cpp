// The free space of segments over time equals that in the memory map of each moment.
#include "core/query/types/holes.hpp"

#include <gtest/gtest.h>

#include "core/query/engine/engine.hpp"
#include "core/query/types/memory_map.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

using testing::mib;
using testing::ms;
using testing::recording;

/// Writes a segment of 100 MiB with blocks of 10 MiB that are allocated one after another; every second block is freed
/// again.
void write_segment(recording& recorded) {
  recorded.standard_tables();
  recorded.add_alloc(1 * ms, 1, 100 * mib);
  for (std::uint64_t i = 0; i < 10; ++i) {
    auto row = recorded.event<trace::alloc_event>(static_cast<time_ns>(10 + i * 10) * ms);
    row.block = trace::block_id{2 + i};
    row.parent = trace::block_id{1};
    row.bytes = 10 * mib;
    row.kind = trace::memory_kind::device;
    row.layer = trace::layer::framework;
    row.device = trace::device_id{1};
    row.address = (std::uint64_t{1} << 32U) + i * 10 * mib;
    recorded.writer().add(row);
  }
  for (std::uint64_t i = 0; i < 10; i += 2)
    recorded.add_free(static_cast<time_ns>(120 + i) * ms, 2 + i, trace::layer::framework);
  recorded.add_alloc(200 * ms, 50, mib, trace::memory_kind::host);
}

class hole_curves : public ::testing::TestWithParam<bool> {};

TEST_P(hole_curves, are_what_the_memory_map_shows_at_each_moment) {
  recording recorded;
  write_segment(recorded);
  if (GetParam()) {
    summary::finalize_options ending;
    ending.min_events = 1;
    ending.section_events = 5;
    ASSERT_TRUE(summary::finalize(recorded.writer(), ending));
  } else {
    recorded.close();
  }
  engine asked(trace::file::open(recorded.path()).value());
  const auto curve = *asked.ask_now(holes_query{.range = {0, 200 * ms}, .device = trace::device_id{1}, .samples = 40});
  ASSERT_EQ(curve->samples.size(), 40U);
  std::uint64_t most = 0;
  for (const hole_sample& sample : curve->samples) {
    const auto map = *asked.ask_now(memory_map_query{.time = sample.time, .device = trace::device_id{1}, .width = 100});
    const segment_holes& found = sample.layers[static_cast<std::size_t>(trace::layer::driver)];
    std::uint64_t free = 0, largest = 0;
    for (const address_segment& each : map->segments) {
      free += each.bytes - each.used;
      largest = std::max(largest, each.largest_hole);
    }
    EXPECT_EQ(found.free, free) << sample.time;
    EXPECT_EQ(found.largest_hole, largest) << sample.time;
    most = std::max(most, found.free);
  }
  const segment_holes& last = curve->samples.back().layers[static_cast<std::size_t>(trace::layer::driver)];
  EXPECT_EQ(last.free, 50 * mib);
  EXPECT_EQ(last.largest_hole, 10 * mib) << "no freed blocks are adjacent";
  EXPECT_EQ(most, 100 * mib);
}

INSTANTIATE_TEST_SUITE_P(of, hole_curves, ::testing::Values(false, true),
                         [](const auto& with) { return with.param ? "sections" : "an_index"; });

}  // namespace
}  // namespace sluice::query
