// Chrome's trace format: how each kind of event is imported, in both document shapes, and how malformed input is
// handled.
#include <gmock/gmock.h>

#include "tests/core/import/files.hpp"

namespace sluice::importing::chrome_json {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using testing::get_rows;
using ::testing::HasSubstr;
using testing::to_number;

/// A document and its imported trace.
class imported {
 public:
  explicit imported(std::string_view document, bool compressed = false) {
    const std::string path = compressed ? folder_.write_gzip("in.json", document) : folder_.write("in.json", document);
    const std::string out = folder_.file("out.sluice");
    outcome = import_file(path, out);
    if (!outcome) return;
    auto opened = trace::file::open(out);
    EXPECT_TRUE(opened);
    if (opened) file = *opened;
  }

  template <class Row>
  [[nodiscard]] std::vector<Row> rows() const {
    if (file == nullptr) return {};
    auto whole = get_rows<Row>(*file);
    if constexpr (requires(Row row) { row.time; }) {
      std::stable_sort(whole.begin(), whole.end(), [](const Row& a, const Row& b) { return a.time < b.time; });
    }
    return whole;
  }
  [[nodiscard]] std::string text(trace::string_id id) const { return std::string(file->latest()->tables().text(id)); }
  [[nodiscard]] const trace::tables& tables() const { return file->latest()->tables(); }
  [[nodiscard]] std::uint64_t lost(std::string_view subject) const {
    return outcome ? to_number(outcome->not_understood, subject) : 0;
  }

  result<report> outcome;
  std::shared_ptr<trace::file> file;

 private:
  testing::own_folder folder_;
};

std::string in_object(const std::string& events) { return R"({"traceEvents": [)" + events + "]}"; }

TEST(chrome_json, reads_an_array_an_object_and_an_array_without_its_end) {
  const std::string event = R"({"ph":"X","name":"work","pid":1,"tid":2,"ts":10,"dur":5})";
  for (const std::string& document :
       {"[" + event + "]", in_object(event), "[" + event, "[" + event + ",\n", "\xef\xbb\xbf [" + event + "]",
        R"({"a":{"traceEvents":[1]},"traceEvents":[)" + event + R"(],"otherData":{"x":[1,{"y":"}"}]}})"}) {
    const imported import_result(document);
    ASSERT_TRUE(import_result.outcome) << document << import_result.outcome.error().to_string();
    const auto ranges = import_result.rows<trace::host_range_event>();
    ASSERT_EQ(ranges.size(), 1U) << document;
    EXPECT_EQ(import_result.text(ranges[0].name), "work");
    EXPECT_EQ(ranges[0].end - ranges[0].time, 5000);
  }
}

TEST(chrome_json, times_are_decimals_and_never_doubles) {
  // The nearest doubles are microseconds away from these values.
  const imported import_result(
      in_object(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":4320677463303514.123,"dur":0.001},)"
                R"({"ph":"X","name":"b","pid":1,"tid":1,"ts":4320677463303514.1244,"dur":1e-2},)"
                R"({"ph":"X","name":"c","pid":1,"tid":1,"ts":"4320677463303514.1246","dur":1.5E1})"));
  const auto ranges = import_result.rows<trace::host_range_event>();
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].end - ranges[0].time, 1);
  EXPECT_EQ(ranges[1].time - ranges[0].time, 1);
  EXPECT_EQ(ranges[1].end - ranges[1].time, 10);
  EXPECT_EQ(ranges[2].time - ranges[0].time, 2);
  EXPECT_EQ(ranges[2].end - ranges[2].time, 15000);
}

TEST(chrome_json, overlapping_ranges_of_a_thread_are_all_kept) {
  const imported import_result(in_object(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},)"
                                         R"({"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},)"
                                         R"({"ph":"X","name":"c","pid":1,"tid":1,"ts":5,"dur":10})"));
  EXPECT_EQ(import_result.rows<trace::host_range_event>().size(), 3U);
}

