// Imports bytes as a Chrome trace: unchanged, and as the body of a well-formed document, so that mutations reach the
// events.
#include <string>

#include "tests/fuzz/import_bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::chrome_json {
namespace {

constexpr std::string_view events =
    R"j({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":4,"tid":4,"ts":10.5,"dur":3.25,"args":{"Ev Idx":1}},)j"
    R"j({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20,"dur":1,"args":{"device":0,"context":1,"stream":7,)j"
    R"j("correlation":9,"grid":[1,2,3],"block":[4,5,6],"registers per thread":8,"shared memory":16,"graph node id":3}},)j"
    R"j({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":4,"tid":4,"ts":12,"dur":1,"args":{"correlation":9}},)j"
    R"j({"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":1,"dur":1,"args":{"bytes":5}},)j"
    R"j({"args":{"bytes":256},"cat":"gpu_memset","dur":1,"name":"Memset (Device)","ph":"X","pid":0,"tid":7,"ts":1},)j"
    R"j({"ph":"i","s":"t","name":"[memory]","pid":4,"tid":4,"ts":11,"args":{"Addr":64,"Bytes":512,"Device Id":0,)j"
    R"j("Device Type":1,"Total Allocated":512,"Total Reserved":1024}},)j"
    R"j({"ph":"i","s":"t","name":"[memory]","pid":4,"tid":5,"ts":13,"args":{"Addr":64,"Bytes":-512,"Device Type":1}},)j"
    R"j({"ph":"s","id":1,"pid":4,"tid":4,"ts":11,"cat":"fwdbwd","name":"x"},{"ph":"f","id":1,"pid":4,"tid":4,"ts":12,"bp":"e"},)j"
    R"j({"ph":"B","name":"b","pid":"p","tid":"t","ts":1},{"ph":"E","pid":"p","tid":"t","ts":2},)j"
    R"j({"ph":"b","cat":"a","id":"0x1","name":"r","pid":1,"ts":1},{"ph":"e","cat":"a","id":"0x1","name":"r","pid":1,"ts":2},)j"
    R"j({"ph":"C","name":"heap","pid":1,"ts":3,"args":{"used":1.5e3,"free":-2}},{"ph":"i","name":"\u00e9\\\"","s":"g","ts":4},)j"
    R"j({"ph":"M","name":"process_name","pid":4,"args":{"name":"python"}})j";

void run(std::span<const std::uint8_t> input) {
  const std::string text(input.begin(), input.end());
  import_bytes("[" + text);
  import_bytes(R"({"traceEvents": [)" + text + R"(], "distributedInfo": {"rank": 1}})");
}

constexpr std::string_view dialects =
    R"j({"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},)j"
    R"j({"ph":"X","pid":1,"tid":3,"ts":1,"dur":1,"name":"f","args":{"correlation_id":"7","context_id":"$$1",)j"
    R"j("kernel_details":"regs:32 static_shared:16 dynamic_shared:4 grid:256,2,1 block:128,1,3 occ_pct:100"}},)j"
    R"j({"ph":"X","pid":1,"tid":4,"ts":2,"dur":3,"name":"MemcpyH2D","args":{"correlation_id":"8",)j"
    R"j("memcpy_details":"kind_src:pageable kind_dst:device size:4096 dest:0 async:1"}},)j"
    R"j({"ph":"X","pid":1,"tid":4,"ts":6,"dur":3,"name":"Memset","args":{"correlation_id":9,"Memset_details":"kind:device num_bytes:64"}},)j"
    R"j({"ph":"X","pid":7,"tid":1,"ts":1,"dur":0.001,"name":"MemoryAllocation","args":{"allocator_name":"GPU_0_bfc",)j"
    R"j("allocation_bytes":"4096","addr":"1024","bytes_allocated":"4096","bytes_reserved":"1000000"}},)j"
    R"j({"ph":"M","name":"process_name","pid":2,"args":{"name":"DEVICE<Intel>[2]"}},)j"
    R"j({"ph":"X","tid":2,"pid":2,"name":"Tile #1: f(int)[SIMD32 {8; 4; 1} {32; 1; 1}]","cat":"gpu_op","ts":1,"dur":2},)j"
    R"j({"ph":"X","tid":2,"pid":2,"name":"zeCommandListAppendMemoryCopy(M2D)[8192 bytes]","cat":"gpu_op","ts":1,"dur":4},)j"
    R"j({"ph":"X","name":"CopyHostToDevice","pid":"6","tid":"1","ts":"9","dur":"2","args":{"BeginNs":"1","dev-id":"1","queue-id":"0"}},)j"
    R"j({"ph":"M","name":"process_labels","pid":8,"args":{"labels":"NPU 5"}},)j"
    R"j({"ph":"X","name":"m","pid":8,"tid":2,"ts":"17.250","dur":4,"args":{"Task Type":"MEMCPY_ASYNC","Physic Stream Id":4,)j"
    R"j("size(B)":6,"operation":"host to device"}})j";

std::vector<bytes> seeds() {
  const std::string whole =
      R"j({}],"deviceProperties":[{"id":0,"name":"g","totalGlobalMem":7}],"baseTimeNanoseconds":5,"x":[)j";
  return {bytes(events.begin(), events.end()), bytes(dialects.begin(), dialects.end()),
          bytes(whole.begin(), whole.end())};
}

}  // namespace
}  // namespace sluice::fuzz::chrome_json

sluice::fuzz::target sluice::fuzz::chrome_json_target() {
  return {"chrome_json", chrome_json::run, chrome_json::seeds};
}
