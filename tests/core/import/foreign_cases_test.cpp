// Small files of other tools that were once misread, each with the correct metrics. The files are in "shared/cases".
#include <gmock/gmock.h>

#include <map>

#include "core/query/engine/engine.hpp"
#include "core/query/types/memory_map.hpp"
#include "core/symbols/attribution.hpp"
#include "tests/core/import/brought_file.hpp"
#include "tests/core/import/shared_traces.hpp"

namespace sluice::importing::foreign_cases {
namespace {

using metrics::finding_kind;
using testing::brought_file;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::to_number;

constexpr std::uint64_t mib = 1 << 20;
constexpr trace::time_ns us = 1000;

#define BRING(name, of)                                                     \
  const auto path_of_##of = testing::shared_case(name);                     \
  if (!path_of_##of) GTEST_SKIP() << "there is no shared/cases/" << (name); \
  const brought_file of(*path_of_##of)

// --- memory ---------------------------------------------------------------------------------------------------------

TEST(foreign_memory, without_addresses_a_free_is_of_a_block_of_its_size) {
  BRING("w01-kineto-memory-without-addr.json", file);
  EXPECT_EQ(file.framework().at_begin, 0U);
  EXPECT_EQ(file.framework().maximum, 6000U);
  EXPECT_EQ(file.framework().at_end, 0U);
  EXPECT_EQ(file.framework().frees, 3U);
  EXPECT_EQ(file.framework().freed_bytes, 7000U);
}

TEST(foreign_memory, a_block_may_lie_across_two_mappings) {
  BRING("w02-snapshot-block-over-two-maps.pickle", file);
  ASSERT_EQ(file.report().fragmentation.size(), 1U);
  EXPECT_EQ(file.report().fragmentation[0].segments, 1U);
  EXPECT_EQ(file.report().fragmentation[0].segment_bytes, 40 * mib);
  EXPECT_EQ(file.report().fragmentation[0].free_bytes, 0U);
  query::engine asked(file.shared_file());
  const auto map = asked.ask_now(query::memory_map_query{.time = file.report().fragmentation[0].time, .width = 100});
  ASSERT_TRUE(map) << map.error().to_string();
  ASSERT_EQ((*map)->segments.size(), 1U);
  EXPECT_EQ((*map)->segments[0].bytes, 40 * mib);
  EXPECT_EQ((*map)->segments[0].used, 40 * mib);
  ASSERT_EQ((*map)->segments[0].items.size(), 2U);
  EXPECT_EQ((*map)->segments[0].items[0].bytes, 30 * mib);
}

TEST(foreign_memory, what_is_freed_first_was_there_before) {
  BRING("w05-snapshot-first-entry-is-free.pickle", file);
  EXPECT_EQ(file.framework().at_begin, 12582912U);
  EXPECT_EQ(file.framework().maximum, 12582912U);
  EXPECT_EQ(file.framework().at_end, 6 * mib);
}

TEST(foreign_memory, addresses_may_lie_above_2_to_the_63) {
  BRING("w06-snapshot-xpu-addresses.pickle", file);
  EXPECT_EQ(file.driver().maximum, 20 * mib);
  EXPECT_EQ(file.framework().maximum, 8 * mib);
  EXPECT_EQ(file.framework().at_end, 2 * mib);
  EXPECT_TRUE(file.imported().not_understood.empty());
}

TEST(foreign_memory, an_allocation_that_failed_is_one) {
  BRING("w14-kineto-oom.json", file);
  EXPECT_EQ(file.report().whole.failed_allocations, 1U);
  ASSERT_EQ(file.report().failures.size(), 1U);
  EXPECT_EQ(file.report().failures[0].bytes, 99999U);
  EXPECT_EQ(file.framework().maximum, 1000U);
}

TEST(foreign_memory, a_free_may_be_logged_after_its_address_was_given_out_again) {
  BRING("w15-rmm-free-logged-late.csv", file);
  EXPECT_EQ(file.framework().maximum, 2048U);
  EXPECT_EQ(file.framework().at_end, 0U);
  EXPECT_TRUE(file.imported().not_understood.empty());
}

TEST(foreign_memory, an_unmapped_part_is_freed_and_the_rest_is_no_allocation) {
  BRING("w16-snapshot-partial-unmap.pickle", file);
  EXPECT_EQ(file.driver().allocations, 2U);
  EXPECT_EQ(file.driver().allocated_bytes, 60 * mib);
  EXPECT_EQ(file.driver().frees, 1U);
  EXPECT_EQ(file.driver().freed_bytes, 20 * mib);
  EXPECT_EQ(file.driver().at_end, 40 * mib);
  EXPECT_EQ(file.driver().at_begin, 0U);
}

TEST(foreign_memory, a_history_that_was_full_is_a_finding) {
  BRING("m05-snapshot-overflowed-flag.pickle", file);
  EXPECT_TRUE(file.finds(finding_kind::lost_events));
  EXPECT_THAT(file.messages(), HasSubstr("PyTorch's memory history was full (5 entries)"));
  EXPECT_TRUE(file.imported().not_understood.empty());
}

TEST(foreign_memory, a_free_that_was_only_completed_is_a_free) {
  BRING("m09-free-completed-only.pickle", file);
  EXPECT_EQ(file.framework().frees, 1U);
  EXPECT_EQ(file.framework().freed_bytes, 8 * mib);
  EXPECT_TRUE(file.imported().not_understood.empty());
}

// --- times ----------------------------------------------------------------------------------------------------------

TEST(foreign_times, the_span_begins_at_the_first_event) {
  BRING("w04-nsys-first-event-at-155s.sqlite", file);
  EXPECT_EQ(file.report().span, (time_range{155'000'000'000, 155'998'000'001}));
  ASSERT_EQ(file.report().whole.devices.size(), 1U);
  const double busy = static_cast<double>(file.report().whole.devices[0].busy);
  EXPECT_NEAR(busy / static_cast<double>(file.report().span.length()), 0.98, 0.005);
  EXPECT_TRUE(file.finds(finding_kind::copies_not_overlapped));
}

TEST(foreign_times, a_kernel_that_was_never_finished_has_no_time) {
  BRING("w08-kineto-zero-ts.json", file);
  EXPECT_EQ(file.report().span.length(), 100 * us + 1);
  EXPECT_EQ(file.kernels(), 1U);
  EXPECT_FALSE(file.finds(finding_kind::idle_gaps));
  EXPECT_THAT(file.messages(), HasSubstr("2 events with an impossible time"));
}

TEST(foreign_times, a_duration_that_overflowed_lasts_until_the_end) {
  BRING("w09-kineto-overflow-duration.json", file);
  EXPECT_EQ(file.report().span.length(), 100 * us + 1);
  EXPECT_THAT(file.messages(), HasSubstr("1 events with an impossible duration"));
  EXPECT_EQ(file.range("never ended").count, 1U);
  EXPECT_LE(file.range("never ended").total, 50 * us + 1);
}

TEST(foreign_times, an_end_may_stand_before_its_begin_in_the_file) {
  BRING("w10-async-end-first-in-file.json", file);
  EXPECT_EQ(file.range("a").count, 1U);
  EXPECT_EQ(file.range("a").total, 50 * us);
  EXPECT_TRUE(file.imported().not_understood.empty());
}

TEST(foreign_times, a_begin_decades_ago_is_left_out) {
  BRING("m10-negative-async.json", file);
  EXPECT_LE(file.report().span.length(), 1000 * us + 1);
  EXPECT_EQ(file.range("work").total, 1000 * us);
  EXPECT_THAT(file.messages(), HasSubstr("1 events with an impossible time"));
}

TEST(foreign_times, a_kernel_that_overruns_those_after_it_is_reported) {
  BRING("m11-kernel-overruns-next.json", file);
  EXPECT_THAT(file.messages(),
              HasSubstr("1 kernels with impossible durations, which contain several later kernels of their stream"));
}

// --- events that belong together ------------------------------------------------------------------------------------

TEST(foreign_work, ranges_deeper_than_what_is_drawn_are_in_the_metrics) {
  BRING("w03-300-nested-ranges.json", file);
  ASSERT_EQ(file.report().whole.ranges.size(), 1U);
  EXPECT_EQ(file.report().whole.ranges[0].count, 300U);
  EXPECT_EQ(file.report().whole.ranges[0].total, 510'300'000);
}

TEST(foreign_work, a_step_counts_once_though_the_device_tells_it_too) {
  BRING("w07-kineto-gpu-annotation-steps.json", file);
  ASSERT_EQ(file.report().steps.size(), 1U);
  EXPECT_EQ(file.report().steps[0].steps.size(), 3U);
  EXPECT_EQ(file.report().steps[0].steps[0].span.length(), 900 * us);
}

TEST(foreign_work, node_ids_of_amds_gpus_are_matched_with_ordinals) {
  BRING("w12-rocm-node-ids.json", file);
  const auto& devices = file.file().latest()->tables().devices.rows();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(file.text(devices[0].name), "AMD Instinct MI300X");
  EXPECT_EQ(devices[0].ordinal, 0);
  EXPECT_EQ(devices[0].memory_bytes, 206141652992U);
  EXPECT_EQ(file.kernels(), 1U);
  EXPECT_EQ(file.copies(trace::direction::h2d).device, devices[0].id);
  EXPECT_EQ(file.framework().device, devices[0].id);
  EXPECT_THAT(file.messages(), Not(HasSubstr("version")));
}

TEST(foreign_work, intels_copies_and_calls_have_other_names) {
  BRING("w13-xpu-trace.json", file);
  EXPECT_EQ(file.copies(trace::direction::h2d).bytes, 1048576);
  EXPECT_EQ(file.copies(trace::direction::d2h).bytes, 524288);
  EXPECT_EQ(file.calls(), 3U);
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_NE(kernels[0].call, trace::event_id::none);
}

TEST(foreign_work, equal_correlation_ids_of_two_ranks_join_nothing_wrong) {
  BRING("m06-merged-ranks-same-correlation.json", file);
  const auto calls = file.rows<trace::api_call_event>();
  for (const auto& kernel : file.rows<trace::kernel_event>()) {
    if (kernel.call == trace::event_id::none) continue;
    const auto call = std::find_if(calls.begin(), calls.end(), [&](const auto& c) { return c.id == kernel.call; });
    ASSERT_NE(call, calls.end());
    EXPECT_EQ(call->time, file.text(kernel.name) == "r0" ? 0 : us);
  }
  EXPECT_THAT(file.messages(), HasSubstr("that calls of several processes may have requested"));
}

TEST(foreign_work, old_arrows_from_calls_to_work_are_known) {
  BRING("m07-old-arrows.json", file);
  EXPECT_EQ(to_number(file.imported().read, "arrow ends from calls to work, replaced by correlation ids"), 4U);
  EXPECT_THAT(file.messages(), Not(HasSubstr("arrow ends without")));
}

// --- broken documents -----------------------------------------------------------------------------------------------

TEST(foreign_documents, a_quote_too_many_costs_one_event) {
  BRING("w11-odd-quote.json", file);
  EXPECT_EQ(file.ranges() + file.kernels(), 41U);
  EXPECT_EQ(to_number(file.imported().not_understood, "events that are not JSON"), 1U);
  EXPECT_THAT(file.messages(), HasSubstr("broken events were skipped in the imported file: 1"));
}

TEST(foreign_documents, a_quote_too_few_costs_one_event) {
  BRING("w11b-trailing-backslash.json", file);
  EXPECT_EQ(file.ranges() + file.kernels(), 40U);
  EXPECT_EQ(to_number(file.imported().not_understood, "events that are not JSON"), 1U);
}

TEST(foreign_documents, a_path_of_windows_is_a_name) {
  BRING("m08-windows-path.json", file);
  EXPECT_EQ(file.range("C:\\Users\\x\\private\\net.py(3): forward").count, 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "events that are not JSON"), 0U);
}

TEST(foreign_documents, two_in_a_file_are_both_read) {
  BRING("w17-two-documents.json", file);
  EXPECT_EQ(file.kernels(), 2U);
  EXPECT_THAT(file.messages(), HasSubstr("has 2 consecutive documents"));
}

TEST(foreign_documents, a_comma_may_come_first) {
  BRING("m12-leading-comma.json", file);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.kernels(), 1U);
  EXPECT_EQ(file.copies(trace::direction::h2d).count, 1U);
  EXPECT_EQ(file.calls(), 1U);
}

TEST(foreign_documents, a_gzip_file_that_is_cut_off_gives_what_was_before) {
  BRING("m02-truncated.json.gz", file);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_GT(file.ranges(), 10U);
  EXPECT_THAT(file.messages(), HasSubstr("the gzip file is cut off"));
  EXPECT_THAT(file.imported().messages,
              ::testing::ElementsAre(HasSubstr("the imported file is cut off"), HasSubstr("the gzip file is cut off")));
}

// --- attribution to lines -------------------------------------------------------------------------------------------

/// Bytes of framework blocks, by the line to which each stack is attributed.
std::map<std::string, std::uint64_t> bytes_by(symbols::attribution by, const brought_file& file) {
  const auto snapshot = file.file().latest();
  symbols::frame_cache book;
  symbols::attributor who(book, snapshot->tables(), symbols::frame_cache::lookup::at_once);
  std::map<std::string, std::uint64_t> totals;
  for (const auto& row : file.rows<trace::alloc_event>())
    if (row.layer == trace::layer::framework)
      totals[symbols::format_place_and_name(book.line(who.of(row.stack, by)))] += row.bytes;
  return totals;
}

using bytes_by_name = std::map<std::string, std::uint64_t>;

TEST(foreign_lines, of_windows_are_the_programs) {
  BRING("r06-windows-paths.pickle", file);
  EXPECT_EQ(bytes_by(symbols::attribution::line, file),
            (bytes_by_name{{"nets\\model.py:39, forward", 96 * mib}, {"nets\\model.py:53, silu", 32 * mib}}));
  EXPECT_EQ(bytes_by(symbols::attribution::package, file),
            (bytes_by_name{{"einops", 96 * mib}, {"the program", 32 * mib}}));
}

TEST(foreign_lines, that_called_generated_code_asked_for_its_memory) {
  BRING("r27-generated-code.pickle", file);
  EXPECT_EQ(bytes_by(symbols::attribution::line, file), (bytes_by_name{{"proj/part0.py:9, main", 2 * mib},
                                                                       {"proj/part1.py:10, main", 3 * mib},
                                                                       {"proj/part2.py:11, main", 4 * mib},
                                                                       {"proj/part3.py:12, main", 5 * mib}}));
}

TEST(foreign_lines, that_generated_code_was_made_from_asked_for_its_memory) {
  BRING("r23-fx-frames.pickle", file);
  EXPECT_EQ(bytes_by(symbols::attribution::line, file), (bytes_by_name{{"w/net.py:33, forward", 8388600}}));
  EXPECT_TRUE(file.imported().not_understood.empty());
}

// --- exports --------------------------------------------------------------------------------------------------------

TEST(foreign_exports, migrations_are_copies_of_a_chrome_trace) {
  BRING("w18-nsys-migrations-chrome-export.sqlite", file);
  const brought_file again = file.exported_as("chrome");
  EXPECT_EQ(again.rows<trace::transfer_event>().size(), 3U);
  EXPECT_EQ(again.copies(trace::direction::h2d).bytes, 65536 + 131072);
  EXPECT_EQ(again.copies(trace::direction::d2h).bytes, 65536);
}

TEST(foreign_exports, say_what_the_format_has_no_place_for) {
  BRING("w18-nsys-migrations-chrome-export.sqlite", file);
  std::vector<std::string> notes;
  static_cast<void>(file.exported_as("torch-snapshot", &notes));
  EXPECT_THAT(notes, ::testing::Contains(HasSubstr("not supported by the format and omitted: 3 migrations, 1 kernel")));
}

TEST(foreign_exports, memory_from_before_survives_a_snapshot) {
  BRING("w19-kineto-base-block-snapshot-export.json", file);
  EXPECT_EQ(file.framework().maximum, 8000U);
  EXPECT_EQ(file.framework().at_end, 3000U);
  for (const char* format : {"torch-snapshot", "chrome"}) {
    const brought_file again = file.exported_as(format);
    ASSERT_TRUE(again.is_read()) << again.refusal();
    EXPECT_EQ(again.framework().maximum, 8000U) << format;
    EXPECT_EQ(again.framework().at_end, 3000U) << format;
    EXPECT_EQ(again.framework().at_begin, 8000U) << format;
  }
}

TEST(foreign_exports, blocks_without_addresses_stay_apart) {
  BRING("r09-memory-without-addr-exported.json", file);
  EXPECT_EQ(file.framework().maximum, 9 * mib);
  for (const char* format : {"torch-snapshot", "chrome"}) {
    const brought_file again = file.exported_as(format);
    ASSERT_TRUE(again.is_read()) << again.refusal();
    EXPECT_EQ(again.framework().maximum, 9 * mib) << format;
    EXPECT_EQ(again.framework().at_begin, 0U) << format;
    EXPECT_EQ(again.framework().frees, 5U) << format;
    EXPECT_EQ(again.framework().at_end, 0U) << format;
  }
}

// --- unsupported input ----------------------------------------------------------------------------------------------

TEST(foreign_refusals, say_what_the_file_is_and_what_to_do) {
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"m01-not-a-trace.json", {"without \"traceEvents\""}},
      {"m01b-speedscope.json", {"speedscope profile"}},
      {"m03-nvprof.sqlite", {"nvprof", "nsys export --type sqlite"}},
      {"m04-rmm-debug-log.txt", {"RMM's debug log", "logging_resource_adaptor"}},
      {"r26j-rmm-2019.csv", {"event log of RMM", "rmm.enable_logging"}},
      {"r26k-nsys.jsonl", {"JSON lines", "nsys export --type sqlite"}},
      {"r26l-nsys-stats.csv", {"table of nsys stats", "nsys export --type sqlite"}},
  };
  for (const auto& [name, words] : cases) {
    const auto path = testing::shared_case(name);
    if (!path) GTEST_SKIP() << "there is no shared/cases/" << name;
    const brought_file file(*path);
    EXPECT_FALSE(file.is_read()) << name;
    for (const char* word : words) EXPECT_THAT(file.refusal(), HasSubstr(word)) << name;
  }
}

