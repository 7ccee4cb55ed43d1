#include "core/metrics/report/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/index/labels.hpp"
#include "core/metrics/make_report.hpp"
#include "tests/core/metrics/reports.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::metrics {
namespace {

using testing::build_report;
using testing::find;
using testing::gib;
using ::testing::HasSubstr;
using testing::indexed;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::direction;
using trace::layer;
using trace::memory_kind;

TEST(report, of_an_empty_recording_is_empty) {
  recording recorded;
  const report none = build_report(recorded);
  EXPECT_EQ(none.events, 0U);
  EXPECT_EQ(none.span.length(), 0);
  EXPECT_TRUE(none.findings.empty());
  EXPECT_TRUE(none.warnings.empty());
}

TEST(report, names_the_ranks_of_a_set_of_processes) {
  recording recorded;
  recorded.standard_tables(true);
  for (const std::int64_t rank : {0, 1}) {
    trace::process_row row;
    row.id = static_cast<trace::process_id>(100 + rank);
    row.pid = static_cast<std::uint64_t>(4000 + rank);
    row.rank = rank;
    row.command = recorded.text("/usr/bin/python3 train.py");
    recorded.writer().add(row);
  }
  recorded.close();
  const indexed loaded(recorded.open());
  const report made_of = make_report(loaded.index, *loaded.snapshot);
  ASSERT_EQ(made_of.processes.size(), 3U);
  EXPECT_EQ(made_of.processes[0].rank, -1);
  EXPECT_EQ(made_of.processes[1].rank, 0);
  EXPECT_EQ(made_of.processes[2].rank, 1);
  EXPECT_EQ(index::process_label(trace::process_id{101}, loaded.snapshot->tables()), "rank 1, python3 (4001)");
}

TEST(report, tells_blocks_left_by_a_process_that_ended_from_those_still_in_use) {
  for (const bool ended : {true, false}) {
    recording recorded;
    recorded.standard_tables(ended);
    recorded.add_alloc(1 * ms, 1, 100 * mib);
    recorded.add_alloc(2 * ms, 2, 300 * mib, memory_kind::device, layer::driver, "cuMemAllocPitch_v2");
    recorded.add_alloc(3 * ms, 3, 50 * mib);
    recorded.add_free(4 * ms, 3);
    const report whole_report = build_report(recorded);
    ASSERT_EQ(whole_report.unfreed.size(), 1U);
    EXPECT_EQ(whole_report.unfreed[0].process_ended, ended);
    EXPECT_EQ(whole_report.unfreed[0].count, 2U);
    EXPECT_EQ(whole_report.unfreed[0].bytes, 400 * mib);
    ASSERT_EQ(whole_report.unfreed[0].largest.size(), 2U);
    EXPECT_EQ(whole_report.unfreed[0].largest[0].block, trace::block_id{2});
    const finding* hint = find(whole_report, finding_kind::unfreed_blocks);
    ASSERT_NE(hint, nullptr);
    EXPECT_EQ(hint->severity, trace::severity::info) << "memory allocated once and held to the end is not a leak";
    EXPECT_EQ(whole_report.unfreed[0].keeps_growing, false);
    EXPECT_EQ(hint->block, trace::block_id{2});
    EXPECT_THAT(hint->text, HasSubstr("2 blocks (400 MiB) of device memory were never freed."));
    EXPECT_THAT(hint->text, HasSubstr("cuMemAllocPitch_v2"));
  }
}

TEST(report, tells_once_what_several_processes_leave) {
  recording recorded;
  recorded.standard_tables(true);
  for (std::uint64_t process = 10; process < 14; ++process) {
    auto row = recorded.event<trace::alloc_event>(static_cast<trace::time_ns>(process) * ms);
    row.process = trace::process_id{process};
    row.block = trace::block_id{process};
    row.bytes = process * mib;
    row.layer = layer::driver;
    row.kind = memory_kind::pinned;
    recorded.writer().add(row);
  }
  const report whole_report = build_report(recorded);
  EXPECT_EQ(whole_report.unfreed.size(), 4U);
  ASSERT_EQ(std::count_if(whole_report.findings.begin(), whole_report.findings.end(),
                          [](const finding& each) { return each.kind == finding_kind::unfreed_blocks; }),
            1);
  const finding* hint = find(whole_report, finding_kind::unfreed_blocks);
  EXPECT_EQ(hint->block, trace::block_id{13}) << "the process with the most memory";
  EXPECT_THAT(hint->text, HasSubstr("The same in 3 other processes."));
}

TEST(report, calls_nothing_a_leak_that_was_born_in_the_last_half_second_of_a_recording_that_was_cut) {
  const auto unfreed = [](trace::time_ns process_end, std::int64_t exit_status, trace::recording_mode mode) {
    recording recorded;
    trace::process_row process;
    process.id = trace::process_id{1};
    process.end = process_end;
    process.exit_status = exit_status;
    process.mode = mode;
    recorded.writer().add(process);
    recorded.add_alloc(1 * ms, 1, mib);
    recorded.add_alloc(600 * ms, 2, mib);
    recorded.add_kernel(900 * ms, 1000 * ms);
    const report whole_report = build_report(recorded);
    return whole_report.unfreed.empty() ? 0 : whole_report.unfreed[0].count;
  };
  using mode = trace::recording_mode;
  EXPECT_EQ(unfreed(1000 * ms, 0, mode::timeline), 2U);
  EXPECT_EQ(unfreed(1000 * ms, 1, mode::timeline), 2U);
  EXPECT_EQ(unfreed(1000 * ms, 137, mode::timeline), 1U) << "killed";
  EXPECT_EQ(unfreed(trace::unknown_time, -1, mode::memory), 1U) << "it outlived the recording";
  EXPECT_EQ(unfreed(trace::unknown_time, -1, mode::unknown), 2U) << "an import has no process ends";
}

/// Adds `blocks` blocks, one per ms. Every second block is freed at once, the others are never freed.
void leak(recording& recorded, std::uint64_t blocks) {
  recorded.standard_tables();
  for (std::uint64_t i = 1; i <= blocks; ++i) {
    recorded.add_alloc(static_cast<time_ns>(i) * ms, i, mib);
    if (i % 2 == 0) recorded.add_free(static_cast<time_ns>(i) * ms + 1000, i);
  }
}

TEST(report, warns_of_memory_that_grows_until_the_end) {
  recording recorded;
  leak(recorded, 20);
  const report whole_report = build_report(recorded);
  const finding* hint = find(whole_report, finding_kind::memory_grows);
  ASSERT_NE(hint, nullptr);
  EXPECT_EQ(hint->severity, trace::severity::warning);
  EXPECT_EQ(hint->saves.peak_bytes, 10 * mib);
  EXPECT_THAT(hint->text, HasSubstr("Memory keeps growing: 10.0 MiB of device memory in 10 blocks were never freed "
                                    "while the program ran, and more was allocated until the end."));
  const finding* unfreed = find(whole_report, finding_kind::unfreed_blocks);
  ASSERT_NE(unfreed, nullptr);
  EXPECT_EQ(unfreed->severity, trace::severity::info) << "the other finding is the warning";
}

TEST(report, calls_a_few_blocks_that_keep_coming_and_never_go_a_leak) {
  recording recorded;
  leak(recorded, 12);
  const report whole_report = build_report(recorded);
  EXPECT_EQ(find(whole_report, finding_kind::memory_grows), nullptr) << "6 blocks are too few";
  ASSERT_EQ(whole_report.unfreed.size(), 1U);
  EXPECT_TRUE(whole_report.unfreed[0].keeps_growing);
  const finding* hint = find(whole_report, finding_kind::unfreed_blocks);
  ASSERT_NE(hint, nullptr);
  EXPECT_EQ(hint->severity, trace::severity::warning);
  EXPECT_THAT(hint->text, HasSubstr("and more were allocated until the end: likely a leak."));
}

TEST(report, counts_a_device_as_idle_only_between_its_first_and_its_last_work) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(0, 1, mib);
  recorded.add_kernel(1000 * ms, 1010 * ms);
  recorded.add_kernel(1030 * ms, 1040 * ms);
  recorded.add_kernel(1090 * ms, 1100 * ms);
  recorded.add_free(3000 * ms, 1);
  const report whole_report = build_report(recorded);
  const finding* hint = find(whole_report, finding_kind::idle_gaps);
  ASSERT_NE(hint, nullptr);
  EXPECT_EQ(hint->text,
            "The GPU was idle for 70.0 ms in 2 gaps, as one-time work such as start-up: host code. The longest took "
            "50.0 ms.");
  EXPECT_EQ(hint->range, (time_range{1040 * ms, 1090 * ms}));
  EXPECT_EQ(hint->severity, trace::severity::info) << "two gaps may be a start and an end";
}

