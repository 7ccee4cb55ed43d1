// PyTorch's memory in other formats than a pickle: snapshots as JSON and in SQLite, and memory timelines.
#include <gmock/gmock.h>

#include "tests/core/import/brought_case.hpp"
#include "tests/core/import/make_database.hpp"
#include "tests/core/import/snapshot_of.hpp"

namespace sluice::importing::torch_forms {
namespace {

using nlohmann::json;
using testing::brought_file;
using testing::entry;
using ::testing::HasSubstr;
using testing::to_number;

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t base = 0x7f00'0000'0000;

json frames() { return json::array({{{"filename", "/w/train.py"}, {"line", 10}, {"name", "main \"é\\\n"}}}); }

/// A snapshot with one segment, and blocks that share stacks.
json small_snapshot() {
  json history = json::array({entry("segment_alloc", base, 20 * mib, 1'000'000)});
  for (std::uint64_t i = 0; i < 4; ++i)
    history.push_back(
        entry("alloc", base + i * 2 * mib, 2 * mib, static_cast<std::int64_t>(1'000'001 + i), {{"frames", frames()}}));
  history.push_back(entry("free_requested", base, 2 * mib, 1'000'010));
  history.push_back(entry("free_completed", base, 2 * mib, 1'000'011));
  return {
      {"segments", json::array({testing::get_segment(
                       base, 20 * mib,
                       json::array({testing::select_block(base + 2 * mib, 2 * mib, 2 * mib, "active_allocated")}))})},
      {"device_traces", json::array({history})},
      {"allocator_settings", json::object()}};
}

void expect_small_snapshot(const brought_file& file, std::uint64_t allocations) {
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, allocations * 2 * mib);
  EXPECT_EQ(file.framework().allocations, allocations);
  EXPECT_EQ(file.driver().maximum, 20 * mib);
  EXPECT_EQ(file.framework().freed_bytes, 2 * mib);
}

TEST(snapshot_as_json, is_read_as_its_pickle_is) {
  const json snapshot = small_snapshot();
  const brought_file plain("a.json", snapshot.dump()), pickle("a.pickle", testing::pickled(snapshot));
  expect_small_snapshot(plain, 4);
  EXPECT_EQ(plain.imported().from, format::torch_snapshot_json);
  const auto of_json = plain.rows<trace::alloc_event>(), of_pickle = pickle.rows<trace::alloc_event>();
  ASSERT_EQ(of_json.size(), of_pickle.size());
  for (std::size_t i = 0; i < of_json.size(); ++i) {
    EXPECT_EQ(of_json[i].time, of_pickle[i].time);
    EXPECT_EQ(of_json[i].address, of_pickle[i].address);
    EXPECT_EQ(of_json[i].bytes, of_pickle[i].bytes);
  }
  EXPECT_EQ(plain.imported().not_understood.size(), pickle.imported().not_understood.size());
  const auto& frames = plain.file().latest()->tables().frames.rows();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(plain.text(frames[0].function), "main \"é\\\n");
}

TEST(snapshot_as_json, may_be_a_list_of_segments) {
  const brought_file file("a.json", "\n" + small_snapshot()["segments"].dump(2));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.driver().maximum, 20 * mib);
  EXPECT_EQ(file.framework().maximum, 2 * mib);
}