TEST(chrome_json, beginnings_and_ends_nest_per_thread) {
  const imported import_result(
      in_object(R"({"ph":"B","name":"outer","pid":1,"tid":1,"ts":0},{"ph":"B","name":"other","pid":1,"tid":2,"ts":1},)"
                R"({"ph":"B","name":"inner","pid":1,"tid":1,"ts":2},{"ph":"E","pid":1,"tid":1,"ts":3},)"
                R"({"ph":"E","pid":1,"tid":1,"ts":9},{"ph":"E","pid":1,"tid":1,"ts":9})"));
  const auto ranges = import_result.rows<trace::host_range_event>();
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(import_result.text(ranges[0].name), "outer");
  EXPECT_EQ(ranges[0].end - ranges[0].time, 9000);
  EXPECT_EQ(ranges[1].end, trace::unknown_time);
  EXPECT_EQ(import_result.text(ranges[2].name), "inner");
  EXPECT_EQ(ranges[2].end - ranges[2].time, 1000);
  EXPECT_EQ(import_result.lost("range ends without a start"), 1U);
  EXPECT_EQ(import_result.lost("ranges that never ended"), 1U);
}

TEST(chrome_json, asynchronous_ranges_belong_to_their_ids) {
  const imported import_result(in_object(R"({"ph":"b","cat":"io","name":"read","id":"0x1","pid":1,"tid":1,"ts":0},)"
                                         R"({"ph":"b","cat":"io","name":"read","id":"0x2","pid":1,"tid":1,"ts":1},)"
                                         R"({"ph":"n","cat":"io","name":"half","id":"0x2","pid":1,"tid":1,"ts":2},)"
                                         R"({"ph":"e","cat":"io","name":"read","id":"0x1","pid":1,"tid":9,"ts":3},)"
                                         R"({"ph":"e","cat":"io","name":"read","id":"0x2","pid":1,"tid":9,"ts":7})"));
  const auto ranges = import_result.rows<trace::host_range_event>();
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].end - ranges[0].time, 3000);
  EXPECT_EQ(ranges[1].end - ranges[1].time, 6000);
  EXPECT_EQ(ranges[0].thread, ranges[1].thread);
  EXPECT_EQ(import_result.rows<trace::marker_event>().size(), 1U);
}

TEST(chrome_json, counters_have_a_series_for_each_argument) {
  const imported import_result(
      in_object(R"({"ph":"C","name":"heap","pid":1,"ts":0,"args":{"used bytes":5,"free":-2.5}},)"
                R"({"args":{"used bytes":7,"free":"x"},"ph":"C","name":"heap","pid":1,"ts":1})"));
  ASSERT_EQ(import_result.tables().counters.rows().size(), 2U);
  const auto& used = import_result.tables().counters.rows()[0];
  EXPECT_EQ(import_result.text(used.name), "heap used bytes");
  EXPECT_EQ(used.unit, trace::counter_unit::bytes);
  const auto samples = import_result.rows<trace::counter_event>();
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[1].value, -2.5);
  EXPECT_EQ(samples[2].value, 7);
  EXPECT_EQ(import_result.lost("counter values that are not numbers"), 1U);
}

TEST(chrome_json, arrows_link_the_ranges_around_their_ends) {
  // The second arrow's end precedes its range in the file.
  const imported import_result(in_object(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},)"
                                         R"({"ph":"X","name":"in a","pid":1,"tid":1,"ts":2,"dur":4},)"
                                         R"({"ph":"s","cat":"x","name":"x","id":1,"pid":1,"tid":1,"ts":3},)"
                                         R"({"ph":"f","cat":"x","name":"x","id":2,"pid":1,"tid":2,"ts":21,"bp":"e"},)"
                                         R"({"ph":"X","name":"b","pid":1,"tid":2,"ts":20,"dur":10},)"
                                         R"({"ph":"f","cat":"x","name":"x","id":1,"pid":1,"tid":2,"ts":20,"bp":"e"},)"
                                         R"({"ph":"s","cat":"x","name":"x","id":2,"pid":1,"tid":1,"ts":8},)"
                                         R"({"ph":"s","cat":"x","name":"x","id":3,"pid":1,"tid":1,"ts":8})"));
  const auto ranges = import_result.rows<trace::host_range_event>();
  ASSERT_EQ(ranges.size(), 3U);
  auto links = import_result.rows<trace::link_event>();
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(links[1].kind, trace::link_kind::flow);
  EXPECT_EQ(links[1].from, ranges[1].id);
  EXPECT_EQ(links[1].to, ranges[2].id);
  EXPECT_EQ(links[0].from, ranges[0].id);
  EXPECT_EQ(links[0].to, ranges[2].id);
  EXPECT_EQ(import_result.lost("arrow ends without a range or a counterpart"), 1U);
}