// --- equal times, GPUs, copies, messages ------------------------------------------------------------------------------

TEST(foreign_memory, an_allocation_and_its_free_may_have_one_time) {
  BRING("r08-same-microsecond.pickle", snapshot);
  EXPECT_EQ(snapshot.framework().maximum, 41943040U);
  BRING("r08b-rmm-same-microsecond.csv", log);
  EXPECT_EQ(log.framework().maximum, 1052672U);
  BRING("r08c-kineto-same-microsecond.json", trace);
  EXPECT_EQ(trace.framework().maximum, 1052672U);
}

TEST(foreign_gpus, are_matched_with_their_nodes) {
  BRING("r10-rocm-properties-last.json", last);
  ASSERT_EQ(last.file().latest()->tables().devices.rows().size(), 1U);
  EXPECT_EQ(last.kernels(), 1U);
  EXPECT_EQ(last.copies(trace::direction::h2d).bytes, 8192);
  EXPECT_EQ(last.framework().maximum, 2097152U);
  BRING("r11-rocm-node9-of-8.json", eight);
  const auto& devices = eight.file().latest()->tables().devices;
  EXPECT_EQ(devices.rows().size(), 8U);
  EXPECT_EQ(devices.find(eight.rows<trace::kernel_event>().at(0).device)->ordinal, 7);
}