TEST(snapshot_as_json, of_many_entries_is_read_whole) {
  json snapshot = small_snapshot();
  json& history = snapshot["device_traces"][0];
  for (std::uint64_t i = 0; i < 5'000; ++i)
    history.push_back(entry("alloc", base + 30 * mib + i * 512, 512, static_cast<std::int64_t>(1'001'000 + i),
                            {{"frames", frames()}}));
  const brought_file file("a.json", snapshot.dump());
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().allocations, 5'004U);
}

TEST(snapshot_as_json, that_is_broken_is_an_error_with_its_offset) {
  const std::string whole = small_snapshot().dump();
  const brought_file cut("a.json", whole.substr(0, whole.size() / 2));
  EXPECT_FALSE(cut.is_read());
  EXPECT_THAT(cut.refusal(), HasSubstr("ends"));
  const brought_file wrong("a.json", R"({"segments": [}, "device_traces": []})");
  EXPECT_THAT(wrong.refusal(), HasSubstr("14"));
  const brought_file other("a.json", R"({"segments": 7, "text": "\ud83d\ude00 \ud83d \u00e9"})");
  EXPECT_THAT(other.refusal(), HasSubstr("not a PyTorch memory snapshot"));
  const brought_file deep("a.json", R"({"segments": )" + std::string(100'000, '['));
  EXPECT_THAT(deep.refusal(), HasSubstr("too deep"));
  const brought_file behind("a.json", whole + "x");
  EXPECT_THAT(behind.refusal(), HasSubstr("unexpected text after"));
}

// --- SQLite -----------------------------------------------------------------------------------------------------------

constexpr const char* tables =
    "CREATE TABLE segments(id INTEGER PRIMARY KEY, device INTEGER, address INTEGER, total_size INTEGER, stream "
    "INTEGER, segment_type TEXT);"
    "CREATE TABLE blocks(id INTEGER PRIMARY KEY, segment_id INTEGER, addr INTEGER, size INTEGER, requested_size "
    "INTEGER, state TEXT, frames TEXT);"
    "CREATE TABLE device_traces(id INTEGER PRIMARY KEY, device INTEGER, action TEXT, addr INTEGER, size INTEGER, "
    "stream INTEGER, time_us INTEGER, frames TEXT);";

TEST(snapshot_in_sqlite, has_segments_blocks_and_histories) {
  std::string sql = tables;
  const std::string frames = R"([{"filename": "/w/train.py", "line": 10, "name": "main"}])";
  sql +=
      "INSERT INTO segments VALUES(1,0,1048576,20971520,0,'large');"
      "INSERT INTO blocks VALUES(1,1,1048576,2097152,2097152,'active_allocated','" +
      frames +
      "'),(2,9,1,1,1,'inactive','[]');"
      "INSERT INTO device_traces VALUES(1,0,'segment_alloc',1048576,20971520,0,1000,'[]'),"
      "(2,0,'alloc',1048576,2097152,0,1001,'" +
      frames + "'),(3,2,'alloc',4194304,4096,0,1002,'" + frames +
      "'),"
      "(4,0,'alloc',8388608,4096,0,1003,'no json'),(5,0,'free_requested',8388608,4096,0,1004,NULL);";
  const brought_file file("a.db", testing::make_database(sql));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.imported().from, format::torch_snapshot_sqlite);
  EXPECT_EQ(file.driver().maximum, 20 * mib);
  const auto blocks = file.rows<trace::alloc_event>();
  EXPECT_EQ(blocks.size(), 4U);
  EXPECT_EQ(file.file().latest()->tables().devices.rows().size(), 2U);
  EXPECT_EQ(file.file().latest()->tables().frames.rows().size(), 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "stacks that are not JSON"), 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "blocks outside of segments"), 1U);
}

TEST(snapshot_in_sqlite, may_lack_tables_and_columns) {
  const brought_file file(
      "a.db", testing::make_database("CREATE TABLE device_traces(action TEXT, addr INTEGER, size INTEGER);"
                                     "INSERT INTO device_traces VALUES('alloc',4096,512),('alloc','x',-5),(NULL,1,1);"
                                     "CREATE TABLE more(x); INSERT INTO more VALUES(1);"));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 512U);
  EXPECT_EQ(to_number(file.imported().not_understood, "rows of the table more"), 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "entries with an impossible address or size"), 1U);
}

TEST(snapshot_in_sqlite, without_rows_is_an_empty_one) {
  const brought_file file("a.db", testing::make_database(tables));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.rows<trace::alloc_event>().size(), 0U);
}

// --- timelines --------------------------------------------------------------------------------------------------------

