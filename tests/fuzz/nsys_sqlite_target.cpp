// Imports bytes as an Nsight Systems export.
#include <sqlite3.h>

#include <cstring>

#include "tests/fuzz/import_bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::nsys_sqlite {
namespace {

void run(std::span<const std::uint8_t> input) {
  static constexpr char magic[] = "SQLite format 3";
  bytes file(input.begin(), input.end());
  if (file.size() >= sizeof magic)
    std::memcpy(file.data(), magic, sizeof magic);  // Otherwise hardly any input would pass this check.
  import_bytes({reinterpret_cast<const char*>(file.data()), file.size()});
}

constexpr const char* schema =
    "PRAGMA page_size=512; CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds "
    "VALUES(1,'a'),(2,'b');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, "
    "nameId INTEGER,"
    "callchainId INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1,2,1291845710,3,1,5);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId "
    "INTEGER,"
    "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
    "VALUES(3,4,0,1,7,3,1291845632,2);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, bytes INTEGER, copyKind INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(3,4,100,1),(3,4,100,11);"
    "CREATE TABLE CUDA_CALLCHAINS(id INTEGER, symbol INTEGER, stackDepth INTEGER); INSERT INTO CUDA_CALLCHAINS "
    "VALUES(5,1,0),(5,2,1);"
    "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT); INSERT INTO NVTX_EVENTS "
    "VALUES(1,2,59,'r'),(1,2,75,'d');"
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, address INTEGER, bytes INTEGER, memoryOperationType "
    "INTEGER, memKind INTEGER);"
    "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(1,64,8,0,2),(2,64,8,1,2),(3,65,8,1,2);"
    "CREATE TABLE CUDA_GRAPH_EVENTS(start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, graphId INTEGER, "
    "originalGraphId INTEGER, graphExecId INTEGER, graphNodeId INTEGER, originalGraphNodeId INTEGER);"
    "INSERT INTO CUDA_GRAPH_EVENTS VALUES(1,2,1291845710,1,2,NULL,NULL,NULL,NULL),(1,2,1291845710,1,3,2,4,NULL,NULL),"
    "(1,2,1291845710,1,NULL,NULL,NULL,6,5);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, globalPid INTEGER, graphId INTEGER, "
    "graphExecId INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(3,4,1291845632,2,4),(3,4,1291845632,9,8);"
    "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS SELECT 1 AS start, 2 AS end;";

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  sqlite3* db = nullptr;
  if (sqlite3_open(":memory:", &db) == SQLITE_OK && sqlite3_exec(db, schema, nullptr, nullptr, nullptr) == SQLITE_OK) {
    sqlite3_int64 size = 0;
    unsigned char* const content = sqlite3_serialize(db, "main", &size, 0);
    if (content != nullptr) items.emplace_back(content, content + size);
    sqlite3_free(content);
  }
  sqlite3_close(db);
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::nsys_sqlite

sluice::fuzz::target sluice::fuzz::nsys_sqlite_target() {
  return {"nsys_sqlite", nsys_sqlite::run, nsys_sqlite::seeds};
}