TEST(report, says_how_slow_launches_are_if_a_device_waits_for_each) {
  recording recorded;
  recorded.standard_tables();
  for (int i = 0; i < 100; ++i) recorded.add_kernel(i * 12'000, i * 12'000 + 4'000);
  const report whole_report = build_report(recorded);
  const finding* hint = find(whole_report, finding_kind::idle_gaps);
  ASSERT_NE(hint, nullptr);
  EXPECT_EQ(hint->text,
            "The GPU was idle for 792 µs (68 % of the time after start-up): kernel launches too slow. 99 launches at "
            "12.0 µs each against 4.00 µs of GPU work.");
  EXPECT_EQ(hint->saves.time, 99 * 8'000 - 10'000 - 99 * 1'100) << "a CUDA graph";
  EXPECT_EQ(hint->range, (time_range{0, 99 * 12'000 + 4'000}));
}

TEST(report, warns_of_pageable_copies_with_what_pinned_ones_reach) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_copy(0, 100 * ms, 930'000'000, direction::h2d, memory_kind::host);
  recorded.add_copy(200 * ms, 206 * ms, 312'000'000);
  const report whole_report = build_report(recorded);
  const finding* hint = find(whole_report, finding_kind::pageable_copies);
  ASSERT_NE(hint, nullptr);
  EXPECT_EQ(hint->text,
            "887 MiB (75 %) of the bytes copied to the GPU came from pageable memory, at 9.30 GB/s. Pinned memory "
            "reached 52.0 "
            "GB/s of the link's 64.0 GB/s.");
}

TEST(report, does_not_hold_slower_pinned_copies_against_pageable_ones) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_copy(0, 100 * ms, 930'000'000, direction::h2d, memory_kind::host);
  recorded.add_copy(200 * ms, 300 * ms, 4'000);  // Small copies are slow, whichever memory they come from.
  const report whole_report = build_report(recorded);
  const finding* hint = find(whole_report, finding_kind::pageable_copies);
  ASSERT_NE(hint, nullptr);
  EXPECT_THAT(hint->text, HasSubstr("at 9.30 GB/s. The link's peak is 64.0 GB/s."));
}

TEST(report, leaves_pageable_copies_alone_that_reach_the_link) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_copy(0, 100 * ms, 5'500'000'000, direction::h2d, memory_kind::host);
  EXPECT_EQ(find(build_report(recorded), finding_kind::pageable_copies), nullptr);
}

TEST(report, has_nothing_to_say_about_copies_that_are_fast_and_overlapped) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(0, 100 * ms);
  for (int i = 0; i < 10; ++i) recorded.add_copy(i * 10 * ms, i * 10 * ms + 8 * ms, 440'000'000);
  EXPECT_THAT(build_report(recorded).findings, ::testing::IsEmpty());
}

