// Nsight Systems' SQLite exports with rows in no particular order, and the profiler's messages about itself.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <set>

#include "core/import/graph_parts.hpp"
#include "tests/core/import/brought_case.hpp"
#include "tests/core/import/make_database.hpp"

namespace sluice::importing::nsys_rows_of_files {
namespace {

using testing::brought_file;
using ::testing::HasSubstr;
using testing::make_database;
using ::testing::Not;
using testing::to_number;

constexpr std::int64_t pid = std::int64_t{77} << 24;
const std::string pid_text = std::to_string(pid);
const std::string tid_text = std::to_string(pid + 78);
const std::string strings =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES(1,'one'),(2,'two');";
const std::string kernel_table =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId "
    "INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER, graphNodeId INTEGER);";
const std::string copy_table =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId "
    "INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, graphNodeId INTEGER);";
const std::string memory_table =
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, "
    "address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, name TEXT, correlationId INTEGER);";

std::string values(const std::string& table, const std::string& rows) {
  return "INSERT INTO " + table + " VALUES" + rows + ";";
}

// --- rows without an order --------------------------------------------------------------------------------------------

/// Shuffles the rows of each table of a file. The order depends only on `seed`.
void shuffle(const std::string& path, int seed) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  std::vector<std::string> tables;
  const auto note = [](void* into, int, char** cells, char**) {
    static_cast<std::vector<std::string>*>(into)->emplace_back(cells[0]);
    return 0;
  };
  sqlite3_exec(db, "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%'", note, &tables,
               nullptr);
  for (const std::string& each : tables) {
    const std::string name = "\"" + each + "\"";
    const std::string mixed =
        "SELECT * FROM " + name + " ORDER BY (rowid * " + std::to_string(seed) + ") % 1009, rowid";
    char* met = nullptr;
    sqlite3_exec(db,
                 ("CREATE TEMP TABLE mixed AS " + mixed + "; DELETE FROM " + name + "; INSERT INTO " + name +
                  " SELECT * FROM mixed; DROP TABLE mixed;")
                     .c_str(),
                 nullptr, nullptr, &met);
    EXPECT_EQ(met, nullptr) << each << ": " << met;
  }
  sqlite3_close(db);
}

/// The metrics of a report, one per text, in no particular order.
std::multiset<std::string> build_report(const brought_file& file) {
  std::multiset<std::string> lines;
  const auto& whole = file.report().whole;
  for (const auto& each : whole.devices)
    lines.insert("device " + std::to_string(raw(each.device)) + ": " + std::to_string(each.kernels) + " kernels, " +
                 std::to_string(each.busy));
  for (const auto& each : whole.transfers)
    lines.insert("copies " + std::to_string(static_cast<int>(each.direction)) + ": " + std::to_string(each.count) +
                 ", " + std::to_string(each.bytes));
  for (const auto& each : whole.memory)
    lines.insert("memory " + std::to_string(static_cast<int>(each.layer)) + ": " + std::to_string(each.maximum) + ", " +
                 std::to_string(each.allocations));
  for (const auto& each : whole.ranges)
    lines.insert("range " + file.text(each.name) + ": " + std::to_string(each.count) + ", " +
                 std::to_string(each.total));
  for (const auto& each : whole.threads) lines.insert("calls of a thread: " + std::to_string(each.calls));
  for (const auto& each : file.report().findings) lines.insert("finding: " + each.text);
  for (const auto& each : file.imported().read) lines.insert(std::to_string(each.number) + " " + each.label);
  for (const auto& each : file.imported().not_understood)
    lines.insert(std::to_string(each.number) + " lost " + each.label);
  return lines;
}

TEST(nsys_rows, of_real_files_may_stand_in_any_order) {
  for (const char* name : {"nsys-2022.2-saxpy-mpi.sqlite", "nsys-2025.3-power-iteration.sqlite"}) {
    const auto path = testing::shared_trace(name);
    if (!path) GTEST_SKIP() << "there is no shared/traces/" << name;
    const testing::own_folder folder;
    const std::string mixed = folder.file("mixed.sqlite");
    const brought_file before(*path);
    for (const int seed : {389, 997}) {
      std::filesystem::copy_file(*path, mixed, std::filesystem::copy_options::overwrite_existing);
      std::filesystem::permissions(mixed, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
      shuffle(mixed, seed);
      EXPECT_EQ(build_report(brought_file(mixed)), build_report(before)) << name;
    }
  }
}

TEST(nsys_rows, of_memory_are_taken_in_order_of_time) {
  const auto rows_in = [](const std::string& rows) {
    return brought_file("a.sqlite", make_database(memory_table + values("CUDA_GPU_MEMORY_USAGE_EVENTS", rows)));
  };
  const auto row = [](int time, int address, int bytes, int operation, int call) {
    return "(" + std::to_string(time) + "," + pid_text + ",0,1," + std::to_string(address) + "," +
           std::to_string(bytes) + ",2," + std::to_string(operation) + ",''," + std::to_string(call) + ")";
  };
  const std::string a = row(10, 256, 1000, 0, 1), freed = row(20, 256, 1000, 1, 2), b = row(20, 256, 4000, 0, 3),
                    gone = row(30, 256, 4000, 1, 4);
  const std::string orders[] = {a + "," + freed + "," + b + "," + gone, gone + "," + b + "," + freed + "," + a,
                                b + "," + a + "," + gone + "," + freed};
  for (const std::string& order : orders) {
    const brought_file file = rows_in(order);
    EXPECT_EQ(file.driver().maximum, 4000U) << order;
    EXPECT_EQ(file.driver().frees, 2U);
    EXPECT_TRUE(file.imported().not_understood.empty()) << order;
  }
}

TEST(nsys_rows, of_unknown_tables_are_counted_one_by_one) {
  const brought_file file("a.sqlite", make_database(strings + "CREATE TABLE NEWS(id INTEGER PRIMARY KEY, text TEXT);" +
                                                    values("NEWS", "(5,'a'),(1000000,'b')")));
  EXPECT_EQ(to_number(file.imported().not_understood, "rows of the table NEWS"), 2U);
}

// --- the profiler's messages ----------------------------------------------------------------------------------------

TEST(nsys_diagnostics, become_messages) {
  const std::string table =
      "CREATE TABLE DIAGNOSTIC_EVENT(timestamp INTEGER, timestampType INTEGER, source INTEGER, severity INTEGER, text "
      "TEXT, globalPid INTEGER);" +
      values("DIAGNOSTIC_EVENT",
             "(3,1,1,3,'The driver is old.',NULL),(1,1,1,1,'Begun.',NULL),(2,1,1,2,'No events.',NULL),(4,1,1,2,'No "
             "events.',NULL)");
  const auto severities = [](const brought_file& file) {
    std::map<std::string, trace::severity> entries_by_key;
    for (const auto& each : file.rows<trace::message_event>()) entries_by_key[file.text(each.text)] = each.severity;
    return entries_by_key;
  };
  auto whole = severities(brought_file("a.sqlite", make_database(strings + table)));
  EXPECT_EQ(whole.at("Nsight Systems: Begun."), trace::severity::info);
  EXPECT_EQ(whole.at("Nsight Systems: No events."), trace::severity::warning);
  EXPECT_EQ(whole.at("Nsight Systems: The driver is old."), trace::severity::error);
  whole = severities(brought_file(
      "a.sqlite",
      make_database(strings + table + "CREATE TABLE ENUM_DIAGNOSTIC_SEVERITY_LEVEL(id INTEGER, name TEXT);" +
                    values("ENUM_DIAGNOSTIC_SEVERITY_LEVEL", "(1,'Warning'),(2,'Error'),(3,'Info')"))));
  EXPECT_EQ(whole.at("Nsight Systems: Begun."), trace::severity::warning);
  EXPECT_EQ(whole.at("Nsight Systems: No events."), trace::severity::error);
  EXPECT_EQ(whole.at("Nsight Systems: The driver is old."), trace::severity::info);
}

// --- graphs -----------------------------------------------------------------------------------------------------------

const std::string launches =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
    "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);" +
    values("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
           "(1000,3000,0,1,7,1," + pid_text + ",3,4),(5000,7000,0,1,7,2," + pid_text + ",3,4)");

TEST(nsys_graphs, that_were_recorded_as_a_whole_say_how_to_record_their_nodes) {
  const brought_file whole("a.sqlite", make_database(strings + launches));
  EXPECT_EQ(whole.rows<trace::graph_launch_event>().size(), 2U);
  EXPECT_THAT(whole.messages(), HasSubstr("2 graph launches, which ran for 4.00 µs"));
  EXPECT_THAT(whole.messages(), HasSubstr("--cuda-graph-trace=node"));
  const brought_file nodes("a.sqlite",
                           make_database(strings + launches + kernel_table +
                                         values("CUPTI_ACTIVITY_KIND_KERNEL", "(1,2,0,1,7,1," + pid_text + ",1,9)")));
  EXPECT_THAT(nodes.messages(), Not(HasSubstr("--cuda-graph-trace")));
}

TEST(nsys_graphs, have_copies_in_parts_once) {
  const auto row = [](int begin, int end, int call, const char* node) {
    return "(" + std::to_string(begin) + "," + std::to_string(end) + ",0,1,7," + std::to_string(call) + "," + pid_text +
           ",4096,8," + node + ")";
  };
  const brought_file file(
      "a.sqlite",
      make_database(copy_table + values("CUPTI_ACTIVITY_KIND_MEMCPY",
                                        row(1000, 2000, 1, "9") + "," + row(2000, 2500, 1, "9") + "," +
                                            row(10000, 12000, 2, "9") + "," + row(30000, 31000, 2, "9") + "," +
                                            row(40000, 41000, 3, "NULL") + "," + row(41000, 42000, 3, "NULL"))));
  EXPECT_EQ(file.copies(trace::direction::d2d).count, 5U);
  EXPECT_EQ(file.copies(trace::direction::d2d).bytes, 5 * 4096.0);
  EXPECT_EQ(to_number(file.imported().not_understood, graph_parts::words), 1U);
}

// --- counters and devices ---------------------------------------------------------------------------------------------

TEST(nsys_counters, are_curves) {
  const std::string table =
      "CREATE TABLE ENUM_NSYS_EVENT_TYPE(id INTEGER PRIMARY KEY, name TEXT, label TEXT);" +
      values("ENUM_NSYS_EVENT_TYPE", "(59,'NvtxPushPopRange',''),(75,'NvtxDomainCreate',''),(120,'NvtxCounter','')") +
      "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId "
      "INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL);" +
      values("NVTX_EVENTS", "(5,NULL,120,'tokens'," + tid_text + ",NULL,0,NULL,7,NULL),(9,NULL,120,'tokens'," +
                                tid_text + ",NULL,0,NULL,NULL,-0.5),(11,NULL,120,NULL," + tid_text +
                                ",2,0,3,NULL,NULL),(12,NULL,120,'none'," + tid_text +
                                ",NULL,0,NULL,NULL,NULL),(1,20,59,'range'," + tid_text + ",NULL,0,NULL,NULL,NULL)");
  const brought_file file("a.sqlite", make_database(strings + table));
  std::vector<std::tuple<std::string, trace::time_ns, double>> items;
  for (const auto& each : file.rows<trace::counter_event>())
    items.emplace_back(file.text(file.file().latest()->tables().counters.find(each.counter)->name), each.time,
                       each.value);
  EXPECT_THAT(items, ::testing::ElementsAre(std::tuple("tokens", 5, 7.0), std::tuple("tokens", 9, -0.5),
                                            std::tuple("two", 11, 3.0)));
  EXPECT_EQ(file.ranges(), 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "samples of NVTX counters whose value is in a payload"), 1U);
}

TEST(nsys_devices, that_two_processes_both_call_0_have_their_own_numbers) {
  const std::string other = std::to_string(std::int64_t{99} << 24);
  const brought_file file(
      "a.sqlite", make_database("CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, cuDevice INTEGER);" +
                                values("TARGET_INFO_GPU", "(3,'H100',0),(5,'H100',0)") +
                                "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER, pid INTEGER);" +
                                values("TARGET_INFO_CUDA_DEVICE", "(3,0,77),(5,0,99)") + kernel_table +
                                values("CUPTI_ACTIVITY_KIND_KERNEL",
                                       "(1,2,0,1,7,1," + pid_text + ",1,NULL),(3,4,0,1,7,1," + other + ",1,NULL)")));
  std::vector<std::int64_t> ordinals;
  for (const auto& each : file.rows<trace::kernel_event>())
    ordinals.push_back(file.file().latest()->tables().devices.find(each.device)->ordinal);
  EXPECT_THAT(ordinals, ::testing::ElementsAre(3, 5));
}

}  // namespace
}  // namespace sluice::importing::nsys_rows_of_files
