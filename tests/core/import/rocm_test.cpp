// Imports files of ROCm's profilers: rocpd, .rpd, and rocprofv3's JSON.
#include <gmock/gmock.h>

#include "tests/core/import/brought_case.hpp"
#include "tests/core/import/make_database.hpp"

namespace sluice::importing::rocm_files {
namespace {

using testing::brought_file;
using ::testing::HasSubstr;
using testing::make_database;
using testing::to_number;

/// The bytes and the number of all copies in a direction, over all devices.
std::pair<std::uint64_t, std::int64_t> copies(const brought_file& file, trace::direction way) {
  std::pair<std::uint64_t, std::int64_t> pair{};
  for (const auto& each : file.rows<trace::transfer_event>()) {
    if (each.direction != way) continue;
    ++pair.first;
    pair.second += static_cast<std::int64_t>(each.bytes);
  }
  return pair;
}

// --- rocpd ------------------------------------------------------------------------------------------------------------

/// The tables of a recording, whose names end with `id`.
std::string rocpd_tables(const std::string& id) {
  return "CREATE TABLE rocpd_string" + id +
         "(id INTEGER PRIMARY KEY, string TEXT);"
         "CREATE TABLE rocpd_info_process" +
         id +
         "(id INTEGER PRIMARY KEY, pid INTEGER, command TEXT);"
         "CREATE TABLE rocpd_info_thread" +
         id +
         "(id INTEGER PRIMARY KEY, tid INTEGER);"
         "CREATE TABLE rocpd_info_agent" +
         id +
         "(id INTEGER PRIMARY KEY, type TEXT, logical_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT);"
         "CREATE TABLE rocpd_info_kernel_symbol" +
         id +
         "(id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT);"
         "CREATE TABLE rocpd_event" +
         id +
         "(id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, correlation_id INTEGER);"
         "CREATE TABLE rocpd_region" +
         id +
         "(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, event_id "
         "INTEGER);"
         "CREATE TABLE rocpd_kernel_dispatch" +
         id +
         "(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, queue_id INTEGER, "
         "stream_id INTEGER, start BIGINT, end BIGINT,"
         "workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER, "
         "grid_size_y INTEGER, grid_size_z INTEGER, region_name_id INTEGER, event_id INTEGER);"
         "CREATE TABLE rocpd_memory_copy" +
         id +
         "(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, dst_agent_id "
         "INTEGER, src_agent_id INTEGER, size INTEGER, event_id INTEGER);"
         "CREATE TABLE rocpd_memory_allocate" +
         id +
         "(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT, start BIGINT, "
         "end BIGINT, address INTEGER, size INTEGER, event_id INTEGER);"
         "INSERT INTO rocpd_string" +
         id +
         " VALUES(1,'hipLaunchKernel'),(2,'my range'),(3,'MEMORY_COPY_HOST_TO_DEVICE');"
         "INSERT INTO rocpd_info_process" +
         id + " VALUES(1,4711,'a.out'); INSERT INTO rocpd_info_thread" + id +
         " VALUES(1,4712);"
         "INSERT INTO rocpd_info_agent" +
         id +
         " VALUES(1,'CPU',0,0,'cpu','EPYC'),(2,'GPU',1,0,'gfx942','MI300X'),(3,'GPU',2,1,'gfx942','');"
         "INSERT INTO rocpd_info_kernel_symbol" +
         id +
         " VALUES(1,'_Z3addv.kd','add()');"
         "INSERT INTO rocpd_event" +
         id + " VALUES(1,1,0,77),(2,1,0,77),(3,1,0,78);";
}

TEST(rocpd_file, has_kernels_copies_memory_and_calls) {
  const brought_file file(
      "a.db", make_database(
                  rocpd_tables("_0001") +
                  "INSERT INTO rocpd_region_0001 VALUES(1,1,1,1000,1100,1,1),(2,1,1,900,2000,2,NULL);"
                  "INSERT INTO rocpd_kernel_dispatch_0001 "
                  "VALUES(1,1,1,2,1,5,6,1200,1250,64,1,1,256,1,1,2,2),(2,1,1,3,9,5,0,1300,1310,0,0,0,7,7,7,2,NULL);"
                  "INSERT INTO rocpd_memory_copy_0001 "
                  "VALUES(1,1,1,1400,1500,3,2,1,4096,3),(2,1,1,1400,1500,3,3,2,64,3),(3,1,1,1400,1500,3,NULL,NULL,8,3);"
                  "INSERT INTO rocpd_memory_allocate_0001 "
                  "VALUES(1,1,1,2,'ALLOC','REAL',910,920,4096,1048576,1),(2,1,1,2,'ALLOC','VIRTUAL',910,920,8192,64,1),"
                  "(3,1,1,NULL,'FREE','REAL',1900,1910,4096,0,1),(4,1,1,NULL,'FREE','REAL',1900,1910,77,0,1),(5,1,1,2,'"
                  "RECLAIM','REAL',1900,1910,77,0,1);"
                  "CREATE TABLE rocpd_sample_0001(id INTEGER PRIMARY KEY); INSERT INTO rocpd_sample_0001 VALUES(1);"
                  "CREATE VIEW kernels AS SELECT * FROM rocpd_kernel_dispatch_0001;"));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.imported().from, format::rocpd);
  const auto& devices = file.file().latest()->tables().devices.rows();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(file.text(devices[0].name), "MI300X");
  EXPECT_EQ(devices[1].ordinal, 1);
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(file.text(kernels[0].name), "add()");
  EXPECT_EQ(kernels[0].time, 300) << "the recording begins with its first event";
  EXPECT_EQ(kernels[0].grid_x, 4U) << "groups, not work items";
  EXPECT_NE(kernels[0].call, trace::event_id::none);
  EXPECT_EQ(kernels[1].call, trace::event_id::none);
  EXPECT_EQ(copies(file, trace::direction::h2d).first, 2U);
  EXPECT_EQ(copies(file, trace::direction::h2d).second, 4096 + 8);
  EXPECT_EQ(copies(file, trace::direction::p2p).second, 64);
  EXPECT_EQ(file.rows<trace::transfer_event>()[0].source_kind, trace::memory_kind::unknown)
      << "the file does not say whether it is pinned";
  EXPECT_EQ(file.driver().maximum, 1048576U);
  EXPECT_EQ(file.driver().at_end, 0U);
  EXPECT_EQ(file.calls(), 1U);
  EXPECT_EQ(file.range("my range").count, 1U);
  const auto& counts = file.imported().not_understood;
  EXPECT_EQ(to_number(counts, "frees without an allocation in the file"), 1U);
  EXPECT_EQ(to_number(counts, "memory events of the type 'RECLAIM'"), 1U);
  EXPECT_EQ(to_number(counts, "rows of the table rocpd_sample"), 1U);
  EXPECT_EQ(file.file().latest()->tables().processes.rows()[0].pid, 4711U);
}

TEST(rocpd_file, may_hold_two_recordings) {
  const brought_file file(
      "a.db",
      make_database(rocpd_tables("_a") + rocpd_tables("_b") +
                    "INSERT INTO rocpd_kernel_dispatch_a VALUES(1,1,1,2,1,5,6,1200,1250,64,1,1,256,1,1,2,NULL);"
                    "INSERT INTO rocpd_kernel_dispatch_b VALUES(1,1,1,2,1,5,6,1300,1350,64,1,1,256,1,1,2,NULL);"));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.kernels(), 2U);
}

