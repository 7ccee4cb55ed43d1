// Calls that copy or set memory, and calls that wait for the device.

#include "instrumentation/capture/blocks/contents.hpp"
#include "instrumentation/capture/blocks/faults.hpp"
#include "instrumentation/capture/blocks/touches.hpp"
#include "instrumentation/capture/calls/copy_batches.hpp"
#include "instrumentation/capture/calls/copy_shapes.hpp"
#include "instrumentation/capture/calls/copy_times.hpp"
#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/process/calls.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/stacks/stacks.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

constexpr auto timeline = trace::recording_mode::timeline;
constexpr std::uint32_t id_context_synchronize_v2 = 800;  // Missing in some headers.

template <class T>
std::uint64_t number(const T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

void starts(const call& c, const gpu_work& w) {
  if (!options.copies) return;
  work_starts(c);
  // Hash before timing starts.
  if (options.duplicates_percent != 0) note_content(c, w);
  if (entry_points::in_use()) copy_times::begin(c, w);
}

/// Describes a batch before its copies are known. Its size is unlimited, so that the batch is always timed.
gpu_work any_size(CUstream stream) { return {.bytes = UINT64_MAX, .stream = stream}; }

/// Records a copy or memset. Under capture it defines a graph node, whose blocks each launch touches.
void done(const call& c, const gpu_work& w) {
  work_done(c, w, current_stack());
  const node_place node = c.ok() ? captured_node(c, w.stream) : node_place{};
  if (!node.in_graph()) return;
  const std::uint64_t words[] = {w.source, w.destination};
  touch(c, w.stream, node, c.name, words, 2);
}

/// Call when a copy or memset has been enqueued. A device record is then outstanding, or the copy's events are
/// recorded.
void moved(const call& c, const gpu_work& w) {
  const bool looks = options.duplicates_percent != 0 && options.copies && c.ok();
  const result_place result = looks ? announce_result(c, w) : result_place::none;
  done(c, w);
  if (options.copies && entry_points::in_use()) copy_times::end(c, w);
  if (result != result_place::none) note_result(c, w, result);
}

void stream_made(const call& c, const CUstream* stream) {
  if (c.ok() && stream != nullptr) (void)c.stream(*stream);
}

void waited(const call& c, trace::sync_kind kind, std::uint64_t stream) {
  const bool everything = kind == trace::sync_kind::context;
  if (!c.ok()) call_failed(c, stream);
  // cuCtxSynchronize_v2 may wait for a context other than the current one.
  const bool of_this_context = c.entry == nullptr || c.entry->id != id_context_synchronize_v2;
  if (options.duplicates_percent != 0 && c.ok() && (everything ? of_this_context : stream != 0)) {
    results_ended(c, everything ? 0 : stream);
  }
  if (c.ok() && (everything || stream != 0)) pending.is_done(everything ? 0 : stream, c.begin);
  if (!records_at_least(timeline)) return;
  ring::sync_record out{};
  out.header.time = c.begin;
  out.end = c.now;
  out.stream = stream;
  out.kind = raw(kind);
  out.stack = current_stack();
  ring::emit(out);
}

void event_waited(const call& c, CUevent event) {
  if (options.duplicates_percent != 0 && c.ok()) results_ended_by(c, number(event));
  waited(c, trace::sync_kind::event, 0);
}

void edge(const call& c, bool record, CUevent event, CUstream stream) {
  if (!c.ok()) return call_failed(c, c.stream(stream));
  if (record && options.duplicates_percent != 0 && results_are_awaited()) {
    results_precede(c, number(event), c.stream(stream));
  }
  if (!records_at_least(timeline)) return;
  ring::event_edge_record out{};
  out.header.time = c.begin;
  out.event = number(event);
  out.stream = c.stream(stream);
  ring::emit_bytes(&out.header, record ? ring::record_type::event_record : ring::record_type::event_wait, sizeof out);
}

std::uint64_t rows(std::size_t n) { return n == 0 ? 1 : n; }

memory_side make_side(CUmemorytype type) {
  if (type == CU_MEMORYTYPE_HOST) return memory_side::host;
  return type == CU_MEMORYTYPE_UNIFIED ? memory_side::either : memory_side::device;
}

template <class Copy>
gpu_work shaped(const Copy* copy, std::uint64_t depth, CUstream stream) {
  if (copy == nullptr) return {.stream = stream};
  gpu_work w{get_source(*copy), get_destination(*copy), rows(copy->WidthInBytes) * rows(copy->Height) * depth, stream};
  w.from_array = copy->srcMemoryType == CU_MEMORYTYPE_ARRAY;
  w.to_array = copy->dstMemoryType == CU_MEMORYTYPE_ARRAY;
  w.from = make_side(copy->srcMemoryType);
  w.to = make_side(copy->dstMemoryType);
  const std::uint64_t height = rows(copy->Height);
  if (w.from != memory_side::device) {
    w.shape = {w.source + copy->srcY * copy->srcPitch + copy->srcXInBytes, copy->WidthInBytes, height * depth,
               copy->srcPitch, height};
    if constexpr (requires { copy->srcZ; }) {
      w.shape.slice_pitch = copy->srcPitch * copy->srcHeight;
      w.shape.address += copy->srcZ * w.shape.slice_pitch;
    }
  }
  if (w.to != memory_side::device) {
    w.to_shape = {w.destination + copy->dstY * copy->dstPitch + copy->dstXInBytes, copy->WidthInBytes, height * depth,
                  copy->dstPitch, height};
    if constexpr (requires { copy->dstZ; }) {
      w.to_shape.slice_pitch = copy->dstPitch * copy->dstHeight;
      w.to_shape.address += copy->dstZ * w.to_shape.slice_pitch;
    }
  }
  return w;
}

gpu_work from_host(gpu_work w) {
  w.from = memory_side::host;
  return w;
}
gpu_work to_host(gpu_work w) {
  w.to = memory_side::host;
  return w;
}
gpu_work from_either(gpu_work w) {
  w.from = w.to = memory_side::either;
  return w;
}

// Call ids missing in some headers.
constexpr std::uint32_t id_batch = 776, id_batch_ptsz = 777, id_batch_v2 = 796, id_batch_v2_ptsz = 797;
constexpr std::uint32_t id_3d_batch = 778, id_3d_batch_ptsz = 779, id_3d_batch_v2 = 798, id_3d_batch_v2_ptsz = 799;

#define EDGE(...) [](const call& c) { __VA_ARGS__; }
#define P(type) [[maybe_unused]] const auto& p = c.params<type##_params>()
#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name
/// The entries of a call and of its variant for per-thread default streams, which has the same parameters.
#define WORK(name, twin, text, ...)                                                               \
  { ID(name), text, EDGE(P(name); starts(c, __VA_ARGS__)), EDGE(P(name); moved(c, __VA_ARGS__)) } \
  , { ID(twin), text, EDGE(P(name); starts(c, __VA_ARGS__)), EDGE(P(name); moved(c, __VA_ARGS__)), true }
#define BATCH(id, twin, text, type, ...)                                               \
  {                                                                                    \
    id, text, EDGE(const auto& p = c.params<type>(); starts(c, any_size(p.stream))),   \
        EDGE(const auto& p = c.params<type>(); moved(c, __VA_ARGS__))                  \
  }                                                                                    \
  , {                                                                                  \
    twin, text, EDGE(const auto& p = c.params<type>(); starts(c, any_size(p.stream))), \
        EDGE(const auto& p = c.params<type>(); moved(c, __VA_ARGS__)), true            \
  }
#define BESIDE(name, twin, text, least, contents, ...)                                   \
  { ID(name), text, nullptr, EDGE(P(name); __VA_ARGS__), false, least, false, contents } \
  , { ID(twin), text, nullptr, EDGE(P(name); __VA_ARGS__), true, least, false, contents }
// The preprocessor splits a braced list in a macro argument at its commas.
#define W(...) (gpu_work{__VA_ARGS__})
#define SET(to, size, on, what) (gpu_work{.destination = to, .bytes = size, .stream = on, .value = what})
#define HOST(...) (from_host({__VA_ARGS__}))
#define BACK(...) (to_host({__VA_ARGS__}))
#define EITHER(...) (from_either({__VA_ARGS__}))

constexpr call_entry table[] = {
    // Copies.
    WORK(cuMemcpy, cuMemcpy_ptds, "cuMemcpy", EITHER(p.src, p.dst, p.ByteCount)),
    WORK(cuMemcpyAsync, cuMemcpyAsync_ptsz, "cuMemcpyAsync", EITHER(p.src, p.dst, p.ByteCount, p.hStream)),
    WORK(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, "cuMemcpyHtoD", HOST(number(p.srcHost), p.dstDevice, p.ByteCount)),
    WORK(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, "cuMemcpyDtoH", BACK(p.srcDevice, number(p.dstHost), p.ByteCount)),
    WORK(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, "cuMemcpyDtoD", W(p.srcDevice, p.dstDevice, p.ByteCount)),
    WORK(cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds, "cuMemcpyDtoA", W(p.srcDevice, number(p.dstArray), p.ByteCount)),
    WORK(cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds, "cuMemcpyAtoD", W(number(p.srcArray), p.dstDevice, p.ByteCount)),
    WORK(cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds, "cuMemcpyHtoA",
         HOST(number(p.srcHost), number(p.dstArray), p.ByteCount)),
    WORK(cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds, "cuMemcpyAtoH",
         BACK(number(p.srcArray), number(p.dstHost), p.ByteCount)),
    WORK(cuMemcpyAtoA_v2, cuMemcpyAtoA_v2_ptds, "cuMemcpyAtoA", W(number(p.srcArray), number(p.dstArray), p.ByteCount)),
    WORK(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync_v2_ptsz, "cuMemcpyHtoAAsync",
         HOST(number(p.srcHost), number(p.dstArray), p.ByteCount, p.hStream)),
    WORK(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync_v2_ptsz, "cuMemcpyAtoHAsync",
         BACK(number(p.srcArray), number(p.dstHost), p.ByteCount, p.hStream)),
    WORK(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, "cuMemcpyHtoDAsync",
         HOST(number(p.srcHost), p.dstDevice, p.ByteCount, p.hStream)),
    WORK(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, "cuMemcpyDtoHAsync",
         BACK(p.srcDevice, number(p.dstHost), p.ByteCount, p.hStream)),
    WORK(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, "cuMemcpyDtoDAsync",
         W(p.srcDevice, p.dstDevice, p.ByteCount, p.hStream)),
    WORK(cuMemcpyPeer, cuMemcpyPeer_ptds, "cuMemcpyPeer", W(p.srcDevice, p.dstDevice, p.ByteCount)),
    WORK(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, "cuMemcpyPeerAsync",
         W(p.srcDevice, p.dstDevice, p.ByteCount, p.hStream)),
    WORK(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, "cuMemcpy2D", shaped(p.pCopy, 1, nullptr)),
    WORK(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, "cuMemcpy2DUnaligned", shaped(p.pCopy, 1, nullptr)),
    WORK(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz, "cuMemcpy2DAsync", shaped(p.pCopy, 1, p.hStream)),
    WORK(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, "cuMemcpy3D",
         shaped(p.pCopy, p.pCopy == nullptr ? 1 : rows(p.pCopy->Depth), nullptr)),
    WORK(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz, "cuMemcpy3DAsync",
         shaped(p.pCopy, p.pCopy == nullptr ? 1 : rows(p.pCopy->Depth), p.hStream)),
    WORK(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, "cuMemcpy3DPeer",
         shaped(p.pCopy, p.pCopy == nullptr ? 1 : rows(p.pCopy->Depth), nullptr)),
    WORK(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz, "cuMemcpy3DPeerAsync",
         shaped(p.pCopy, p.pCopy == nullptr ? 1 : rows(p.pCopy->Depth), p.hStream)),
    BATCH(id_batch, id_batch_ptsz, "cuMemcpyBatchAsync", batch_params_v1, record_batch(c, p, p.stream)),
    BATCH(id_batch_v2, id_batch_v2_ptsz, "cuMemcpyBatchAsync", batch_params_v2, record_batch(c, p, p.stream)),
    BATCH(id_3d_batch, id_3d_batch_ptsz, "cuMemcpy3DBatchAsync", shaped_batch_params_v1,
          record_batch(c, p.copies, p.count, p.stream)),
    BATCH(id_3d_batch_v2, id_3d_batch_v2_ptsz, "cuMemcpy3DBatchAsync", shaped_batch_params_v2,
          record_batch(c, p.copies, p.count, p.stream)),
    // Memsets.
    WORK(cuMemsetD8_v2, cuMemsetD8_v2_ptds, "cuMemsetD8", SET(p.dstDevice, p.N, nullptr, p.uc)),
    WORK(cuMemsetD16_v2, cuMemsetD16_v2_ptds, "cuMemsetD16", SET(p.dstDevice, p.N * 2, nullptr, p.us)),
    WORK(cuMemsetD32_v2, cuMemsetD32_v2_ptds, "cuMemsetD32", SET(p.dstDevice, p.N * 4, nullptr, p.ui)),
    WORK(cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds, "cuMemsetD2D8", SET(p.dstDevice, p.Width* p.Height, nullptr, p.uc)),
    WORK(cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds, "cuMemsetD2D16",
         SET(p.dstDevice, p.Width* p.Height * 2, nullptr, p.us)),
    WORK(cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds, "cuMemsetD2D32",
         SET(p.dstDevice, p.Width* p.Height * 4, nullptr, p.ui)),
    WORK(cuMemsetD8Async, cuMemsetD8Async_ptsz, "cuMemsetD8Async", SET(p.dstDevice, p.N, p.hStream, p.uc)),
    WORK(cuMemsetD16Async, cuMemsetD16Async_ptsz, "cuMemsetD16Async", SET(p.dstDevice, p.N * 2, p.hStream, p.us)),
    WORK(cuMemsetD32Async, cuMemsetD32Async_ptsz, "cuMemsetD32Async", SET(p.dstDevice, p.N * 4, p.hStream, p.ui)),
    WORK(cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz, "cuMemsetD2D8Async",
         SET(p.dstDevice, p.Width* p.Height, p.hStream, p.uc)),
    WORK(cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz, "cuMemsetD2D16Async",
         SET(p.dstDevice, p.Width* p.Height * 2, p.hStream, p.us)),
    WORK(cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz, "cuMemsetD2D32Async",
         SET(p.dstDevice, p.Width* p.Height * 4, p.hStream, p.ui)),
    // Prefetches of managed memory have no record of their own; the migrations are recorded.
    {ID(cuMemPrefetchAsync_v2), "cuMemPrefetchAsync", nullptr,
     EDGE(P(cuMemPrefetchAsync_v2); done(c, W(0, p.devPtr, p.count, p.hStream)))},
    {ID(cuMemPrefetchAsync_v2_ptsz), "cuMemPrefetchAsync", nullptr,
     EDGE(P(cuMemPrefetchAsync_v2); done(c, W(0, p.devPtr, p.count, p.hStream))), true},
    // Streams are announced when they are created, because later they may be under capture and cannot be queried then.
    // After a stream is destroyed, another stream may get the same handle.
    {ID(cuStreamCreate), "cuStreamCreate", nullptr, EDGE(P(cuStreamCreate); stream_made(c, p.phStream))},
    {ID(cuStreamCreateWithPriority), "cuStreamCreateWithPriority", nullptr,
     EDGE(P(cuStreamCreateWithPriority); stream_made(c, p.phStream))},
    {ID(cuStreamDestroy_v2), "cuStreamDestroy", EDGE(P(cuStreamDestroy_v2); forget_stream(c.context(), p.hStream)),
     nullptr},
    // Waits are handled in every mode, because they show whether records are missing that should have arrived.
    BESIDE(cuStreamSynchronize, cuStreamSynchronize_ptsz, "cuStreamSynchronize", trace::recording_mode::memory,
           contents_use::no, waited(c, trace::sync_kind::stream, c.stream(p.hStream))),
    {ID(cuEventSynchronize), "cuEventSynchronize", nullptr, EDGE(P(cuEventSynchronize); event_waited(c, p.hEvent)),
     false, timeline, false, contents_use::too},
    // A program that learns from these calls that a copy has ended may then use the copied data.
    {ID(cuEventQuery), "cuEventQuery", nullptr, EDGE(P(cuEventQuery); results_ended_by(c, number(p.hEvent))), false,
     timeline, false, contents_use::only},
    {ID(cuStreamQuery), "cuStreamQuery", nullptr, EDGE(P(cuStreamQuery); results_ended(c, c.stream(p.hStream))), false,
     timeline, false, contents_use::only},
    {ID(cuStreamQuery_ptsz), "cuStreamQuery", nullptr,
     EDGE(P(cuStreamQuery_ptsz); results_ended(c, c.stream(p.hStream))), true, timeline, false, contents_use::only},
    {ID(cuCtxSynchronize), "cuCtxSynchronize", nullptr, context_waited},
    {id_context_synchronize_v2, "cuCtxSynchronize", nullptr, context_waited},
    // Calls that order streams.
    BESIDE(cuEventRecord, cuEventRecord_ptsz, "cuEventRecord", timeline, contents_use::too,
           edge(c, true, p.hEvent, p.hStream)),
    BESIDE(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz, "cuEventRecord", timeline, contents_use::too,
           edge(c, true, p.hEvent, p.hStream)),
    BESIDE(cuStreamWaitEvent, cuStreamWaitEvent_ptsz, "cuStreamWaitEvent", timeline, contents_use::no,
           edge(c, false, p.hEvent, p.hStream)),
};

#undef EITHER
#undef HOST
#undef BACK
#undef SET
#undef W
#undef BESIDE
#undef BATCH
#undef WORK
#undef ID
#undef P
#undef EDGE

}  // namespace

