// Small inputs with oddities that other tools write: the metrics stay right, and unreadable parts are counted.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/core/import/brought_file.hpp"
#include "tests/core/import/shared_traces.hpp"
#include "tests/core/import/snapshot_of.hpp"

namespace sluice::importing::foreign_metrics {
namespace {

using nlohmann::json;
using testing::brought_file;
using testing::entry;
using testing::get_segment;
using ::testing::HasSubstr;
using testing::pickled;
using testing::select_block;
using testing::to_number;

constexpr std::uint64_t mib = 1 << 20;
constexpr std::int64_t t0 = 1'700'000'000'000'000;  // us
constexpr trace::time_ns us = 1000;

std::string event(int number) {
  return R"({"ph":"X","name":"op)" + std::to_string(number) + R"(","pid":1,"tid":1,"ts":)" +
         std::to_string(t0 + 10 * number) + R"(,"dur":5,"args":{"External id":1}})";
}

/// A document of `count` events. `replaced`: the text to write instead of the events with these numbers.
std::string document(int count, const std::vector<std::pair<int, std::string>>& replaced, bool in_object = true) {
  std::string text = in_object ? R"({"schemaVersion":1,"traceEvents":[)" : "[";
  for (int i = 0; i < count; ++i) {
    std::string one = event(i);
    for (const auto& [at, by] : replaced)
      if (at == i) one = by;
    text += (i == 0 ? "" : ",") + one;
  }
  return text + (in_object ? R"(],"displayTimeUnit":"ms"})" : "]");
}

// --- one bad event costs only that event ----------------------------------------------------------------------------

TEST(foreign_json, one_bad_character_costs_one_event_wherever_it_is) {
  const std::string broken[] = {
      R"({"ph":"X","name":"he said " fine","pid":1,"tid":1,"ts":1,"dur":5})",   // an extra quote
      R"({"ph":"X","name":"he said fine,"pid":1,"tid":1,"ts":1,"dur":5})",      // a missing quote
      R"({"ph":"X","name":"C:\tmp\","pid":1,"tid":1,"ts":1,"dur":5})",          // an escaped closing quote
      R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":5,"args":{"x":1})",  // a missing bracket
      R"({"ph":"X","name":"a","pid":1,"tid":1 "ts":1,"dur":5})",                // a missing comma
  };
  for (const bool in_object : {true, false}) {
    for (const int size : {10, 8000}) {  // in one piece, and in several
      for (const int at : {0, size / 2, size - 2}) {
        for (const std::string& bad : broken) {
          const brought_file file("trace.json", document(size, {{at, bad}}, in_object));
          ASSERT_TRUE(file.is_read()) << file.refusal() << bad;
          EXPECT_EQ(file.ranges(), static_cast<std::size_t>(size) - 1) << bad << " at " << at << " of " << size;
          EXPECT_EQ(to_number(file.imported().not_understood, "events that are not JSON"), 1U) << bad;
        }
      }
    }
  }
}

TEST(foreign_json, several_bad_events_cost_as_many) {
  const std::string bad = R"({"ph":"X","name":"he said " fine","pid":1,"tid":1,"ts":1,"dur":5})";
  const brought_file file("trace.json", document(100, {{10, bad}, {11, bad}, {50, bad}}));
  EXPECT_EQ(file.ranges(), 97U);
  EXPECT_EQ(to_number(file.imported().not_understood, "events that are not JSON"), 3U);
}

TEST(foreign_json, a_bracket_too_many_costs_nothing) {
  for (const char* bad : {"}", "]"}) {
    const brought_file file("trace.json", document(20, {{7, event(7) + bad}}));
    ASSERT_TRUE(file.is_read()) << file.refusal();
    EXPECT_EQ(file.ranges(), 20U) << bad;
  }
}