TEST(report, warns_when_the_device_waits_for_copies) {
  recording recorded;
  recorded.standard_tables();
  for (int i = 0; i < 5; ++i) {
    recorded.add_copy(i * 20 * ms, i * 20 * ms + 10 * ms, 500'000'000);
    recorded.add_kernel(i * 20 * ms + 10 * ms, i * 20 * ms + 20 * ms);
  }
  const report whole_report = build_report(recorded);
  const finding* hint = find(whole_report, finding_kind::copies_not_overlapped);
  ASSERT_NE(hint, nullptr);
  EXPECT_EQ(hint->text,
            "The GPU was idle for 50.0 ms (50 % of the time after start-up), waiting for copies: none overlapped "
            "with a kernel. They share a stream with the kernels, so each waits for the other.");
}

TEST(report, judges_a_program_by_the_time_in_which_it_works) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_range(0, 3'000 * ms);  // The program imports its modules.
  for (int i = 0; i < 5; ++i) {
    recorded.add_copy(3'000 * ms + i * 20 * ms, 3'000 * ms + i * 20 * ms + 10 * ms, 500'000'000);
    recorded.add_kernel(3'000 * ms + i * 20 * ms + 10 * ms, 3'000 * ms + i * 20 * ms + 20 * ms);
  }
  recorded.add_range(3'100 * ms, 9'000 * ms);  // The program writes a file.
  const report whole_report = build_report(recorded);
  EXPECT_EQ(whole_report.whole.active, (time_range{3'000 * ms, 3'100 * ms}));
  const finding* hint = find(whole_report, finding_kind::copies_not_overlapped);
  ASSERT_NE(hint, nullptr) << "the copies take less than 1 % of the whole recording";
  EXPECT_EQ(hint->range, (time_range{3'000 * ms, 3'080 * ms + 1})) << "from the first copy to the last";
  EXPECT_NE(hint->text.find("50 % of the time after start-up"), std::string::npos) << hint->text;
}