TEST(chrome_json, names_of_processes_and_threads_may_come_last) {
  const imported import_result(
      in_object(R"({"ph":"X","name":"a","pid":"Main","tid":"UI","ts":0,"dur":1},)"
                R"({"ph":"X","name":"b","pid":7,"tid":8,"ts":0,"dur":1},)"
                R"({"ph":"M","name":"process_name","pid":7,"args":{"name":"server"}},)"
                R"({"ph":"M","name":"thread_name","pid":7,"tid":8,"args":{"name":"worker"}})"));
  std::vector<std::string> names;
  for (const auto& row : import_result.tables().processes.rows())
    names.push_back(import_result.text(row.command) + std::to_string(row.pid));
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("Main0", "server7"));
  names.clear();
  for (const auto& row : import_result.tables().threads.rows())
    names.push_back(import_result.text(row.name) + std::to_string(row.tid));
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("UI0", "worker8"));
}

TEST(kineto, work_finds_its_call_before_and_behind_it) {
  const std::string call =
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":4,"tid":5,"ts":1,"dur":2,"args":{"correlation":9}})";
  const std::string copy =
      R"j({"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":5,"dur":1,)j"
      R"("args":{"device":0,"context":1,"stream":7,"correlation":9,"bytes":1024}})";
  for (const std::string& events : {call + "," + copy, copy + "," + call}) {
    const imported import_result(in_object(events));
    const auto calls = import_result.rows<trace::api_call_event>();
    const auto copies = import_result.rows<trace::transfer_event>();
    ASSERT_EQ(calls.size(), 1U);
    ASSERT_EQ(copies.size(), 1U);
    EXPECT_EQ(copies[0].call, calls[0].id);
    EXPECT_EQ(copies[0].enqueued, calls[0].time);
    EXPECT_EQ(copies[0].thread, calls[0].thread);
    EXPECT_EQ(copies[0].bytes, 1024U);
    EXPECT_EQ(copies[0].direction, trace::direction::h2d);
    EXPECT_EQ(copies[0].source_kind, trace::memory_kind::pinned);
    EXPECT_EQ(copies[0].destination_kind, trace::memory_kind::device);
    EXPECT_TRUE(copies[0].asynchronous);
    EXPECT_EQ(import_result.tables().streams.rows().at(0).handle, 7U);
    EXPECT_EQ(import_result.tables().processes.rows().size(), 1U);
  }
}

TEST(kineto, arguments_may_come_before_what_says_what_they_are) {
  const imported import_result(
      in_object(R"({"args":{"grid":[3,2,1],"block":[64,1,1],"device":0,"stream":7,"registers per thread":8},)"
                R"("cat":"kernel","dur":1,"name":"k\u0041\"","ph":"X","pid":0,"tid":7,"ts":1})"));
  const auto kernels = import_result.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(import_result.text(kernels[0].name), "kA\"");
  EXPECT_EQ(kernels[0].grid_x, 3U);
  EXPECT_EQ(kernels[0].grid_y, 2U);
  EXPECT_EQ(kernels[0].block_x, 64U);
  EXPECT_EQ(kernels[0].registers, 8U);
}

std::string instant(int at, int address, int bytes, int allocated) {
  return R"({"ph":"i","s":"t","name":"[memory]","pid":4,"tid":5,"ts":)" + std::to_string(at) + R"(,"args":{"Addr":)" +
         std::to_string(address) + R"(,"Bytes":)" + std::to_string(bytes) + R"(,"Device Id":0,"Device Type":1,)" +
         R"("Total Allocated":)" + std::to_string(allocated) + R"(,"Total Reserved":4096}})";
}

TEST(kineto, memory_instants_are_blocks_in_order_of_time_whatever_the_files_order) {
  const imported import_result(in_object(instant(9, 100, -64, 512) + "," + instant(3, 100, 64, 576)));
  const auto allocs = import_result.rows<trace::alloc_event>();
  const auto frees = import_result.rows<trace::free_event>();
  ASSERT_EQ(allocs.size(), 2U);
  ASSERT_EQ(frees.size(), 1U);
  EXPECT_EQ(allocs[0].bytes, 64U);
  EXPECT_EQ(allocs[0].layer, trace::layer::framework);
  EXPECT_EQ(frees[0].block, allocs[0].block);
  // The totals include memory from before the recording, for which there is no instant event.
  EXPECT_EQ(allocs[1].bytes, 512U);
  EXPECT_EQ(allocs[1].source, trace::provenance::inferred);
  EXPECT_EQ(allocs[1].flags, trace::born_before);
  EXPECT_LE(allocs[1].time, allocs[0].time);
  const auto pools = import_result.rows<trace::pool_event>();
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[0].used, 576U);
  EXPECT_EQ(pools[1].used, 512U);
  EXPECT_EQ(pools[1].reserved, 4096U);
}