TEST(foreign_json, a_line_break_in_a_name_is_a_blank) {
  const brought_file file("trace.json",
                          document(3, {{1, "{\"ph\":\"X\",\"name\":\"two\nlines\",\"pid\":1,\"tid\":1,\"ts\":" +
                                               std::to_string(t0) + ",\"dur\":1}"}}));
  EXPECT_EQ(file.range("two lines").count, 1U);
}

TEST(foreign_json, events_may_stand_on_lines_of_their_own) {
  const brought_file file("trace.json", event(0) + "\n" + event(1) + "\n" + event(2) + "\n");
  EXPECT_EQ(file.ranges(), 3U);
}

TEST(foreign_json, documents_may_follow_one_another) {
  const brought_file arrays("trace.json", "[" + event(0) + "]\n[" + event(1) + "]");
  EXPECT_EQ(arrays.ranges(), 2U);
  EXPECT_THAT(arrays.messages(), HasSubstr("2 consecutive documents"));
  const brought_file objects("trace.json", document(2, {}) + document(3, {}) + document(4, {}));
  EXPECT_EQ(objects.ranges(), 9U);
  const brought_file followed("trace.json", document(2, {}) + "\nkilled by signal 9\n");
  ASSERT_TRUE(followed.is_read()) << followed.refusal();
  EXPECT_EQ(followed.ranges(), 2U);
  EXPECT_THAT(followed.messages(), HasSubstr("is not JSON"));
}

TEST(foreign_json, what_is_no_trace_is_refused) {
  for (const char* text : {"{}", R"({"a":1})", R"([{"name":"x"},{"name":"y"}])", R"({"traceEvents_":[{"ph":"X"}]})"}) {
    const brought_file file("thing.json", text);
    EXPECT_FALSE(file.is_read()) << text;
    EXPECT_THAT(file.refusal(), HasSubstr("is a JSON")) << text;
  }
  EXPECT_TRUE(brought_file("empty.json", R"({"traceEvents":[]})").is_read());
  EXPECT_TRUE(brought_file("empty.json", "[]").is_read());
}

TEST(foreign_json, times_that_cannot_be_do_not_stretch_the_span) {
  const auto at = [](const std::string& ts, const std::string& dur) {
    return R"({"ph":"X","name":"bad","pid":1,"tid":1,"ts":)" + ts + R"(,"dur":)" + dur + "}";
  };
  for (const char* ts : {"0", "-5000000", "1", "-9223372036854775.808", "9223372036854775.807"}) {
    const brought_file file("trace.json", document(5, {{1, at(ts, "0")}, {3, at(ts, "5")}}));
    EXPECT_EQ(file.report().span.length(), 45 * us + 1) << ts;
    EXPECT_EQ(file.ranges(), 3U) << ts;
  }
  for (const char* dur : {"9223370336854775.8", "9223372036854775.808", "1e18", "-9223372036854775.808"}) {
    const brought_file file("trace.json", document(5, {{1, at(std::to_string(t0 + 10), dur)}}));
    EXPECT_EQ(file.report().span.length(), 45 * us + 1) << dur;
    EXPECT_EQ(file.ranges(), 5U) << dur;
    EXPECT_EQ(file.imported().not_understood.size(), 2U) << dur;  // The duration and the arguments.
  }
}

