#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#include "core/import/nsys/reader.hpp"
#include "core/import/to_unsigned.hpp"
#include "core/trace/model/ids.hpp"

/// The tables and columns that the importer reads from an Nsight Systems export, with their names in versions from 2020
/// to 2025. The enumerators are positions in the array of columns next to them. Private to core/import.
namespace sluice::importing::nsys {

using enum nsys_column::type;

/// A row whose cells are accessed with the enumerators below.
struct cells {
  const nsys_rows& all;
  const std::int64_t* row;

  [[nodiscard]] bool has(std::size_t column) const { return row[column] != nsys_rows::null; }
  [[nodiscard]] std::int64_t number(std::size_t column, std::int64_t otherwise = 0) const {
    return has(column) ? row[column] : otherwise;
  }
  [[nodiscard]] std::uint64_t natural(std::size_t column) const { return to_unsigned(number(column)); }
  [[nodiscard]] std::uint32_t small(std::size_t column) const {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number(column), 0, UINT32_MAX));
  }
  [[nodiscard]] double real(std::size_t column) const { return std::bit_cast<double>(row[column]); }
  [[nodiscard]] std::string_view text(std::size_t column) const { return all.text(row[column]); }
  [[nodiscard]] trace::time_ns end(std::size_t column) const { return has(column) ? row[column] : trace::unknown_time; }
};

namespace strings {
enum : std::uint8_t { id, value };
inline constexpr nsys_column columns[] = {{"id"}, {"value", text}};
}  // namespace strings

namespace gpu {
enum : std::uint8_t { id, name, memory, uuid, major, minor, ordinal };
inline constexpr nsys_column columns[] = {{"id"},           {"name", text},   {"totalMemory"}, {"uuid", text},
                                          {"computeMajor"}, {"computeMinor"}, {"cuDevice"}};
}  // namespace gpu

namespace cuda_device {
enum : std::uint8_t { gpu, ordinal, pid };
inline constexpr nsys_column columns[] = {{"gpuId"}, {"cudaId"}, {"pid"}};
}  // namespace cuda_device

namespace stream {
enum : std::uint8_t { id, pid, context, priority };
inline constexpr nsys_column columns[] = {{"streamId"}, {"processId"}, {"contextId"}, {"priority"}};
}  // namespace stream

namespace null_stream {
enum : std::uint8_t { id, pid, context };
inline constexpr nsys_column columns[] = {{"streamId"}, {"processId"}, {"contextId"}};
inline constexpr nsys_column newer_columns[] = {{"nullStreamId"}, {"processId"}, {"contextId"}};
}  // namespace null_stream

namespace process {
enum : std::uint8_t { global, name };
inline constexpr nsys_column columns[] = {{"globalPid"}, {"name", text}};
}  // namespace process

namespace thread_name {
enum : std::uint8_t { global, name };
inline constexpr nsys_column columns[] = {{"globalTid"}, {"nameId"}};
}  // namespace thread_name

namespace frame {
enum : std::uint8_t { chain, symbol, depth, module, unresolved, address };
inline constexpr nsys_column columns[] = {{"id"},     {"symbol"},     {"stackDepth"},
                                          {"module"}, {"unresolved"}, {"originalIP"}};
}  // namespace frame

namespace call {
enum : std::uint8_t { begin, end, thread, correlation, name, status, chain };
inline constexpr nsys_column columns[] = {{"start"},  {"end"},         {"globalTid"},  {"correlationId"},
                                          {"nameId"}, {"returnValue"}, {"callchainId"}};
}  // namespace call

/// The first columns are the same for all work on a device.
namespace work {
enum : std::uint8_t { begin, end, device, context, stream, correlation, process, graph_node, first_own };
}  // namespace work
#define SLUICE_NSYS_WORK \
  {"start"}, {"end"}, {"deviceId"}, {"contextId"}, {"streamId"}, {"correlationId"}, {"globalPid"}, { "graphNodeId" }

namespace kernel {
enum : std::uint8_t {
  name = work::first_own,
  short_name,
  mangled_name,
  registers,
  grid_x,
  grid_y,
  grid_z,
  block_x,
  block_y,
  block_z,
  static_shared,
  dynamic_shared
};
inline constexpr nsys_column columns[] = {SLUICE_NSYS_WORK,
                                          {"demangledName"},
                                          {"shortName"},
                                          {"mangledName"},
                                          {"registersPerThread"},
                                          {"gridX"},
                                          {"gridY"},
                                          {"gridZ"},
                                          {"blockX"},
                                          {"blockY"},
                                          {"blockZ"},
                                          {"staticSharedMemory"},
                                          {"dynamicSharedMemory"}};
}  // namespace kernel