TEST(foreign_copies, of_which_rocm_says_host_are_not_called_pageable) {
  BRING("r12-rocm-host-side.json", file);
  EXPECT_FALSE(file.finds(finding_kind::pageable_copies));
  for (const auto& part : file.copies(trace::direction::h2d).parts) EXPECT_NE(part.host_side, trace::memory_kind::host);
}

TEST(foreign_copies, without_a_size_are_said) {
  BRING("r13-copy-without-bytes.json", file);
  EXPECT_THAT(file.messages(), HasSubstr("1 copies and memsets whose size is not in the file"));
}

TEST(foreign_copies, of_a_graph_that_are_reported_twice_count_once) {
  BRING("r16-graph-copy-twice.sqlite", file);
  EXPECT_EQ(file.copies(trace::direction::d2d).bytes, 536870912);
  EXPECT_EQ(file.copies(trace::direction::d2d).count, 1U);
}

TEST(foreign_gpus, of_two_processes_have_their_own_numbers) {
  BRING("r15-two-processes-device0.sqlite", file);
  std::vector<std::int64_t> ordinals;
  for (const auto& each : file.file().latest()->tables().devices.rows()) ordinals.push_back(each.ordinal);
  EXPECT_EQ(ordinals, (std::vector<std::int64_t>{0, 1}));
}