TEST(kineto, a_free_without_its_allocation_is_of_a_block_from_before) {
  const imported import_result(in_object(instant(3, 100, -64, 0)));
  const auto allocs = import_result.rows<trace::alloc_event>();
  ASSERT_EQ(allocs.size(), 1U);
  EXPECT_EQ(allocs[0].bytes, 64U);
  EXPECT_EQ(allocs[0].flags, trace::born_before);
  EXPECT_EQ(import_result.rows<trace::free_event>().at(0).block, allocs[0].block);
}

TEST(kineto, the_document_says_clock_devices_and_rank) {
  const imported import_result(
      R"({"baseTimeNanoseconds":1790857026000000000,"distributedInfo":{"backend":"nccl","rank":3},)"
      R"("deviceProperties":[{"id":0,"name":"NVIDIA H200","totalGlobalMem":150109880320,"computeMajor":9,"computeMinor":0}],)"
      R"("traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5.5,"dur":1}],"new thing":[1]})");
  EXPECT_EQ(import_result.file->latest()->realtime_origin(), 1790857026000005500);
  EXPECT_EQ(import_result.tables().processes.rows().at(0).rank, 3);
  EXPECT_EQ(import_result.text(import_result.tables().devices.rows().at(0).name), "NVIDIA H200");
  EXPECT_EQ(import_result.tables().devices.rows().at(0).memory_bytes, 150109880320U);
  EXPECT_EQ(import_result.lost("member 'new thing' of the document"), 1U);
}

TEST(kineto, members_that_are_nested_too_deep_are_counted_and_not_read) {
  const auto with = [](std::size_t levels) {
    return imported(R"({"distributedInfo":{"rank":3,"more":)" + std::string(levels, '[') + "1" +
                    std::string(levels, ']') +
                    R"(},"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5.5,"dur":1}]})");
  };
  const imported most = with(99);
  EXPECT_EQ(most.tables().processes.rows().at(0).rank, 3);
  EXPECT_TRUE(most.outcome->not_understood.empty());
  for (const std::size_t levels : {std::size_t{100}, std::size_t{100'000}}) {
    const imported deep = with(levels);
    EXPECT_EQ(deep.tables().processes.rows().at(0).rank, -1);
    EXPECT_EQ(deep.lost("member 'distributedInfo' is not JSON, or is nested too deeply"), 1U) << levels;
    EXPECT_EQ(deep.rows<trace::host_range_event>().size(), 1U);
  }
}

// --- malformed input ------------------------------------------------------------------------------------------------

TEST(chrome_json_broken, one_event_that_is_no_json_is_counted_and_the_others_are_read) {
  const std::string good = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1})";
  for (const std::string bad : {R"({"ph":"X","name":"a" "pid":1})", R"({"ph":"X",,})", R"({"ph":"X","name":nul})",
                                R"({"ph":"X","ts":{"a":[}}})"}) {
    const imported import_result(in_object(good + "," + bad + "," + good));
    ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
    EXPECT_EQ(import_result.rows<trace::host_range_event>().size(), 2U) << bad;
    ASSERT_EQ(import_result.outcome->not_understood.size(), 1U) << bad;
    EXPECT_EQ(import_result.outcome->not_understood[0].number, 1U);
  }
}

TEST(chrome_json_broken, times_beyond_what_ns_hold_are_counted) {
  for (const std::string time :
       {"9223372036854775808", "1e300", "-9223372036854775808", "99999999999999999999999", "NaN"}) {
    const imported import_result(in_object(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":)" + time + R"(,"dur":1})"));
    ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
    EXPECT_EQ(import_result.rows<trace::host_range_event>().size(), 0U);
    EXPECT_EQ(import_result.outcome->not_understood.size(), 1U) << time;
  }
}