namespace copy {
enum : std::uint8_t {
  bytes = work::first_own,
  kind,
  source_kind,
  destination_kind,
  source_device,
  cause,
  address,
  copies
};
inline constexpr nsys_column columns[] = {SLUICE_NSYS_WORK,   {"bytes"},          {"copyKind"},
                                          {"srcKind"},        {"dstKind"},        {"srcDeviceId"},
                                          {"migrationCause"}, {"virtualAddress"}, {"copyCount"}};
}  // namespace copy

namespace memset {
enum : std::uint8_t { bytes = work::first_own, value, kind };
inline constexpr nsys_column columns[] = {SLUICE_NSYS_WORK, {"bytes"}, {"value"}, {"memKind"}};
}  // namespace memset

namespace sync {
enum : std::uint8_t { type = work::first_own };
inline constexpr nsys_column columns[] = {SLUICE_NSYS_WORK, {"syncType"}};
}  // namespace sync

namespace graph_launch {
enum : std::uint8_t { graph = work::first_own, executable };
inline constexpr nsys_column columns[] = {SLUICE_NSYS_WORK, {"graphId"}, {"graphExecId"}};
}  // namespace graph_launch
#undef SLUICE_NSYS_WORK

/// CUDA_GRAPH_EVENTS and CUDA_GRAPH_NODE_EVENTS. Versions before 2023 store nodes in CUDA_GRAPH_EVENTS.
namespace graph {
enum : std::uint8_t { begin, end, thread, name, id, original, executable, node, original_node };
inline constexpr nsys_column columns[] = {{"start"},       {"end"},         {"globalTid"},
                                          {"nameId"},      {"graphId"},     {"originalGraphId"},
                                          {"graphExecId"}, {"graphNodeId"}, {"originalGraphNodeId"}};
}  // namespace graph

namespace record {
enum : std::uint8_t { correlation, process, device, context, stream, event };
inline constexpr nsys_column columns[] = {{"correlationId"}, {"globalPid"}, {"deviceId"},
                                          {"contextId"},     {"streamId"},  {"eventId"}};
}  // namespace record

namespace nvtx {
enum : std::uint8_t { begin, end, type, text_, thread, text_id, domain };
inline constexpr nsys_column columns[] = {{"start"},     {"end"},    {"eventType"}, {"text", text},
                                          {"globalTid"}, {"textId"}, {"domainId"}};
}  // namespace nvtx

/// Samples of NVTX counters, with the columns of `nvtx` and one column for each type of value.
namespace counter {
enum : std::uint8_t { as_double = nvtx::domain + 1, as_float, as_int64, as_int32, as_uint32, as_uint64 };
inline constexpr nsys_column columns[] = {
    {"start"},      {"end"},         {"eventType"},         {"text", text},       {"globalTid"},
    {"textId"},     {"domainId"},    {"doubleValue", real}, {"floatValue", real}, {"int64Value"},
    {"int32Value"}, {"uint32Value"}, {"uint64Value"}};
}  // namespace counter

namespace event_type {
enum : std::uint8_t { id, name };
inline constexpr nsys_column columns[] = {{"id"}, {"name", text}};
}  // namespace event_type

namespace diagnostic {
enum : std::uint8_t { severity, text_, time };
inline constexpr nsys_column columns[] = {{"severity"}, {"text", text}, {"timestamp"}};
}  // namespace diagnostic

namespace memory {
enum : std::uint8_t {
  time,
  address,
  bytes,
  operation,
  kind,
  process,
  device,
  context,
  stream,
  name,
  correlation,
  pool,
  pool_size,
  pool_used,
  pool_threshold
};
inline constexpr nsys_column columns[] = {{"start"},
                                          {"address"},
                                          {"bytes"},
                                          {"memoryOperationType"},
                                          {"memKind"},
                                          {"globalPid"},
                                          {"deviceId"},
                                          {"contextId"},
                                          {"streamId"},
                                          {"name", text},
                                          {"correlationId"},
                                          {"localMemoryPoolAddress"},
                                          {"localMemoryPoolSize"},
                                          {"localMemoryPoolUtilizedSize"},
                                          {"localMemoryPoolReleaseThreshold"}};
}  // namespace memory

namespace fault {
enum : std::uint8_t { time, process, device, number };
inline constexpr nsys_column columns[] = {{"start"}, {"globalPid"}, {"deviceId"}, {"numberOfPageFaults"}};
}  // namespace fault

namespace system_call {
enum : std::uint8_t { begin, end, thread, name };
inline constexpr nsys_column columns[] = {{"start"}, {"end"}, {"globalTid"}, {"nameId"}};
}  // namespace system_call

}  // namespace sluice::importing::nsys
