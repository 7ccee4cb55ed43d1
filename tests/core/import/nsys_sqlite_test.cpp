// Nsight Systems' SQLite exports: how rows of each table are imported, and how invalid files are handled.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <map>

#include "tests/core/import/files.hpp"

namespace sluice::importing::nsys_sqlite {
namespace {

using testing::get_rows;
using ::testing::HasSubstr;
using testing::to_number;

/// A file that SQL statements create, and its imported trace.
class imported {
 public:
  explicit imported(const std::string& sql) : imported(sql, [](std::string&) {}) {}

  template <class Change>
  imported(const std::string& sql, Change&& change) {
    const std::string path = folder_.file("in.sqlite");
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    char* met = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &met), SQLITE_OK) << met;
    sqlite3_free(met);
    sqlite3_close(db);
    std::string bytes = testing::read_file(path);
    change(bytes);
    folder_.write("in.sqlite", bytes);
    outcome = import_file(path, folder_.file("out.sluice"));
    if (!outcome) return;
    auto opened = trace::file::open(folder_.file("out.sluice"));
    EXPECT_TRUE(opened);
    if (opened) file = *opened;
  }

  template <class Row>
  [[nodiscard]] std::vector<Row> rows() const {
    return file == nullptr ? std::vector<Row>{} : get_rows<Row>(*file);
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

constexpr std::int64_t pid = std::int64_t{77} << 24;
const std::string pid_text = std::to_string(pid);
const std::string tid_text = std::to_string(pid + 78);
const std::string strings =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES(1,'one'),(2,'two');";
const std::string memory_table =
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, "
    "address INTEGER,"
    "bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, name TEXT, correlationId INTEGER, "
    "localMemoryPoolAddress INTEGER,"
    "localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER);";

TEST(nsys, work_has_its_call_of_its_own_process) {
  // The same correlation id in two processes.
  const imported import_result(
      strings +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, "
      "correlationId INTEGER, nameId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(5,9," +
      tid_text + ",3,1),(6,9," + std::to_string((std::int64_t{99} << 24) + 1) +
      ",3,2);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId "
      "INTEGER, streamId INTEGER,"
      "correlationId INTEGER, globalPid INTEGER, shortName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(20,30,0,1,7,3," +
      pid_text + ",2);");
  ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
  const auto kernels = import_result.rows<trace::kernel_event>();
  const auto calls = import_result.rows<trace::api_call_event>();
  ASSERT_EQ(kernels.size(), 1U);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(kernels[0].call, calls[0].id);
  EXPECT_EQ(kernels[0].enqueued, 5);
  EXPECT_EQ(import_result.text(kernels[0].name), "two");
  EXPECT_EQ(import_result.tables().processes.find(kernels[0].process)->pid, 77U);
  EXPECT_EQ(import_result.tables().threads.find(kernels[0].thread)->tid, 78U);
}

TEST(nsys, memory_events_are_blocks_and_samples_of_their_pool) {
  const imported import_result(memory_table +
                               "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES"
                               "(10," +
                               pid_text + ",0,1,4096,512,2,0,NULL,1,9000,2048,512),(20," + pid_text +
                               ",0,1,4096,512,2,1,NULL,2,9000,2048,0),"
                               "(30," +
                               pid_text + ",0,1,8192,64,1,0,'buffer',3,NULL,NULL,NULL),(40," + pid_text +
                               ",0,1,1,32,2,1,NULL,3,NULL,NULL,NULL),"
                               "(50," +
                               pid_text + ",0,1,1,32,2,7,NULL,3,NULL,NULL,NULL);");
  ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
  const auto allocs = import_result.rows<trace::alloc_event>();
  const auto frees = import_result.rows<trace::free_event>();
  ASSERT_EQ(allocs.size(), 3U);
  ASSERT_EQ(frees.size(), 2U);
  EXPECT_EQ(allocs[0].layer, trace::layer::driver);
  EXPECT_EQ(allocs[0].kind, trace::memory_kind::device);
  EXPECT_EQ(frees[0].block, allocs[0].block);
  EXPECT_EQ(allocs[1].kind, trace::memory_kind::pinned);
  EXPECT_EQ(import_result.text(allocs[1].name), "buffer");
  EXPECT_EQ(allocs[2].flags, trace::born_before);
  EXPECT_EQ(frees[1].block, allocs[2].block);
  const auto samples = import_result.rows<trace::pool_event>();
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].reserved, 2048U);
  EXPECT_EQ(samples[0].used, 512U);
  EXPECT_EQ(import_result.lost("memory events that are neither an allocation nor a free"), 1U);
}