TEST(foreign_messages, say_why_nothing_is_there) {
  BRING("r17-graph-trace-only.sqlite", graphs);
  EXPECT_THAT(graphs.messages(), HasSubstr("only 10 graph launches, which ran for 10.0 ms"));
  BRING("r18-nsys-diagnostics.sqlite", diagnostics);
  EXPECT_THAT(diagnostics.messages(), HasSubstr("Not one CUDA event was seen in the program."));
  EXPECT_THAT(diagnostics.messages(), HasSubstr("The driver here is older than this profiler needs."));
  EXPECT_THAT(diagnostics.messages(), Not(HasSubstr("not understood")));
}

TEST(foreign_memory, is_of_the_line_that_ran) {
  BRING("r22-kineto-python-memory.json", file);
  ASSERT_EQ(file.rows<trace::alloc_event>().size(), 1U);
  const auto& tables = file.file().latest()->tables();
  std::vector<std::string> lines;
  for (auto id = file.rows<trace::alloc_event>()[0].stack; const trace::stack_row* at = tables.stacks.find(id);
       id = at->parent) {
    const trace::frame_row& frame = *tables.frames.find(at->frame);
    if (frame.line != 0) lines.push_back(file.text(frame.file) + ":" + std::to_string(frame.line));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"net.py:33", "run.py:9"}));
}

TEST(foreign_json, begins_with_its_first_event) {
  BRING("r25-earliest-event-last.json.gz", file);
  trace::time_ns first = INT64_MAX;
  for (const auto& each : file.rows<trace::host_range_event>()) first = std::min(first, each.time);
  EXPECT_EQ(first, 0);
}

}  // namespace
}  // namespace sluice::importing::foreign_cases
