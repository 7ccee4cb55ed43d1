// Allocations and frees. An allocation gets the time of its exit edge, a free the time of its entry edge, because
// another thread may get the same address during a free.

#include "instrumentation/capture/blocks/contents.hpp"
#include "instrumentation/capture/blocks/faults.hpp"
#include "instrumentation/capture/blocks/live_blocks.hpp"
#include "instrumentation/capture/blocks/touches.hpp"
#include "instrumentation/capture/calls/bypass_check.hpp"
#include "instrumentation/capture/calls/graph_calls.hpp"
#include "instrumentation/capture/calls/shared_memory.hpp"
#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/process/calls.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/stacks/stacks.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

using namespace trace;

template <class Handle>
std::uint64_t number(Handle* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}
inline std::uint64_t number(CUdeviceptr address) { return address; }

struct allocation {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  memory_kind kind = memory_kind::device;
  trace::layer layer = trace::layer::driver;
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;
  std::uint32_t flags = 0;
  std::uint64_t owner = 0;
};

/// The value to which an output parameter points if the call succeeded; else 0.
template <class T>
std::uint64_t written(const call& c, const T* pointer) {
  return c.ok() && pointer != nullptr ? number(*pointer) : 0;
}

void note_change() {
  if (!memory_changed.load(std::memory_order_relaxed)) memory_changed.store(true, std::memory_order_relaxed);
}

SLUICE_HOT void allocated(const call& c, const allocation& a) {
  note_change();
  if (!c.ok()) {
    ring::alloc_failed_record out{};
    out.header.time = c.now;
    out.header.flags = a.flags;
    out.bytes = a.bytes;
    out.pool = a.pool;
    out.stream = a.stream;
    out.name = c.name;
    out.stack = allocation_stack();
    out.status = c.result;
    out.device = c.device();
    out.layer = raw(a.layer);
    out.kind = raw(a.kind);
    ring::emit(out);
    note_failure(c, a.stream);
    return;
  }
  if (a.address == 0) return;
  // If the record only raises a block's use count, the block is already in the table.
  if ((a.flags & ring::flag_shared) == 0 || a.bytes != 0) {
    live_blocks::add({a.address, a.bytes, a.layer, a.kind, c.device()});
  }
  ring::alloc_record out{};
  out.header.time = c.now;
  out.header.flags = a.flags;
  out.address = a.address;
  out.bytes = a.bytes;
  out.call_begin = c.begin;
  out.pool = a.pool;
  out.stream = a.stream;
  out.name = c.name;
  out.stack = allocation_stack();
  out.owner = a.owner;
  out.device = c.device();
  out.context = c.context();
  out.correlation = c.correlation();
  out.layer = raw(a.layer);
  out.kind = raw(a.kind);
  ring::emit(out);
}

/// True if this thread's last free was that of an unknown block.
SLUICE_THREAD_LOCAL bool freed_unknown = false;

SLUICE_HOT void freed(const call& c, std::uint64_t address, memory_kind kind, layer layer = layer::driver,
                      std::uint64_t stream = 0, std::uint32_t flags = 0) {
  if (address == 0) return;
  note_change();
  freed_unknown = !live_blocks::remove(address, layer, kind);
  ring::free_record out{};
  out.header.time = c.begin;
  out.header.flags = flags;
  out.address = address;
  out.stream = stream;
  out.correlation = c.correlation();
  out.layer = raw(layer);
  out.kind = raw(kind);
  ring::emit(out);
}

/// One call may remove several adjacent mappings.
void unmapped(const call& c, std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t granularity = std::uint64_t{2} << 20;
  constexpr std::uint64_t max_steps = 1 << 16;
  note_change();
  for (std::uint64_t at = 0; at < bytes && at / granularity < max_steps; at += granularity) {
    live_blocks::remove(address + at, layer::driver, memory_kind::mapping);
  }
  ring::free_record out{};
  out.header.time = c.begin;
  out.address = address;
  out.bytes = bytes;
  out.correlation = c.correlation();
  out.layer = raw(layer::driver);
  out.kind = raw(memory_kind::mapping);
  ring::emit(out);
}