const std::string kernel_table =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, demangledName INTEGER);";

TEST(nsys, the_recording_begins_at_its_first_event) {
  const imported import_result(strings + kernel_table + memory_table +
                               "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(155000000000,155000001000,0,1);"
                               "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(155000000500," +
                               pid_text + ",0,1,1,32,2,1,NULL,3,NULL,NULL,NULL);");
  EXPECT_EQ(import_result.file->latest()->begin(), 155'000'000'000);
  EXPECT_EQ(import_result.rows<trace::alloc_event>().at(0).time, 155'000'000'000);
}

TEST(nsys, what_is_freed_at_the_first_moment_was_there_before) {
  const imported import_result(memory_table + "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(500," + pid_text +
                               ",0,1,1,32,2,1,NULL,3,NULL,NULL,NULL);");
  EXPECT_EQ(import_result.rows<trace::alloc_event>().at(0).time, 499);
  EXPECT_EQ(import_result.rows<trace::free_event>().at(0).time, 500);
}

TEST(nsys_broken, times_that_cannot_be_cost_their_row) {
  const imported import_result(strings + kernel_table +
                               "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(155000000000,155000001000,0,1),(0,0,0,1),"
                               "(-1461972216707720000,155000001000,0,1),(9223372036854775000,9223372036854775001,0,1),"
                               "(155000000100,-9223372036854775808,0,1),(155000000200,9223372036854775807,0,1),"
                               "(155000000300,155000000200,0,1);");
  const auto kernels = import_result.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_EQ(import_result.file->latest()->begin(), 155'000'000'000);
  EXPECT_EQ(import_result.file->latest()->end(), 155'000'001'000);
  EXPECT_EQ(kernels[1].end, trace::unknown_time);
  EXPECT_EQ(kernels[2].end, trace::unknown_time);
  EXPECT_EQ(kernels[3].end, kernels[3].time);
  EXPECT_EQ(import_result.lost("kernels, copies and waits without times, because they never finished"), 1U);
  EXPECT_EQ(import_result.lost("events with an impossible time, more than a year from the others"), 2U);
  EXPECT_EQ(import_result.lost("events without a valid end, which are shown until the end of the recording"), 2U);
  EXPECT_EQ(import_result.lost("events with a negative duration"), 1U);
}

TEST(nsys_broken, a_file_of_nvprof_is_named) {
  const imported import_result(
      "CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY, start INTEGER, end INTEGER, bytes INTEGER);");
  ASSERT_FALSE(import_result.outcome);
  EXPECT_EQ(import_result.outcome.error().code, error_code::foreign);
  EXPECT_THAT(import_result.outcome.error().to_string(), HasSubstr("nvprof"));
}

TEST(nsys, copies_of_managed_memory_are_migrations) {
  const imported import_result(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
      "streamId INTEGER,"
      "globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, migrationCause INTEGER, "
      "virtualAddress INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1,2,0,1,7," +
      pid_text + ",100,11,NULL,NULL,2,4096),(3,4,0,1,7," + pid_text +
      ",50,2,2,1,NULL,NULL);"
      "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER);");
  const auto moved = import_result.rows<trace::migration_event>();
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_EQ(moved[0].direction, trace::direction::h2d);
  EXPECT_EQ(moved[0].cause, trace::migration_cause::page_fault);
  EXPECT_EQ(moved[0].address, 4096U);
  const auto copies = import_result.rows<trace::transfer_event>();
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].direction, trace::direction::d2h);
  EXPECT_EQ(copies[0].destination_kind, trace::memory_kind::pinned);
}

TEST(nsys, ranges_have_their_text_or_their_string_and_their_domain) {
  const imported import_result(
      strings +
      "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid "
      "INTEGER, textId INTEGER, domainId INTEGER);"
      "INSERT INTO NVTX_EVENTS VALUES(1,9,59,NULL," +
      tid_text + ",1,4),(2,NULL,60,'open'," + tid_text + ",NULL,0),(3,NULL,34,'mark'," + tid_text +
      ",NULL,0),(9,NULL,75,'my domain'," + tid_text + ",NULL,4),(4,NULL,39,'worker'," + tid_text +
      ",NULL,0),(5,6,59,NULL," + tid_text +
      ",55,0),"
      "(5,6,4242,NULL," +
      tid_text + ",55,0);");
  const auto ranges = import_result.rows<trace::host_range_event>();
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(import_result.text(ranges[0].name), "one");
  EXPECT_EQ(import_result.text(ranges[0].domain), "my domain");
  EXPECT_EQ(ranges[1].end, trace::unknown_time);
  EXPECT_EQ(import_result.rows<trace::marker_event>().size(), 1U);
  EXPECT_EQ(import_result.text(import_result.tables().threads.rows().at(0).name), "worker");
  EXPECT_EQ(import_result.lost("names whose text is not in the file"), 1U);
  EXPECT_EQ(import_result.lost("NVTX events of the type 4242"), 1U);
}

TEST(nsys, call_chains_are_stacks_with_the_innermost_frame_first) {
  const imported import_result(
      strings +
      "CREATE TABLE CUDA_CALLCHAINS(id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, "
      "originalIP INTEGER, stackDepth INTEGER);"
      "INSERT INTO CUDA_CALLCHAINS VALUES(5,1,2,NULL,16,0),(5,2,2,NULL,32,1),(5,2,2,NULL,32,99999999);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, "
      "correlationId INTEGER, nameId INTEGER, callchainId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(5,9," +
      tid_text + ",3,1,5);");
  const auto calls = import_result.rows<trace::api_call_event>();
  ASSERT_EQ(calls.size(), 1U);
  const auto* inner = import_result.tables().stacks.find(calls[0].stack);
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(import_result.text(import_result.tables().frames.find(inner->frame)->function), "one");
  const auto* outer = import_result.tables().stacks.find(inner->parent);
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(import_result.text(import_result.tables().frames.find(outer->frame)->function), "two");
  EXPECT_EQ(import_result.lost("frames deeper than 4096"), 1U);
}

TEST(nsys, the_session_says_the_clock_and_the_devices) {
  const imported import_result(
      "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER); INSERT INTO TARGET_INFO_SESSION_START_TIME "
      "VALUES(1790857026000000000);"
      "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, uuid TEXT, totalMemory INTEGER);"
      "INSERT INTO TARGET_INFO_GPU VALUES(0,'NVIDIA A100','74e128b2-90b6-b409-07c8-33bee5ff6f88',42297524224);");
  EXPECT_EQ(import_result.file->latest()->realtime_origin(), 1790857026000000000);
  const auto& device = import_result.tables().devices.rows().at(0);
  EXPECT_EQ(device.uuid_high, 0x74e128b290b6b409U);
  EXPECT_EQ(device.uuid_low, 0x07c833bee5ff6f88U);
}

// --- invalid files --------------------------------------------------------------------------------------------------

TEST(nsys, graphs_their_nodes_and_their_launches_belong_together) {
  const std::string tables =
      "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES(1,'Graph Creation'),(2,'Graph Node Creation'),(3,'kernel');"
      "CREATE TABLE CUDA_GRAPH_EVENTS(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId "
      "INTEGER, "
      "graphId INTEGER, originalGraphId INTEGER, graphExecId INTEGER);"
      "CREATE TABLE CUDA_GRAPH_NODE_EVENTS(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId "
      "INTEGER, graphNodeId INTEGER, originalGraphNodeId INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
      "globalPid "
      "INTEGER, shortName INTEGER, graphNodeId INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
      "globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);";
  const std::string other_tid = std::to_string((std::int64_t{99} << 24) + 1);
  const std::string other_pid = std::to_string(std::int64_t{99} << 24);
  const imported import_result(
      tables +
      // Graph 1, its copy 4, and the executable graph made from graph 4; another process also has a
      // graph 1.
      "INSERT INTO CUDA_GRAPH_EVENTS VALUES(10,11,1," + tid_text + ",1,1,NULL,NULL),(20,21,1," + tid_text +
      ",1,4,1,NULL),(30,31,1," + tid_text + ",1,4,NULL,6),(40,41,1," + other_tid + ",1,1,NULL,NULL),(45,46,1," +
      tid_text +
      ",1,1,NULL,NULL);"
      "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES(12,13,2," +
      tid_text + ",2,500,NULL),(22,23,2," + tid_text +
      ",2,700,500);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100,110,0,7," +
      pid_text + ",3,700),(120,130,0,7," + pid_text +
      ",3,NULL);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(200,210,0,7," +
      pid_text + ",9,6),(220,230,0,7," + pid_text + ",1,NULL),(240,250,0,7," + other_pid + ",1,NULL),(260,270,0,7," +
      pid_text + ",44,NULL);");
  ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
  EXPECT_EQ(to_number(import_result.outcome->read, "graph events"), 5U);
  EXPECT_EQ(to_number(import_result.outcome->read, "graph node events"), 2U);
  EXPECT_EQ(to_number(import_result.outcome->read, "kernels, copies and memsets of graph nodes, included above"), 1U);
  EXPECT_TRUE(import_result.outcome->not_understood.empty());
  const auto launches = import_result.rows<trace::graph_launch_event>();
  ASSERT_EQ(launches.size(), 4U);
  EXPECT_EQ(launches[0].graph, launches[1].graph) << "by its executable, and by itself";
  EXPECT_NE(launches[0].graph, launches[2].graph) << "from another process";
  const auto defined = import_result.rows<trace::graph_definition_event>();
  ASSERT_EQ(defined.size(), 5U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(defined[static_cast<std::size_t>(i)].graph, launches[0].graph);
  EXPECT_EQ(import_result.text(defined[0].name), "Graph Creation");
  EXPECT_EQ(defined[0].time, 10);
  EXPECT_EQ(import_result.tables().threads.find(defined[0].thread)->tid, 78U);
  EXPECT_EQ(defined[3].graph, launches[2].graph);
  EXPECT_EQ(defined[4].graph, launches[3].graph) << "no row describes it";
  EXPECT_EQ(defined[4].source, trace::provenance::inferred);
  EXPECT_EQ(defined[0].source, trace::provenance::exact);
  const auto ranges = import_result.rows<trace::host_range_event>();
  ASSERT_EQ(ranges.size(), 7U);
  for (const auto& range : ranges) EXPECT_EQ(import_result.text(range.domain), "CUDA graphs");
  // Kernels refer to the creation of their node, and to the node of which it is a copy.
  std::map<std::string, std::map<std::int64_t, trace::time_ns>> times;
  for (const auto& each : import_result.rows<trace::attribute_event>())
    for (const auto& range : ranges)
      if (range.id == each.target) times[import_result.text(each.key)][each.integer] = range.time;
  const auto kernels = import_result.rows<trace::kernel_event>();
  EXPECT_EQ(times["graph_node"].at(static_cast<std::int64_t>(kernels[0].graph_node)), 22);
  EXPECT_EQ(times["original_graph_node"].at(500), 22);
  EXPECT_EQ(times["graph_node"].at(500), 12);
}

TEST(nsys, older_versions_have_nodes_among_the_events_of_graphs) {
  const imported import_result(
      strings +
      "CREATE TABLE CUDA_GRAPH_EVENTS(start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, "
      "graphNodeId INTEGER, originalGraphNodeId INTEGER);"
      "INSERT INTO CUDA_GRAPH_EVENTS VALUES(10,9," +
      tid_text + ",1,3,NULL),(20,21," + tid_text + ",1,4,3);");
  ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
  EXPECT_EQ(import_result.rows<trace::host_range_event>().size(), 2U);
  EXPECT_EQ(import_result.rows<trace::attribute_event>().size(), 3U);
  EXPECT_TRUE(import_result.rows<trace::graph_definition_event>().empty());
  EXPECT_EQ(import_result.lost("events with a negative duration"), 1U);
}

TEST(nsys_broken, tables_without_the_columns_that_they_need_are_counted) {
  const imported import_result(strings +
                               "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(x INTEGER, end INTEGER); INSERT INTO "
                               "CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,2);"
                               "CREATE TABLE SCHED_EVENTS(start INTEGER); INSERT INTO SCHED_EVENTS VALUES(1),(2);");
  ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
  EXPECT_EQ(import_result.lost("tables without the column 'start': CUPTI_ACTIVITY_KIND_KERNEL"), 1U);
  EXPECT_EQ(import_result.lost("rows of the table SCHED_EVENTS"), 2U);
}

TEST(nsys_broken, cells_of_other_types_are_read_as_sq_lite_reads_them) {
  const imported import_result(
      strings +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, globalPid, gridX, registersPerThread, demangledName);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
      "VALUES('12','x',NULL,-5,1e30,x'00ff'),(9223372036854775807,-9223372036854775807,-1,9e99,'','');");
  ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
  const auto kernels = import_result.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].time, 12);
  EXPECT_EQ(kernels[0].end, 12);
  EXPECT_EQ(kernels[0].grid_x, 0U);
  EXPECT_EQ(import_result.lost("events with a negative duration"), 1U);
  EXPECT_EQ(import_result.lost("events with an impossible time, more than a year from the others"), 1U);
}