TEST(memory_timeline, raw_has_blocks_with_categories) {
  const brought_file file(
      "a.json",
      "[[-1,1,1000,0],[1700000000000000000,2,512,3],[1700000000000001000,3,-512,3],[1700000000000001000,3,512,5],"
      "[1700000000000002000,2,64,4],[1700000000000003000,4,-512,5],[1700000000000004000,4,-9999,5],"
      "[1700000000000004000,7,1,5],[1700000000000005000,1,8]]");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().at_begin, 1000U);
  EXPECT_EQ(file.framework().maximum, 1576U);
  EXPECT_EQ(file.framework().at_end, 1064U);
  EXPECT_EQ(file.framework().allocations, 2U) << "a new version of a tensor is not an allocation";
  EXPECT_EQ(file.report().span.length(), 3001);
  std::vector<std::string> categories;
  for (const auto& each : file.rows<trace::attribute_event>()) categories.push_back(file.text(each.text));
  EXPECT_THAT(categories, ::testing::UnorderedElementsAre("weight", "gradient", "activation"));
  EXPECT_EQ(to_number(file.imported().not_understood, "frees without an allocation"), 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "timeline events that are not four valid numbers"), 2U);
}

/// Times that are too large for us are in ns. They are too small to be since 1970, so the start is unknown.
TEST(memory_timeline, of_times_beyond_the_year_2262_in_us_is_in_ns) {
  const brought_file file("a.json", "[[17000000000000003,2,512,5],[17000000000000053,4,-512,5]]");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.file().latest()->realtime_origin(), 0);
  const auto frees = file.rows<trace::free_event>();
  ASSERT_EQ(frees.size(), 1U);
  EXPECT_EQ(frees[0].time, 50);
}

TEST(memory_timeline, counts_a_size_whose_opposite_is_not_a_number) {
  const brought_file file("a.json", "[[1700000000000000,2,512,5],[1700000000000001,4,-9223372036854775808,5]]");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(to_number(file.imported().not_understood, "timeline events that are not four valid numbers"), 1U);
}

TEST(memory_timeline, coalesced_has_the_sums_of_categories) {
  const brought_file file("a.json",
                          "[[1700000000000000,1700000000000010,1700000000000020,1700000000000030],"
                          "[[0,100,0,0,0,0,0,0,0],[0,100,0,0,50,25,0,0,0],[0,100,0,0,20,25,0,0,0]]]");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 175U);
  EXPECT_EQ(file.framework().at_end, 145U);
  EXPECT_EQ(to_number(file.imported().not_understood, "times without sizes"), 1U);
  EXPECT_THAT(file.messages(), HasSubstr("totals per category"));
}

TEST(memory_timeline, of_another_shape_is_refused_with_what_to_do) {
  for (const char* text :
       {"[[[0,1],[1,2]],[0]]", "[[1,2,3,4],7]", "[[1,2,3]]", "[[1,2],[[1],{}]]", "[[1,2,3,4],[1,2", "[[]"}) {
    const brought_file file("a.json", text);
    EXPECT_FALSE(file.is_read()) << text;
    EXPECT_THAT(file.refusal(), ::testing::AnyOf(HasSubstr("export_memory_timeline"), HasSubstr("ends too early")))
        << text;
  }
  const brought_file empty("a.json", "[[],[]]");
  EXPECT_TRUE(empty.is_read()) << empty.refusal();
}

// --- the shared cases -------------------------------------------------------------------------------------------------

TEST(foreign_torch_forms, snapshot_as_json) {
  SLUICE_BRING_CASE("r26g-snapshot-as-json.json");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 8388600U);
  EXPECT_EQ(file.driver().maximum, 20971520U);
  EXPECT_TRUE(file.imported().not_understood.empty());
}

TEST(foreign_torch_forms, snapshot_in_sqlite) {
  SLUICE_BRING_CASE("r26f-torch-snapshot.db");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 8388600U);
  EXPECT_EQ(file.driver().maximum, 20971520U);
}

TEST(foreign_torch_forms, memory_timeline) {
  SLUICE_BRING_CASE("r26h-memory-timeline.json");
  EXPECT_FALSE(file.is_read());
  EXPECT_THAT(file.refusal(), HasSubstr("export_memory_timeline(\"memory.raw.json.gz\")"));
}

TEST(foreign_torch_forms, raw_memory_timeline) {
  SLUICE_BRING_CASE("r26i-memory-timeline.raw.json");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 1048576U);
  EXPECT_EQ(file.framework().at_end, 0U);
}

}  // namespace
}  // namespace sluice::importing::torch_forms
