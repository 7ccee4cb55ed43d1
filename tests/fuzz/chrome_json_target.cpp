// Imports bytes as a Chrome trace: as they are, and as the inside of a well-formed document, so that mutations reach the events.
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

std::vector<bytes> seeds() {
  const std::string whole =
      R"j({}],"deviceProperties":[{"id":0,"name":"g","totalGlobalMem":7}],"baseTimeNanoseconds":5,"x":[)j";
  return {bytes(events.begin(), events.end()), bytes(whole.begin(), whole.end())};
}

}  // namespace
}  // namespace sluice::fuzz::chrome_json

sluice::fuzz::target sluice::fuzz::chrome_json_target() {
  return {"chrome_json", chrome_json::run, chrome_json::seeds};
}