TEST(nsys_broken, views_virtual_tables_and_triggers_are_not_used) {
  const imported import_result(
      strings +
      "CREATE TABLE t(start INTEGER, end INTEGER); INSERT INTO t VALUES(1,2);"
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 "
      "FROM c) SELECT x AS start, x AS end FROM c;"
      "CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(start, end, eventType);");
  ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
  EXPECT_EQ(import_result.rows<trace::kernel_event>().size(), 0U);
}

TEST(nsys_broken, a_value_of_many_megabytes_ends_its_table_and_not_the_import) {
  const imported import_result(
      "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds "
      "VALUES(1,'one'),(2,hex(zeroblob(4000000)));"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, demangledName INTEGER); INSERT INTO "
      "CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,2,1);");
  ASSERT_TRUE(import_result.outcome) << import_result.outcome.error().to_string();
  EXPECT_EQ(import_result.text(import_result.rows<trace::kernel_event>().at(0).name), "one");
  EXPECT_EQ(import_result.lost("tables that cannot be read completely: StringIds"), 1U);
}

TEST(nsys_broken, other_sq_lite_files_are_foreign) {
  const imported import_result("CREATE TABLE t(x)");
  ASSERT_FALSE(import_result.outcome);
  EXPECT_EQ(import_result.outcome.error().code, error_code::foreign);
}

TEST(nsys_broken, cut_and_scrambled_files_are_errors_or_give_what_can_be_read) {
  std::string sql =
      strings + "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, demangledName INTEGER);";
  for (int i = 0; i < 3000; ++i)
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" + std::to_string(i) + ",9999,1);";
  sql = "BEGIN;" + sql + "COMMIT;";
  for (const std::size_t keep : {100U, 5000U, 20000U}) {
    const imported import_result(sql,
                                 [&](std::string& bytes) { bytes.resize(std::min<std::size_t>(keep, bytes.size())); });
    if (import_result.outcome) {
      EXPECT_FALSE(import_result.outcome->not_understood.empty()) << keep;
    } else {
      EXPECT_EQ(import_result.outcome.error().code, error_code::corrupt) << import_result.outcome.error().to_string();
    }
  }
  const imported scrambled(sql, [](std::string& bytes) {
    for (std::size_t i = 9000; i < bytes.size(); i += 7) bytes[i] = static_cast<char>(i * 31);
  });
  if (scrambled.outcome) {
    EXPECT_FALSE(scrambled.outcome->not_understood.empty());
  }
}

}  // namespace
}  // namespace sluice::importing::nsys_sqlite