TEST(rocpd_file, counts_what_cannot_be) {
  const brought_file file(
      "a.db",
      make_database(
          "CREATE TABLE rocpd_info_agent_0(id INTEGER); CREATE TABLE rocpd_string_0(id INTEGER, string TEXT);"
          "CREATE TABLE rocpd_memory_copy_0(id INTEGER, start BIGINT);"
          "CREATE TABLE rocpd_kernel_dispatch_0(id INTEGER, start BIGINT, end BIGINT);"
          "INSERT INTO rocpd_kernel_dispatch_0 "
          "VALUES(1,1000,900),(2,1000,NULL),(3,'x',5),(4,1000,1500),(5,9223372036854775807,9223372036854775807);"));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.rows<trace::kernel_event>().size(), 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "kernels with an impossible time"), 4U);
  EXPECT_EQ(to_number(file.imported().not_understood, "tables without the column 'end': rocpd_memory_copy_0"), 1U);
}

// --- rpd --------------------------------------------------------------------------------------------------------------

constexpr const char* rpd_tables =
    "CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT);"
    "CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, apiName_id "
    "INTEGER, args_id INTEGER);"
    "CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, start INTEGER, end INTEGER, "
    "description_id INTEGER, opType_id INTEGER);"
    "CREATE TABLE rocpd_api_ops(id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER);"
    "CREATE TABLE rocpd_copyapi(api_ptr_id INTEGER PRIMARY KEY, size INTEGER);"
    "CREATE TABLE rocpd_kernelapi(api_ptr_id INTEGER PRIMARY KEY, gridX INTEGER, gridY INTEGER, gridZ INTEGER, "
    "workgroupX INTEGER, workgroupY INTEGER, workgroupZ INTEGER, groupSegmentSize INTEGER, kernelName_id INTEGER);"
    "CREATE TABLE rocpd_monitor(id INTEGER PRIMARY KEY, deviceType TEXT, deviceId INTEGER, monitorType TEXT, start "
    "INTEGER, end INTEGER, value TEXT);"
    "INSERT INTO rocpd_string "
    "VALUES(1,''),(2,'hipLaunchKernel'),(3,'add'),(4,'KernelExecution'),(5,'CopyHostToDevice'),(6,'hipMemcpyAsync'),(7,"
    "'UserMarker'),(8,'step'),(9,'Task');";