void context_waited(const call& c) { waited(c, trace::sync_kind::context, 0); }

SLUICE_HOT void work_starts(const call& c) { pending.add(c.correlation(), c.begin); }

SLUICE_HOT void work_done(const call& c, const gpu_work& w, std::uint64_t stack) {
  const std::uint64_t stream = c.stream(w.stream);
  if (c.ok() && captured_graph(c, w.stream) == 0) {
    pending.goes_to(c.correlation(), c.begin, stream);
  } else {
    pending.remove(c.correlation());
  }
  ring::api_call_record out{};
  out.header.time = c.begin;
  out.end = c.now;
  out.name = c.name;
  out.source = w.source;
  out.destination = w.destination;
  out.bytes = w.bytes;
  out.stream = stream;
  out.stack = stack;
  out.status = c.result;
  out.correlation = c.correlation();
  out.context = c.context();
  ring::emit(out);
  if (!c.ok()) note_failure(c, stream);
}

SLUICE_HOT node_place captured_node(const call& c, CUstream stream) {
  if (captures.load(std::memory_order_relaxed) <= 0) return {};
  if (stream == nullptr) {
    // The legacy default stream cannot be captured, and a query would end another stream's capture.
    if (!c.per_thread) return {};
    stream = CU_STREAM_PER_THREAD;
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t number = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* last = nullptr;
  std::size_t count = 0;
  if (driver.capture_info != nullptr) {
    const CUresult result = driver.capture_info(stream, &status, &number, &graph, &last, &count);
    if (result != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE) return {};
    // The dependency of the stream's next work is the node that this call has just added.
    const bool known = c.data->callbackSite == CUPTI_API_EXIT && count == 1 && last != nullptr;
    if (graph != nullptr)
      return {reinterpret_cast<std::uint64_t>(graph), known ? reinterpret_cast<std::uint64_t>(last[0]) : 0};
  } else if (driver.is_capturing == nullptr || driver.is_capturing(stream, &status) != CUDA_SUCCESS ||
             status == CU_STREAM_CAPTURE_STATUS_NONE) {
    return {};
  }
  return {ring::foreign_graph_bit, 0};  // Captured into an unknown graph.
}

std::uint64_t captured_graph(const call& c, CUstream stream) { return captured_node(c, stream).graph; }

call_table work_calls() noexcept { return {table, sizeof table / sizeof table[0]}; }

}  // namespace sluice::capture