/// A call that changes memory, but neither allocates nor frees any.
void noted(const call& c, std::uint64_t address, std::uint64_t bytes) {
  ring::api_call_record out{};
  out.header.time = c.begin;
  out.end = c.now;
  out.name = c.name;
  out.destination = address;
  out.bytes = bytes;
  out.status = c.result;
  out.context = c.context();
  ring::emit(out);
  if (!c.ok()) note_failure(c, 0);
}

/// Exit of a synchronous free.
void free_done(const call& c, std::uint64_t address) {
  if (address == 0 || !c.ok()) return;
  if (freed_unknown && entry_points::in_use()) bypass_check::unknown_free(address);
  ring::free_completed_record out{};
  out.header.time = c.now;
  out.address = address;
  out.correlation = c.correlation();
  out.layer = raw(layer::driver);
  ring::emit(out);
}

std::uint64_t element_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    default:
      return 4;
  }
}

std::uint64_t at_least_one(std::size_t n) { return n == 0 ? 1 : n; }

std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& d, unsigned levels = 1) {
  std::uint64_t total = 0;
  for (unsigned level = 0; level < levels && level < 32; ++level) {
    total += at_least_one(d.Width >> level) * at_least_one(d.Height >> level) * at_least_one(d.Depth >> level);
  }
  return total * d.NumChannels * element_bytes(d.Format);
}

CUDA_ARRAY3D_DESCRIPTOR three_dimensional(const CUDA_ARRAY_DESCRIPTOR& d) {
  CUDA_ARRAY3D_DESCRIPTOR out{};
  out.Width = d.Width;
  out.Height = d.Height;
  out.Format = d.Format;
  out.NumChannels = d.NumChannels;
  return out;
}

/// Records that a memory node was added. From now on, the graph owns the address, and the memory exists while the graph
/// runs.
void graph_allocated(const call& c, std::uint64_t address, std::size_t bytes, std::uint64_t graph) {
  const std::uint32_t device = c.device();
  allocated(c, {.address = address,
                .bytes = bytes,
                .layer = layer::pool,
                .pool = graph_pool(device),
                .flags = ring::flag_graph,
                .owner = graph});
}

void graph_node_added(const call& c, const CUgraphNodeParams* node, CUgraph graph, const CUgraphNode* created) {
  if (node == nullptr) return;
  if (node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    return any_node(c, get_place(graph, c.ok() && created != nullptr ? *created : nullptr), node, true);
  }
  graph_allocated(c, c.ok() ? node->alloc.dptr : 0, node->alloc.bytesize, number(graph));
}

void graph_ended(std::uint64_t graph) {
  if (graph == 0) return;
  ring::graph_end_record out{};
  out.header.time = ring::now();
  out.graph = graph;
  ring::emit(out);
}

void async_allocated(const call& c, const CUdeviceptr* address, std::size_t bytes, CUstream stream,
                     std::uint64_t pool) {
  if (const std::uint64_t graph = captured_graph(c, stream); graph != 0) {
    graph_allocated(c, written(c, address), bytes, graph);
    return;
  }
  allocated(c, {.address = written(c, address),
                .bytes = bytes,
                .layer = layer::pool,
                .stream = c.stream(stream),
                .pool = pool,
                .flags = ring::flag_asynchronous});
}

/// Announces the pool first, because the program need not have created the pool: it may be the device's default pool.
void allocated_from_pool(const call& c, const cuMemAllocFromPoolAsync_params& p) {
  if (c.ok()) know_pool(number(p.pool), c.device());
  async_allocated(c, p.dptr, p.bytesize, p.hStream, number(p.pool));
}

/// Under capture, this only adds a node; the graph keeps the address.
void async_freed(const call& c, CUdeviceptr address, CUstream stream) {
  if (captured_graph(c, stream) != 0) return;
  freed(c, address, memory_kind::unknown, layer::pool, c.stream(stream), ring::flag_asynchronous);
}

/// Records that memory owned by another process was opened. The memory's size must be queried by its address.
void ipc_opened(const call& c, const CUdeviceptr* address, layer layer, std::uint64_t pool) {
  const std::uint64_t where = written(c, address);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  if (where != 0 && driver.address_range != nullptr) driver.address_range(&base, &bytes, where);
  allocated(
      c, {.address = where, .bytes = bytes, .layer = layer, .pool = pool, .flags = ring::flag_ipc | ring::flag_shared});
}