TEST(rpd_file, has_kernels_copies_calls_and_sensors) {
  const brought_file file(
      "a.rpd",
      make_database(
          std::string(rpd_tables) +
          "INSERT INTO rocpd_api VALUES(1,10,11,1000,1010,2,1),(2,10,11,1020,1030,6,1),(3,10,11,1000,2000,7,8);"
          "INSERT INTO rocpd_op "
          "VALUES(1,2,0,1100,1200,1,4),(2,2,1,1200,1300,1,5),(3,2,1,1300,1400,1,5),(4,2,1,1300,1400,1,9),(5,3,"
          "0,1500,1510,3,4);"
          "INSERT INTO rocpd_api_ops VALUES(1,1,1),(2,2,2);"
          "INSERT INTO rocpd_copyapi VALUES(2,4096); INSERT INTO rocpd_kernelapi VALUES(1,7,2,1,256,1,1,64,3);"
          "INSERT INTO rocpd_monitor "
          "VALUES(1,'gpu',2,'sclk',1500,1600,'1700'),(2,'gpu',2,'sclk',500,600,'1'),(3,'gpu',2,'sclk',1500,"
          "1600,'fast');"));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.imported().from, format::rpd);
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(file.text(kernels[0].name), "add");
  EXPECT_EQ(kernels[0].grid_x, 7U);
  EXPECT_EQ(kernels[0].block_x, 256U);
  EXPECT_NE(kernels[0].call, trace::event_id::none);
  EXPECT_EQ(file.file().latest()->tables().devices.rows().size(), 2U);
  EXPECT_EQ(copies(file, trace::direction::h2d).first, 2U);
  EXPECT_EQ(copies(file, trace::direction::h2d).second, 4096);
  EXPECT_EQ(file.calls(), 2U);
  EXPECT_EQ(file.range("step").count, 1U);
  EXPECT_EQ(file.rows<trace::counter_event>().size(), 1U);
  const auto& counts = file.imported().not_understood;
  EXPECT_EQ(to_number(counts, "work of the type 'Task'"), 1U);
  EXPECT_EQ(to_number(counts, "copies and memsets whose size is not in the file"), 1U);
  EXPECT_EQ(to_number(counts, "sensor samples that are not numbers"), 1U);
  EXPECT_EQ(to_number(counts, "sensor samples from before the first call"), 1U);
}

// --- rocprofv3's JSON -------------------------------------------------------------------------------------------------

std::string sdk(const std::string& records, const std::string& more = {}) {
  return R"j({"rocprofiler-sdk-tool":[{"metadata":{"pid":10,"init_time":1,"command":"a.out"},"agents":[)j"
         R"j({"id":{"handle":100},"type":1,"name":"cpu","logical_node_type_id":0},)j"
         R"j({"id":{"handle":101},"type":2,"name":"gfx942","product_name":"MI300X","logical_node_type_id":3,"caches":[1,{"a":[]}]}],)j"
         R"j("strings":{"buffer_records":[{"kind":"NONE","operations":["NONE"]},{"kind":"HIP","operations":["none","hipMemcpy"]},)j"
         R"j({"kind":"COPY","operations":["NONE","MEMORY_COPY_HOST_TO_HOST","MEMORY_COPY_HOST_TO_DEVICE"]}],)j"
         R"j("marker_api":[{"key":9,"value":"step"}]},)j"
         R"j("buffer_records":{)j" +
         records +
         R"j(},"kernel_symbols":[{"kernel_id":1,"kernel_name":"_Z3addv.kd","formatted_kernel_name":"add()"}])j" + more +
         "}]}";
}