TEST(foreign_json, ends_may_stand_before_begins) {
  const auto one = [](const char* phase, int ts, const char* more) {
    return std::string(R"({"cat":"c","name":"a","pid":1,"tid":1,"ph":")") + phase + R"(","ts":)" + std::to_string(ts) +
           more + "}";
  };
  const brought_file threads("trace.json", "[" + one("E", 90, "") + "," + one("E", 50, "") + "," + one("B", 20, "") +
                                               "," + one("B", 10, "") + "]");
  EXPECT_EQ(threads.range("a").count, 2U);
  EXPECT_EQ(threads.range("a").total, (80 + 30) * us);
  EXPECT_TRUE(threads.imported().not_understood.empty());
  const brought_file stray("trace.json", "[" + one("E", 5, "") + "," + one("B", 10, "") + "," + one("E", 20, "") + "]");
  EXPECT_EQ(stray.range("a").total, 10 * us);
  EXPECT_EQ(to_number(stray.imported().not_understood, "range ends without a start"), 1U);
}

// --- memory ---------------------------------------------------------------------------------------------------------

std::string instant(int at, std::int64_t bytes, const std::string& more) {
  return R"({"ph":"i","s":"t","name":"[memory]","pid":4,"tid":5,"ts":)" + std::to_string(t0 + at) +
         R"(,"args":{"Bytes":)" + std::to_string(bytes) + R"(,"Device Id":0,"Device Type":1)" + more + "}}";
}

TEST(foreign_memory_metrics, frees_without_an_address_and_without_a_block_of_their_size_are_from_before) {
  const brought_file file("trace.json",
                          "[" + instant(1, 1000, "") + "," + instant(2, -5000, "") + "," + instant(3, -1000, "") + "]");
  EXPECT_EQ(file.framework().at_begin, 5000U);
  EXPECT_EQ(file.framework().maximum, 6000U);
  EXPECT_EQ(file.framework().at_end, 0U);
}

TEST(foreign_memory_metrics, what_is_freed_at_the_first_moment_was_there) {
  const brought_file chrome("trace.json",
                            "[" + instant(0, -700, R"(,"Addr":4096,"Total Allocated":0,"Total Reserved":0)") + "]");
  EXPECT_EQ(chrome.framework().at_begin, 700U);
  EXPECT_EQ(chrome.framework().maximum, 700U);
  const brought_file rmm("rmm.csv",
                         "Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000000,free,0x100,512,0x0\n"
                         "1,10:00:00.000001,allocate,0x100,64,0x0\n");
  EXPECT_EQ(rmm.framework().at_begin, 512U);
  EXPECT_EQ(rmm.framework().maximum, 512U);
  EXPECT_EQ(rmm.framework().at_end, 64U);
}

TEST(foreign_memory_metrics, what_comes_at_the_first_moment_was_not_there) {
  const brought_file rmm("rmm.csv",
                         "Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000000,allocate,0x100,512,0x0\n"
                         "1,10:00:00.000001,allocate,0x200,64,0x0\n");
  EXPECT_EQ(rmm.framework().at_begin, 0U);
  EXPECT_EQ(rmm.framework().allocated_bytes, 576U);
  EXPECT_EQ(rmm.framework().at_end, 576U);
}

json expandable(json entries, json segments) {
  return json{{"segments", std::move(segments)}, {"device_traces", {std::move(entries)}}};
}

TEST(foreign_memory_metrics, blocks_over_many_mappings_fill_them) {
  json entries;
  for (std::uint64_t i = 0; i < 8; ++i)
    entries.push_back(entry("segment_map", (100 + 20 * i) * mib, 20 * mib, t0 + static_cast<std::int64_t>(i)));
  entries.push_back(entry("alloc", 100 * mib, 90 * mib, t0 + 10));
  entries.push_back(entry("alloc", 190 * mib, 69 * mib, t0 + 11));
  const brought_file file("snapshot.pickle", pickled(expandable(entries, json::array())));
  ASSERT_EQ(file.report().fragmentation.size(), 1U);
  EXPECT_EQ(file.report().fragmentation[0].segments, 1U);
  EXPECT_EQ(file.report().fragmentation[0].segment_bytes, 160 * mib);
  EXPECT_EQ(file.report().fragmentation[0].free_bytes, mib);
}

TEST(foreign_memory_metrics, mappings_of_two_streams_are_two_segments_though_they_touch) {
  const json other = {{"stream", 7}};
  const brought_file file(
      "snapshot.pickle",
      pickled(expandable({entry("segment_map", 100 * mib, 20 * mib, t0), entry("alloc", 100 * mib, 20 * mib, t0 + 1),
                          entry("segment_map", 120 * mib, 20 * mib, t0 + 2, other),
                          entry("alloc", 120 * mib, 10 * mib, t0 + 3, other)},
                         json::array())));
  ASSERT_EQ(file.report().fragmentation.size(), 1U);
  EXPECT_EQ(file.report().fragmentation[0].segments, 2U);
  EXPECT_EQ(file.report().fragmentation[0].free_bytes, 10 * mib);
}

TEST(foreign_memory_metrics, who_uses_expandable_segments_is_not_advised_to) {
  json entries = {entry("segment_map", 1000 * mib, 1000 * mib, t0)};
  for (std::uint64_t i = 0; i < 4; ++i)
    entries.push_back(entry("alloc", (1000 + 200 * i) * mib, 100 * mib, t0 + 1 + static_cast<std::int64_t>(i)));
  const brought_file mapped("snapshot.pickle", pickled(expandable(entries, json::array())));
  entries[0]["action"] = "segment_alloc";
  const brought_file allocated("snapshot.pickle", pickled(expandable(entries, json::array())));
  const auto advice = [](const brought_file& file) {
    for (const auto& each : file.report().findings)
      if (each.kind == metrics::finding_kind::fragmentation) return each.advice;
    return std::string("no finding");
  };
  EXPECT_EQ(advice(mapped), "Allocate long-lived blocks first.");
  EXPECT_THAT(advice(allocated), HasSubstr("expandable segments"));
}

TEST(foreign_memory_metrics, an_entry_at_time_zero_does_not_stretch_the_span) {
  const brought_file file("snapshot.pickle",
                          pickled(expandable({entry("alloc", mib, 512, t0), entry("alloc", 2 * mib, 512, 0),
                                              entry("alloc", 3 * mib, 512, t0 + 100)},
                                             json::array())));
  EXPECT_EQ(file.report().span.length(), 100 * us + 1);
  EXPECT_EQ(file.framework().maximum, 1536U);
  EXPECT_EQ(to_number(file.imported().not_understood, "entries with an impossible time; estimated from their order"),
            1U);
}

TEST(foreign_memory_metrics, addresses_and_streams_above_2_to_the_63_are_kept) {
  constexpr std::uint64_t high = 18446720620317114368U;
  const json on_high = {{"stream", std::uint64_t{18446720620317000000U}}};
  const json segments = {
      get_segment(high, 20 * mib, {select_block(high, 8 * mib, 8 * mib, "active_allocated")}, on_high)};
  const brought_file file("snapshot.pickle", pickled(expandable({entry("segment_alloc", high, 20 * mib, t0, on_high),
                                                                 entry("alloc", high, 8 * mib, t0 + 1, on_high)},
                                                                segments)));
  EXPECT_TRUE(file.imported().not_understood.empty());
  EXPECT_EQ(file.framework().at_end, 8 * mib);
  EXPECT_EQ(file.rows<trace::alloc_event>().at(0).address, high);
  EXPECT_EQ(file.file().latest()->tables().streams.rows().at(0).handle, 18446720620317000000U);
}

// --- everywhere -----------------------------------------------------------------------------------------------------

/// In any range of any recording, use at the start plus allocations minus frees equals use at the end.
void expect_balance(const trace::file& file, const std::string& name) {
  const auto snapshot = file.latest();
  index::growing_index index;
  while (!index.absorb(*snapshot, 1000)) {
  }
  const time_range span = index::recorded_range(*snapshot);
  for (int part = 0; part < 9; ++part) {
    const trace::time_ns step = span.length() / 8;
    const time_range range = part == 8 ? span : time_range{span.begin + part * step, span.begin + (part + 1) * step};
    if (range.length() <= 0) continue;
    for (const auto& each : metrics::measure(index, snapshot->tables(), range).memory) {
      EXPECT_EQ(each.at_begin + each.allocated_bytes, each.at_end + each.freed_bytes) << name << " part " << part;
      EXPECT_GE(each.maximum, each.at_end) << name << " part " << part;
      EXPECT_TRUE(part != 8 || each.maximum >= each.at_begin) << name;
    }
  }
}

TEST(foreign_balance, holds_for_every_file_that_is_at_hand) {
  namespace fs = std::filesystem;
  const fs::path tree = SLUICE_SOURCE_DIR;
  for (const fs::path& folder : {tree / "tests/core/import/samples", tree.parent_path() / "shared/cases",
                                 tree.parent_path() / "shared/traces"}) {
    std::error_code missing;
    for (const auto& each : fs::directory_iterator(folder, missing)) {
      if (const auto opened = open_any(each.path().string())) expect_balance(**opened, each.path().filename().string());
    }
  }
}

// --- unsupported input ----------------------------------------------------------------------------------------------

TEST(foreign_formats, are_named_with_what_to_do) {
  using namespace std::string_literals;
  const std::tuple<const char*, std::string, const char*, const char*> files[] = {
      {"trace.nsys-rep", "\x01\x02\x03 whatever is in it"s, "Nsight Systems", "nsys export --type sqlite"},
      {"trace.qdrep", "\x01\x02\x03 whatever is in it"s, "Nsight Systems", "nsys export --type sqlite"},
      {"a.ncu-rep", "NVR\0...."s, "Nsight Compute", "Nsight Systems"},
      {"a.zip", "PK\x03\x04\x14\0\0\0\0\0 trace.json"s, "zip archive", "unpack"},
      {"model.pt", "PK\x03\x04\0\0\0\0\0\0 model/data.pkl"s, "torch.save", "_dump_snapshot"},
      {"a.zst", "\x28\xb5\x2f\xfd...."s, "zstd", "zstd -d"},
      {"a.xz", "\xfd"s + "7zXZ\0...."s, "xz", "xz -d"},
      {"a.log", "[info][77][15:39:53:785777] ----- RMM LOG BEGIN [PTDS DISABLED] -----\n"s, "RMM's debug log",
       "logging_resource_adaptor"},
      {"b.log", "[ 1457][15:39:53:785887][error ] [A][Stream 0x1][Upstream 12452B][FAILURE maximum pool size]\n"s,
       "RMM's debug log", "logging_resource_adaptor"},
      {"a.json", "\xff\xfe[\0{\0"s, "UTF-16", "iconv"},
      {"a.html", "<!DOCTYPE html><html>"s, "web page", "download"},
      {"a.pftrace", "\x0a\x10...."s, "Perfetto", "traceconv"},
  };
  for (const auto& [name, content, subject, advice] : files) {
    const brought_file file(name, content);
    EXPECT_FALSE(file.is_read()) << name;
    EXPECT_THAT(file.refusal(), HasSubstr(subject)) << name;
    EXPECT_THAT(file.refusal(), HasSubstr(advice)) << name;
  }
}

TEST(foreign_formats, a_damaged_gzip_file_gives_what_was_before_the_damage) {
  const testing::own_folder folder;
  const std::string whole = testing::read_file(folder.write_gzip("whole", document(2000, {})));
  std::string wrong_sum = whole;
  wrong_sum[whole.size() - 6] ^= 0x55;
  const brought_file checked("trace.json.gz", wrong_sum);
  ASSERT_TRUE(checked.is_read()) << checked.refusal();
  EXPECT_EQ(checked.ranges(), 2000U);
  EXPECT_THAT(checked.messages(), HasSubstr("does not inflate"));
  const brought_file cut("trace.json.gz", whole.substr(0, whole.size() * 2 / 3));
  ASSERT_TRUE(cut.is_read()) << cut.refusal();
  EXPECT_GT(cut.ranges(), 500U);
  EXPECT_THAT(cut.messages(), HasSubstr("the gzip file is cut off"));
}

}  // namespace
}  // namespace sluice::importing::foreign_metrics
