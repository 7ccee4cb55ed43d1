// Imports bytes as files of ROCm's profilers: rocpd and .rpd, and rocprofv3's JSON.
#include <cstring>

#include "tests/core/import/make_database.hpp"
#include "tests/fuzz/import_bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::rocm_files {
namespace {

void run(std::span<const std::uint8_t> input) {
  static constexpr char magic[] = "SQLite format 3";
  bytes file(input.begin(), input.end());
  if (file.size() >= 512 && file[0] != '{') std::memcpy(file.data(), magic, sizeof magic);
  import_bytes({reinterpret_cast<const char*>(file.data()), file.size()});
}

constexpr const char* rocpd =
    "PRAGMA page_size=512; CREATE TABLE rocpd_string_0(id, string); INSERT INTO rocpd_string_0 VALUES(1,'hipMalloc');"
    "CREATE TABLE rocpd_info_agent_0(id, type); INSERT INTO rocpd_info_agent_0 VALUES(1,'CPU'),(2,'GPU');"
    "CREATE TABLE rocpd_event_0(id, correlation_id); INSERT INTO rocpd_event_0 VALUES(1,7);"
    "CREATE TABLE rocpd_region_0(start, end, name_id, event_id); INSERT INTO rocpd_region_0 VALUES(1,2,1,1);"
    "CREATE TABLE rocpd_kernel_dispatch_0(start, end, agent_id, kernel_id, event_id, grid_size_x, workgroup_size_x);"
    "INSERT INTO rocpd_kernel_dispatch_0 VALUES(3,4,2,1,1,64,32);"
    "CREATE TABLE rocpd_memory_copy_0(start, end, size, dst_agent_id, src_agent_id);"
    "INSERT INTO rocpd_memory_copy_0 VALUES(3,4,100,1,2),(3,4,100,2,2);"
    "CREATE TABLE rocpd_memory_allocate_0(start, end, type, level, address, size, agent_id);"
    "INSERT INTO rocpd_memory_allocate_0 VALUES(1,2,'ALLOC','REAL',64,8,2),(3,4,'FREE','REAL',64,0,NULL);";

constexpr const char* rpd =
    "PRAGMA page_size=512; CREATE TABLE rocpd_string(id, string); INSERT INTO rocpd_string "
    "VALUES(1,'CopyHostToDevice'),(2,'KernelExecution');"
    "CREATE TABLE rocpd_api(id, start, end, pid, tid, apiName_id, args_id); INSERT INTO rocpd_api "
    "VALUES(1,1,2,3,3,1,1);"
    "CREATE TABLE rocpd_op(id, start, end, gpuId, queueId, description_id, opType_id);"
    "INSERT INTO rocpd_op VALUES(1,3,4,0,0,1,1),(2,4,5,0,0,1,2);"
    "CREATE TABLE rocpd_api_ops(api_id, op_id); INSERT INTO rocpd_api_ops VALUES(1,1);"
    "CREATE TABLE rocpd_copyapi(api_ptr_id, size); INSERT INTO rocpd_copyapi VALUES(1,64);"
    "CREATE TABLE rocpd_monitor(deviceId, monitorType, start, value); INSERT INTO rocpd_monitor "
    "VALUES(0,'sclk',2,'1.5');";

constexpr std::string_view rocprofv3 =
    R"j({"rocprofiler-sdk-tool":[{"metadata":{"pid":10},"agents":[{"id":{"handle":1},"type":2,"name":"g"}],)j"
    R"j("strings":{"buffer_records":[{"kind":"A","operations":["a","b"]}],"marker_api":[{"key":9,"value":"s"}]},)j"
    R"j("kernel_symbols":[{"kernel_id":1,"formatted_kernel_name":"k"}],"buffer_records":{"kernel_dispatch":[{"kind":0,"operation":1,)j"
    R"j("correlation_id":{"internal":5},"start_timestamp":12,"end_timestamp":15,"dispatch_info":{"agent_id":{"handle":1},)j"
    R"j("kernel_id":1,"workgroup_size":{"x":64},"grid_size":{"x":256}}}],"hip_api":[{"kind":0,"operation":0,"start_timestamp":1,)j"
    R"j("end_timestamp":2,"correlation_id":{"internal":5}}],"memory_copy":[{"start_timestamp":3,"end_timestamp":4,"bytes":7}],)j"
    R"j("memory_allocation":[{"operation":1,"start_timestamp":1,"end_timestamp":2,"address":"0x10","allocation_size":5}]}}]})j";

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  for (const std::string& each : {testing::make_database(rocpd), testing::make_database(rpd), std::string(rocprofv3)})
    items.emplace_back(each.begin(), each.end());
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::rocm_files

sluice::fuzz::target sluice::fuzz::rocm_files_target() { return {"rocm_files", rocm_files::run, rocm_files::seeds}; }