TEST(rocprofv3_json, has_kernels_copies_memory_and_calls) {
  const brought_file file(
      "a.json",
      sdk(R"j("kernel_dispatch":[{"kind":11,"operation":1,"thread_id":12,"correlation_id":{"internal":5,"external":0},"start_timestamp":1200,"end_timestamp":1250,)j"
          R"j("dispatch_info":{"agent_id":{"handle":101},"queue_id":{"handle":2},"kernel_id":1,"workgroup_size":{"x":64,"y":1,"z":1},"grid_size":{"x":256,"y":1,"z":1}}}],)j"
          R"j("hip_api":[{"kind":1,"operation":1,"thread_id":12,"correlation_id":{"internal":5},"start_timestamp":1000,"end_timestamp":1100,"args":[{"x":1}]}],)j"
          R"j("memory_copy":[{"kind":2,"operation":2,"start_timestamp":1300,"end_timestamp":1400,"src_agent_id":{"handle":100},"dst_agent_id":{"handle":101},"bytes":4096},)j"
          R"j({"kind":2,"operation":2,"start_timestamp":1300,"end_timestamp":1400}],)j"
          R"j("memory_allocation":[{"operation":1,"agent_id":{"handle":101},"start_timestamp":1000,"end_timestamp":1010,"address":"0x1000","allocation_size":512},)j"
          R"j({"operation":3,"agent_id":{"handle":0},"start_timestamp":1500,"end_timestamp":1510,"address":"0x1000","allocation_size":0}],)j"
          R"j("marker_api":[{"kind":5,"operation":1,"thread_id":12,"correlation_id":{"internal":9},"start_timestamp":1000,"end_timestamp":1600}],)j"
          R"j("scratch_memory":[{"start_timestamp":1,"end_timestamp":2},7])j"));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.imported().from, format::rocprofv3_json);
  const auto& devices = file.file().latest()->tables().devices.rows();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(file.text(devices[0].name), "MI300X");
  EXPECT_EQ(devices[0].ordinal, 3);
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(file.text(kernels[0].name), "add()") << "the symbols come later";
  EXPECT_EQ(kernels[0].grid_x, 4U);
  EXPECT_EQ(kernels[0].end - kernels[0].time, 50);
  EXPECT_EQ(copies(file, trace::direction::h2d).first, 2U);
  EXPECT_EQ(copies(file, trace::direction::h2d).second, 4096);
  EXPECT_EQ(file.driver().maximum, 512U);
  EXPECT_EQ(file.driver().at_end, 0U);
  EXPECT_EQ(file.calls(), 1U);
  EXPECT_EQ(file.range("step").count, 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "records of the kind 'scratch_memory'"), 1U);
}

TEST(rocprofv3_json, that_is_broken_is_an_error_with_its_offset) {
  const std::string whole = sdk(R"j("kernel_dispatch":[{"start_timestamp":5,"end_timestamp":9}])j");
  const brought_file cut("a.json", whole.substr(0, whole.size() - 30));
  EXPECT_FALSE(cut.is_read());
  EXPECT_THAT(cut.refusal(), HasSubstr("ends"));
  for (const char* odd :
       {R"j({"rocprofiler-sdk-tool":7})j",
        R"j({"rocprofiler-sdk-tool":[7,{"agents":{},"strings":[],"buffer_records":[1]}]})j",
        R"j({"rocprofiler-sdk-tool":[{"buffer_records":{"kernel_dispatch":[{"a":{"b":{"c":[[]]}}}, {}, []]}}]})j"}) {
    const brought_file file("a.json", odd);
    EXPECT_TRUE(file.is_read()) << odd << file.refusal();
  }
}

// --- the shared cases -------------------------------------------------------------------------------------------------

TEST(foreign_rocm, rocpd) {
  SLUICE_BRING_CASE("r26c-rocpd.db");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.kernels(), 2U);
  EXPECT_EQ(file.text(file.rows<trace::kernel_event>()[0].name), "vector_add");
  EXPECT_EQ(file.driver().maximum, 1048576U);
  EXPECT_EQ(file.text(file.file().latest()->tables().devices.rows().at(0).name), "AMD Instinct MI300X");
}

TEST(foreign_rocm, rpd) {
  SLUICE_BRING_CASE("r26d-trace.rpd");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.kernels(), 1U);
  EXPECT_EQ(file.text(file.rows<trace::kernel_event>()[0].name), "vector_add");
  EXPECT_EQ(file.calls(), 1U);
}

TEST(foreign_rocm, rocprofv3) {
  SLUICE_BRING_CASE("r26e-rocprofv3.json");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.kernels(), 1U);
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].end - kernels[0].time, 1000);
}

}  // namespace
}  // namespace sluice::importing::rocm_files