TEST(report, lists_failures_in_order_of_time) {
  recording recorded;
  recorded.standard_tables();
  for (const time_ns time : {50 * ms, 20 * ms}) {
    auto row = recorded.event<trace::alloc_failed_event>(time);
    row.bytes = 200 * gib;
    row.error = 2;
    row.name = recorded.text("cuMemAlloc_v2");
    recorded.writer().add(row);
  }
  const report whole_report = build_report(recorded);
  ASSERT_EQ(whole_report.failures.size(), 2U);
  EXPECT_EQ(whole_report.failures[0].time, 20 * ms);
  ASSERT_FALSE(whole_report.findings.empty());
  EXPECT_EQ(whole_report.findings[0].kind, finding_kind::failed_allocations) << "errors come first";
  EXPECT_EQ(whole_report.findings[0].text,
            "2 allocations failed; the first requested 200 GiB at 20.000 ms with cuMemAlloc_v2.");
}

TEST(report, measures_the_holes_in_segments) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1, 1, 1000);  // The segment, at 1 << 32.
  const auto sub = [&](time_ns time, std::uint64_t id, std::uint64_t offset, std::uint64_t bytes) {
    auto row = recorded.event<trace::alloc_event>(time);
    row.block = trace::block_id{id};
    row.parent = trace::block_id{1};
    row.address = (std::uint64_t{1} << 32) + offset;
    row.bytes = bytes;
    row.layer = layer::pool;
    row.kind = memory_kind::device;
    row.device = trace::device_id{1};
    recorded.writer().add(row);
  };
  sub(10, 2, 0, 200);
  sub(11, 3, 300, 100);
  sub(12, 4, 700, 100);
  recorded.add_free(20, 3, layer::pool);
  const report whole_report = build_report(recorded);
  ASSERT_EQ(whole_report.fragmentation.size(), 1U);
  const fragmentation_metric& metric = whole_report.fragmentation[0];
  EXPECT_EQ(metric.time, 12);
  EXPECT_EQ(metric.segments, 1U);
  EXPECT_EQ(metric.free_bytes, 600U);
  EXPECT_EQ(metric.largest_free, 300U);
  EXPECT_DOUBLE_EQ(metric.fragmentation, 0.5);
}