/// Calls that destroy a context. The records of its streams are collected first.
void context_ends(const call& c, CUcontext handle, std::uint32_t device) {
  (void)c;
  flush_now(200);
  forget_functions();
  close_contexts(handle, device);
}
void context_ended(const call& c, CUcontext handle, std::uint32_t device, bool whoever_holds_it = false) {
  if (c.ok()) contexts_ended(handle, device, whoever_holds_it);
  reopen_contexts();
}

#define EDGE(...) [](const call& c) { __VA_ARGS__; }
#define P(type) [[maybe_unused]] const auto& p = c.params<type##_params>()
#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name

constexpr call_entry table[] = {
    // Device memory.
    {ID(cuMemAlloc_v2), "cuMemAlloc", nullptr,
     EDGE(P(cuMemAlloc_v2); allocated(c, {.address = written(c, p.dptr), .bytes = p.bytesize}))},
    {ID(cuMemAllocPitch_v2), "cuMemAllocPitch", nullptr,
     EDGE(P(cuMemAllocPitch_v2); const std::uint64_t pitch = c.ok() && p.pPitch != nullptr ? *p.pPitch : p.WidthInBytes;
          allocated(c, {.address = written(c, p.dptr), .bytes = pitch * p.Height}))},
    // This must precede the allocation, because CUPTI reports no migrations of managed memory older than its own start.
    {ID(cuMemAllocManaged), "cuMemAllocManaged", EDGE(managed_memory_used(c.device())),
     EDGE(P(cuMemAllocManaged);
          allocated(c, {.address = written(c, p.dptr), .bytes = p.bytesize, .kind = memory_kind::managed}))},
    {ID(cuMemFree_v2), "cuMemFree", EDGE(P(cuMemFree_v2); freed(c, p.dptr, memory_kind::unknown)),
     EDGE(P(cuMemFree_v2); free_done(c, p.dptr))},
    {ID(cuArrayCreate_v2), "cuArrayCreate", nullptr,
     EDGE(P(cuArrayCreate_v2);
          allocated(c, {.address = written(c, p.pHandle),
                        .bytes = p.pAllocateArray == nullptr ? 0 : array_bytes(three_dimensional(*p.pAllocateArray)),
                        .kind = memory_kind::array}))},
    {ID(cuArray3DCreate_v2), "cuArray3DCreate", nullptr,
     EDGE(P(cuArray3DCreate_v2);
          allocated(c, {.address = written(c, p.pHandle),
                        .bytes = p.pAllocateArray == nullptr ? 0 : array_bytes(*p.pAllocateArray),
                        .kind = memory_kind::array}))},
    {ID(cuArrayDestroy), "cuArrayDestroy", EDGE(P(cuArrayDestroy); freed(c, number(p.hArray), memory_kind::array)),
     EDGE(P(cuArrayDestroy); free_done(c, number(p.hArray)))},
    {ID(cuMipmappedArrayCreate), "cuMipmappedArrayCreate", nullptr,
     EDGE(
         P(cuMipmappedArrayCreate); allocated(
             c, {.address = written(c, p.pHandle),
                 .bytes = p.pMipmappedArrayDesc == nullptr ? 0 : array_bytes(*p.pMipmappedArrayDesc, p.numMipmapLevels),
                 .kind = memory_kind::array}))},
    {ID(cuMipmappedArrayDestroy), "cuMipmappedArrayDestroy",
     EDGE(P(cuMipmappedArrayDestroy); freed(c, number(p.hMipmappedArray), memory_kind::array)),
     EDGE(P(cuMipmappedArrayDestroy); free_done(c, number(p.hMipmappedArray)))},
    {ID(cuIpcOpenMemHandle_v2), "cuIpcOpenMemHandle", nullptr,
     EDGE(P(cuIpcOpenMemHandle_v2); ipc_opened(c, p.pdptr, layer::driver, 0);
          imported_block(c, written(c, p.pdptr), p.handle))},
    {ID(cuMemPoolImportPointer), "cuMemPoolImportPointer", nullptr,
     EDGE(P(cuMemPoolImportPointer); ipc_opened(c, p.ptr_out, layer::pool, number(p.pool));
          imported_from_pool(c, written(c, p.ptr_out), number(p.pool), p.shareData))},
    {ID(cuIpcCloseMemHandle), "cuIpcCloseMemHandle",
     EDGE(P(cuIpcCloseMemHandle); freed(c, p.dptr, memory_kind::device, layer::driver, 0, ring::flag_ipc)), nullptr},
    // Host memory.
    {ID(cuMemAllocHost_v2), "cuMemAllocHost", nullptr,
     EDGE(P(cuMemAllocHost_v2);
          allocated(c, {.address = written(c, p.pp), .bytes = p.bytesize, .kind = memory_kind::pinned}))},
    {ID(cuMemHostAlloc), "cuMemHostAlloc", nullptr,
     EDGE(P(cuMemHostAlloc);
          allocated(c, {.address = written(c, p.pp), .bytes = p.bytesize, .kind = memory_kind::pinned}))},
    {ID(cuMemFreeHost), "cuMemFreeHost",
     EDGE(P(cuMemFreeHost); forget_results(); freed(c, number(p.p), memory_kind::pinned)),
     EDGE(P(cuMemFreeHost); free_done(c, number(p.p)))},
    {ID(cuMemHostRegister_v2), "cuMemHostRegister", nullptr,
     EDGE(P(cuMemHostRegister_v2); allocated(c, {.address = number(p.p),
                                                 .bytes = p.bytesize,
                                                 .kind = memory_kind::pinned,
                                                 .flags = ring::flag_registered}))},
    {ID(cuMemHostUnregister), "cuMemHostUnregister",
     EDGE(P(cuMemHostUnregister); forget_results();
          freed(c, number(p.p), memory_kind::pinned, layer::driver, 0, ring::flag_registered)),
     EDGE(P(cuMemHostUnregister); free_done(c, number(p.p)))},
    // Stream-ordered memory.
    {ID(cuMemAllocAsync), "cuMemAllocAsync", nullptr,
     EDGE(P(cuMemAllocAsync); async_allocated(c, p.dptr, p.bytesize, p.hStream, current_pool(c.device())))},
    {ID(cuMemAllocAsync_ptsz), "cuMemAllocAsync", nullptr,
     EDGE(P(cuMemAllocAsync); async_allocated(c, p.dptr, p.bytesize, p.hStream, current_pool(c.device()))), true},
    {ID(cuMemAllocFromPoolAsync), "cuMemAllocFromPoolAsync", nullptr,
     EDGE(P(cuMemAllocFromPoolAsync); allocated_from_pool(c, p))},
    {ID(cuMemAllocFromPoolAsync_ptsz), "cuMemAllocFromPoolAsync", nullptr,
     EDGE(P(cuMemAllocFromPoolAsync); allocated_from_pool(c, p)), true},
    {ID(cuMemFreeAsync), "cuMemFreeAsync", EDGE(P(cuMemFreeAsync); async_freed(c, p.dptr, p.hStream)), nullptr},
    {ID(cuMemFreeAsync_ptsz), "cuMemFreeAsync", EDGE(P(cuMemFreeAsync); async_freed(c, p.dptr, p.hStream)), nullptr,
     true},
    {ID(cuMemPoolCreate), "cuMemPoolCreate", nullptr,
     EDGE(P(cuMemPoolCreate); if (written(c, p.pool) != 0) add_pool(number(*p.pool), c.device(), "memory pool"))},
    {ID(cuMemPoolDestroy), "cuMemPoolDestroy", EDGE(P(cuMemPoolDestroy); remove_pool(number(p.pool))), nullptr},
    {ID(cuMemPoolTrimTo), "cuMemPoolTrimTo", nullptr,
     EDGE(P(cuMemPoolTrimTo); if (c.ok()) sample_pool(number(p.pool), pool_operation::trim))},
    {ID(cuMemPoolSetAttribute), "cuMemPoolSetAttribute", nullptr,
     EDGE(P(cuMemPoolSetAttribute); if (c.ok()) sample_pool(number(p.pool), pool_operation::sample))},
    {ID(cuDeviceSetMemPool), "cuDeviceSetMemPool", nullptr,
     EDGE(P(cuDeviceSetMemPool); forget_current_pool(static_cast<std::uint32_t>(p.dev)))},
    // Virtual memory: the addresses, the physical memory and the mapping are three separate blocks.
    {ID(cuMemAddressReserve), "cuMemAddressReserve", nullptr,
     EDGE(P(cuMemAddressReserve);
          allocated(c, {.address = written(c, p.ptr), .bytes = p.size, .kind = memory_kind::reservation}))},
    {ID(cuMemAddressFree), "cuMemAddressFree", EDGE(P(cuMemAddressFree); freed(c, p.ptr, memory_kind::reservation)),
     nullptr},
    {ID(cuMemCreate), "cuMemCreate", nullptr,
     EDGE(P(cuMemCreate);
          allocated(c, {.address = written(c, p.handle), .bytes = p.size, .kind = memory_kind::physical}))},
    {ID(cuMemRelease), "cuMemRelease", EDGE(P(cuMemRelease); freed(c, p.handle, memory_kind::physical)), nullptr},
    {ID(cuMemRetainAllocationHandle), "cuMemRetainAllocationHandle", nullptr,
     EDGE(P(cuMemRetainAllocationHandle);
          allocated(c, {.address = written(c, p.handle), .kind = memory_kind::physical, .flags = ring::flag_shared}))},
    {ID(cuMemImportFromShareableHandle), "cuMemImportFromShareableHandle", nullptr,
     EDGE(P(cuMemImportFromShareableHandle); allocated(c, {.address = written(c, p.handle),
                                                           .kind = memory_kind::physical,
                                                           .flags = ring::flag_shared | ring::flag_ipc});
          imported_physical(c, written(c, p.handle), p.osHandle, p.shHandleType))},
    {ID(cuMemExportToShareableHandle), "cuMemExportToShareableHandle", nullptr,
     EDGE(P(cuMemExportToShareableHandle); noted(c, p.handle, 0);
          exported_physical(c, p.handle, p.shareableHandle, p.handleType))},
    {ID(cuMemMap), "cuMemMap", nullptr,
     EDGE(P(cuMemMap);
          allocated(c, {.address = p.ptr, .bytes = p.size, .kind = memory_kind::mapping, .owner = p.handle}))},
    {ID(cuMemSetAccess), "cuMemSetAccess", nullptr, EDGE(P(cuMemSetAccess); noted(c, p.ptr, p.size))},
    {ID(cuMemUnmap), "cuMemUnmap", EDGE(P(cuMemUnmap); unmapped(c, p.ptr, p.size)), nullptr},
    // Memory owned by graphs.
    {ID(cuGraphAddMemAllocNode), "cuGraphAddMemAllocNode", nullptr,
     EDGE(P(cuGraphAddMemAllocNode); if (p.nodeParams != nullptr)
              graph_allocated(c, c.ok() ? p.nodeParams->dptr : 0, p.nodeParams->bytesize, number(p.hGraph)))},
    {ID(cuGraphAddNode), "cuGraphAddNode", nullptr,
     EDGE(P(cuGraphAddNode); graph_node_added(c, p.nodeParams, p.hGraph, p.phGraphNode))},
    {ID(cuGraphAddNode_v2), "cuGraphAddNode", nullptr,
     EDGE(P(cuGraphAddNode_v2); graph_node_added(c, p.nodeParams, p.hGraph, p.phGraphNode))},
    {ID(cuGraphDestroy), "cuGraphDestroy", EDGE(P(cuGraphDestroy); graph_ended(number(p.hGraph))), nullptr},
    {ID(cuGraphExecDestroy), "cuGraphExecDestroy", EDGE(P(cuGraphExecDestroy); graph_ended(number(p.hGraphExec))),
     nullptr},
    // Access to memory of other devices and processes.
    {ID(cuCtxEnablePeerAccess), "cuCtxEnablePeerAccess", nullptr, EDGE(noted(c, 0, 0))},
    {ID(cuCtxDisablePeerAccess), "cuCtxDisablePeerAccess", nullptr, EDGE(noted(c, 0, 0))},
    {ID(cuIpcGetMemHandle), "cuIpcGetMemHandle", nullptr,
     EDGE(P(cuIpcGetMemHandle); noted(c, p.dptr, 0); exported_block(c, p.dptr, p.pHandle))},
    {ID(cuMemPoolExportToShareableHandle), "cuMemPoolExportToShareableHandle", nullptr,
     EDGE(P(cuMemPoolExportToShareableHandle); noted(c, 0, 0);
          exported_pool(c, number(p.pool), p.handle_out, p.handleType))},
    // The pool belongs to its owner and is sampled there.
    {ID(cuMemPoolImportFromShareableHandle), "cuMemPoolImportFromShareableHandle", nullptr,
     EDGE(P(cuMemPoolImportFromShareableHandle); noted(c, 0, 0);
          imported_pool(c, written(c, p.pool_out), p.handle, p.handleType))},
    {ID(cuMemPoolExportPointer), "cuMemPoolExportPointer", nullptr,
     EDGE(P(cuMemPoolExportPointer); noted(c, p.ptr, 0); exported_from_pool(c, p.ptr, p.shareData_out))},
    // Contexts. When the creating call has returned, the context is complete.
    {ID(cuDevicePrimaryCtxRetain), "cuDevicePrimaryCtxRetain", nullptr,
     EDGE(P(cuDevicePrimaryCtxRetain);
          if (c.ok() && p.pctx != nullptr) note_primary_context(static_cast<std::uint32_t>(p.dev), *p.pctx))},
    {ID(cuCtxCreate_v2), "cuCtxCreate", nullptr, nullptr},
    {ID(cuCtxCreate_v3), "cuCtxCreate", nullptr, nullptr},
    {ID(cuCtxDestroy_v2), "cuCtxDestroy", EDGE(P(cuCtxDestroy_v2); context_ends(c, p.ctx, 0)),
     EDGE(P(cuCtxDestroy_v2); context_ended(c, p.ctx, 0))},
    {ID(cuCtxDestroy), "cuCtxDestroy", EDGE(P(cuCtxDestroy_v2); context_ends(c, p.ctx, 0)),
     EDGE(P(cuCtxDestroy_v2); context_ended(c, p.ctx, 0))},
    {ID(cuDevicePrimaryCtxReset), "cuDevicePrimaryCtxReset",
     EDGE(P(cuDevicePrimaryCtxReset_v2); context_ends(c, nullptr, static_cast<std::uint32_t>(p.dev))),
     EDGE(P(cuDevicePrimaryCtxReset_v2); context_ended(c, nullptr, static_cast<std::uint32_t>(p.dev), true))},
    {ID(cuDevicePrimaryCtxRelease), "cuDevicePrimaryCtxRelease",
     EDGE(P(cuDevicePrimaryCtxRelease_v2); context_ends(c, nullptr, static_cast<std::uint32_t>(p.dev))),
     EDGE(P(cuDevicePrimaryCtxRelease_v2); context_ended(c, nullptr, static_cast<std::uint32_t>(p.dev)))},
    {ID(cuDevicePrimaryCtxReset_v2), "cuDevicePrimaryCtxReset",
     EDGE(P(cuDevicePrimaryCtxReset_v2); context_ends(c, nullptr, static_cast<std::uint32_t>(p.dev))),
     EDGE(P(cuDevicePrimaryCtxReset_v2); context_ended(c, nullptr, static_cast<std::uint32_t>(p.dev), true))},
    {ID(cuDevicePrimaryCtxRelease_v2), "cuDevicePrimaryCtxRelease",
     EDGE(P(cuDevicePrimaryCtxRelease_v2); context_ends(c, nullptr, static_cast<std::uint32_t>(p.dev))),
     EDGE(P(cuDevicePrimaryCtxRelease_v2); context_ended(c, nullptr, static_cast<std::uint32_t>(p.dev)))},
};

#undef ID
#undef P
#undef EDGE

}  // namespace

call_table memory_calls() noexcept { return {table, sizeof table / sizeof table[0]}; }

}  // namespace sluice::capture
