// Imports bytes as PyTorch's memory data in formats other than pickle: snapshots as JSON and in SQLite, and memory
// timelines.
#include <cstring>

#include "tests/core/import/make_database.hpp"
#include "tests/fuzz/import_bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::torch_forms {
namespace {

void run(std::span<const std::uint8_t> input) {
  static constexpr char magic[] = "SQLite format 3";
  bytes file(input.begin(), input.end());
  if (file.size() >= 512 && file[0] != '{' && file[0] != '[') std::memcpy(file.data(), magic, sizeof magic);
  import_bytes({reinterpret_cast<const char*>(file.data()), file.size()});
}

constexpr std::string_view snapshot =
    R"j({"segments": [{"device": 0, "address": 4096, "total_size": 2048, "stream": 0, "segment_type": "large", )j"
    R"j("segment_pool_id": [0, 0], "is_expandable": false, "frames": [], "blocks": [{"address": 4096, "size": 1024, )j"
    R"j("requested_size": 1000, "state": "active_allocated", "frames": [{"filename": "a.py", "line": 3, "name": "f\u00e9"}]}]}], )j"
    R"j("device_traces": [[{"action": "alloc", "addr": 4096, "size": 1000, "stream": 0, "time_us": 5, )j"
    R"j("frames": [{"filename": "a.py", "line": 3, "name": "f\u00e9"}]}, {"action": "free_completed", "addr": 4096, )j"
    R"j("size": 1000, "time_us": 18446744073709551615, "x": -1.5e3, "y": null, "z": true}]]})j";

constexpr const char* tables =
    "PRAGMA page_size=512; CREATE TABLE segments(id INTEGER, device INTEGER, address INTEGER, total_size INTEGER);"
    "CREATE TABLE blocks(segment_id INTEGER, addr INTEGER, size INTEGER, state TEXT, frames TEXT);"
    "CREATE TABLE device_traces(device INTEGER, action TEXT, addr INTEGER, size INTEGER, time_us INTEGER, frames TEXT);"
    "INSERT INTO segments VALUES(1,0,4096,2048); INSERT INTO blocks "
    "VALUES(1,4096,1024,'active_allocated','[{\"name\":\"f\"}]');"
    "INSERT INTO device_traces VALUES(0,'alloc',4096,1024,5,'[{\"name\":\"f\"}]'),(2,'alloc',1,2,3,'[');";

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  const std::string database = testing::make_database(tables);
  for (const std::string_view each :
       {snapshot, std::string_view(database),
        std::string_view("[[-1,0,1000,0],[17000000000,1,512,3],[17000000001,2,-512,3],[17000000001,2,512,5],["
                         "17000000003,3,-512,5]]"),
        std::string_view("[[1,2,3],[[0,100,0,0,0,0,0,0,0],[0,100,0,0,50,25,0,0,0],[0,100,0,0,20,25,0,0,0]]]")})
    items.emplace_back(each.begin(), each.end());
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::torch_forms

sluice::fuzz::target sluice::fuzz::torch_forms_target() {
  return {"torch_forms", torch_forms::run, torch_forms::seeds};
}