TEST(report, measures_holes_across_mappings_that_lie_side_by_side) {
  recording recorded;
  recorded.standard_tables();
  const auto add = [&](time_ns time, std::uint64_t id, std::uint64_t address, std::uint64_t bytes, layer layer,
                       memory_kind kind, std::uint64_t parent) {
    auto row = recorded.event<trace::alloc_event>(time);
    row.block = trace::block_id{id};
    row.parent = trace::block_id{parent};
    row.address = address;
    row.bytes = bytes;
    row.layer = layer;
    row.kind = kind;
    row.device = trace::device_id{1};
    recorded.writer().add(row);
  };
  add(1, 1, 10'000, 100'000, layer::driver, memory_kind::reservation, 0);
  for (const std::uint64_t i : {0, 1, 2, 3})
    add(2, 2 + i, 10'000 + i * 1000, 1000, layer::driver, memory_kind::mapping, 1);
  add(3, 10, 10'500, 2'000, layer::framework, memory_kind::device,
      2);  // A block that spans three mappings; the second mapping contains nothing else.
  add(4, 11, 13'900, 100, layer::framework, memory_kind::device, 5);
  const report whole_report = build_report(recorded);
  ASSERT_EQ(whole_report.fragmentation.size(), 1U);
  const fragmentation_metric& metric = whole_report.fragmentation[0];
  EXPECT_EQ(metric.segments, 1U);
  EXPECT_EQ(metric.segment_bytes, 4'000U);
  EXPECT_EQ(metric.free_bytes, 1'900U);
  EXPECT_EQ(metric.largest_free, 1'400U);
}

TEST(report, of_a_range_is_about_that_range_alone) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1 * ms, 1, 100 * mib);
  recorded.add_alloc(50 * ms, 2, 10 * mib);
  recorded.add_free(20 * ms, 1);
  recorded.add_kernel(90 * ms, 100 * ms);
  recorded.close();
  const indexed loaded(recorded.open());
  const report late = make_report(loaded.index, *loaded.snapshot, time_range{40 * ms, 60 * ms});
  EXPECT_EQ(late.span.end, 100 * ms + 1);
  EXPECT_EQ(late.whole.range, (time_range{40 * ms, 60 * ms}));
  ASSERT_EQ(late.peaks.size(), 1U);
  EXPECT_EQ(late.peaks[0].bytes, 10 * mib);
  EXPECT_EQ(late.unfreed[0].count, 1U);
  EXPECT_TRUE(late.whole.kernels.empty());
}

TEST(report, passes_on_what_the_recorder_warned_of_and_each_warning_once) {
  recording recorded;
  recorded.standard_tables(true);
  const auto say = [&](trace::severity layer, const char* text) {
    trace::message_event said;
    said.time = 1 * ms;
    said.severity = layer;
    said.text = recorded.text(text);
    recorded.writer().add(said);
  };
  say(trace::severity::info, "recorded with CUPTI");
  say(trace::severity::warning, "another profiler holds CUPTI");
  say(trace::severity::warning, "another profiler holds CUPTI");
  EXPECT_THAT(build_report(recorded).warnings, ::testing::ElementsAre("another profiler holds CUPTI"));
}

TEST(report, says_that_a_recording_still_runs) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(0, 100);
  recorded.flush();
  const indexed loaded(recorded.open());
  const report part = make_report(loaded.index, *loaded.snapshot);
  EXPECT_FALSE(part.complete);
  ASSERT_EQ(part.warnings.size(), 1U);
  EXPECT_THAT(part.warnings[0], HasSubstr("still running"));
}

}  // namespace
}  // namespace sluice::metrics