TEST(chrome_json_broken, a_negative_duration_is_none_and_said) {
  const imported import_result(in_object(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":-3})"));
  const auto ranges = import_result.rows<trace::host_range_event>();
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].end, ranges[0].time);
  EXPECT_EQ(import_result.lost("events with a negative duration"), 1U);
}

TEST(chrome_json_broken, bytes_that_are_not_utf8_are_mended) {
  const imported import_result(in_object(R"({"ph":"X","name":"caf)"
                                         "\xff\xc3"
                                         R"(","pid":1,"tid":1,"ts":5,"dur":3})"));
  const auto ranges = import_result.rows<trace::host_range_event>();
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(import_result.text(ranges[0].name), "caf??");
}

TEST(chrome_json_broken, of_members_that_stand_twice_the_last_counts) {
  const imported import_result(in_object(R"({"ph":"X","name":"a","name":"b","pid":1,"tid":1,"ts":5,"ts":6,"dur":3})"));
  EXPECT_EQ(import_result.text(import_result.rows<trace::host_range_event>().at(0).name), "b");
}

TEST(chrome_json_broken, a_file_that_ends_too_early_gives_what_was_before) {
  const imported import_result(R"({"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":3},{"ph":"X","na)");
  EXPECT_EQ(import_result.rows<trace::host_range_event>().size(), 1U);
  EXPECT_EQ(import_result.lost("bytes of an event cut off by the end of the file"), 13U);
  EXPECT_THAT(testing::get_messages(*import_result.file),
              ::testing::Contains(HasSubstr("the imported file is cut off")));
}

TEST(chrome_json_broken, deep_nesting_needs_no_stack) {
  const std::string deep(3'000'000, '[');
  const imported open(in_object(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":3,"args":{"x":)" + deep));
  ASSERT_TRUE(open.outcome);
  const std::string closed = deep + std::string(deep.size(), ']');
  const imported whole(
      in_object(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":3,"args":{"x":)" + closed + "}}"));
  ASSERT_TRUE(whole.outcome);
  const imported member(R"({"otherData":)" + closed + R"(,"traceEvents":[]})");
  ASSERT_TRUE(member.outcome);
}

TEST(chrome_json_broken, an_event_without_end_is_an_error_that_names_its_place) {
  // An 80 MB string that compresses to almost nothing.
  const std::string bomb = R"([{"ph":"X","name":")" + std::string(std::size_t{80} << 20, 'a');
  const imported import_result(bomb, true);
  ASSERT_FALSE(import_result.outcome);
  EXPECT_EQ(import_result.outcome.error().code, error_code::corrupt);
  EXPECT_EQ(import_result.outcome.error().offset, 1U);
  EXPECT_THAT(import_result.outcome.error().to_string(), HasSubstr("longer than 64 MiB"));
}

TEST(chrome_json_broken, elements_that_are_no_events_are_counted) {
  const imported import_result(
      R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":3},null,7,"text",[1,{"x":2}],{},{"ph":"Q","ts":1}])");
  ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
  EXPECT_EQ(import_result.rows<trace::host_range_event>().size(), 1U);
  EXPECT_EQ(import_result.lost("elements that are not objects"), 4U);
  EXPECT_EQ(import_result.lost("events without a time"), 1U);
  EXPECT_EQ(import_result.lost("events of the phase 'Q'"), 1U);
}

TEST(chrome_json, long_documents_are_read_in_pieces_without_losing_an_event) {
  std::string events;
  for (int i = 0; i < 30000; ++i) {
    // Braces and quotes inside strings, at all distances from the edges of pieces.
    events += (i == 0 ? "" : ",") + std::string(R"({"ph":"X","name":"}]\\\" {[)") +
              std::string(static_cast<std::size_t>(i % 97), '\\') +
              std::string(static_cast<std::size_t>(i % 97), '\\') + R"(","pid":1,"tid":1,"dur":1,"ts":)" +
              std::to_string(i) + "}";
  }
  for (const bool compressed : {false, true}) {
    const imported import_result(in_object(events), compressed);
    ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
    const auto ranges = import_result.rows<trace::host_range_event>();
    ASSERT_EQ(ranges.size(), 30000U);
    EXPECT_TRUE(import_result.outcome->not_understood.empty());
    for (int i = 0; i < 30000; ++i) ASSERT_EQ(ranges[static_cast<std::size_t>(i)].time - ranges[0].time, i * 1000);
  }
}

}  // namespace
}  // namespace sluice::importing::chrome_json
