// The fake driver's copies, memsets, streams, events and kernels.

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/instrumentation/capture/fake/fake_driver.hpp"

using namespace sluice::fake;

namespace {

/// A stream that waits for an event of a capture joins the capture.
CUresult wait_captured(CUstream stream, CUevent event) {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  const auto captured = s.captured_events.find(event);
  const auto own = s.capturing.find(stream);
  if (captured == s.captured_events.end()) {
    if (own == s.capturing.end() || *reinterpret_cast<std::uint64_t*>(event) == 0) return CUDA_SUCCESS;
    s.capture_broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  const auto& [subject, after] = captured->second;
  if (own != s.capturing.end() && own->second != subject) {
    s.capture_broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  s.capturing[stream] = subject;
  auto& at = subject->streams[stream];
  for (graph_node* node : after) {
    if (std::find(at.begin(), at.end(), node) == at.end()) at.push_back(node);
  }
  return CUDA_SUCCESS;
}

/// An event recorded in a capture has no time. A thread in relaxed capture mode may query other events during captures.
CUresult captured_event(CUevent event) {
  if (const CUresult refused = unsafe_call(); refused != CUDA_SUCCESS) return refused;
  std::lock_guard lock(state().mutex);
  if (!state().captured_events.contains(event)) return CUDA_SUCCESS;
  if (!state().capturing.empty()) state().capture_broken = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

/// The deferred work of a launch, with the arguments at the time of the call.
std::function<void()> captured_kernel(const function& f, void** arguments, CUstream stream) {
  if (arguments == nullptr) return {};
  {
    std::lock_guard lock(state().mutex);
    if (!state().capturing.contains(stream)) return {};
  }
  std::vector<std::vector<std::uint8_t>> kept;
  for (std::size_t i = 0; i < f.sizes.size(); ++i) {
    const auto* source = static_cast<const std::uint8_t*>(arguments[i]);
    kept.emplace_back(source, source + f.sizes[i]);
  }
  return [name = f.name, kept]() mutable {
    std::vector<void*> pointers;
    for (auto& argument : kept) pointers.push_back(argument.data());
    run_kernel(name, pointers.data());
  };
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// --- copies and memsets -----------------------------------------------------------------------------------------------------

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* source, std::size_t bytes) {
  CALL(cuMemcpyHtoD_v2, to, source, bytes);
  copy(the_call, host(to), source, bytes, nullptr, false);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr source_address, std::size_t bytes) {
  CALL(cuMemcpyDtoH_v2, to, source_address, bytes);
  copy(the_call, to, host(source_address), bytes, nullptr, false);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr source_address, std::size_t bytes) {
  CALL(cuMemcpyDtoD_v2, to, source_address, bytes);
  copy(the_call, host(to), host(source_address), bytes, nullptr, false);
  // Unlike the other copies, this copy does not wait: the device stays busy for a while.
  state().busy_until = sluice_fake_hub()->timestamp() + 1'000'000;
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* source, std::size_t bytes, CUstream stream) {
  CALL(cuMemcpyHtoDAsync_v2, to, source, bytes, stream);
  copy(the_call, host(to), source, bytes, stream, true);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr source_address, std::size_t bytes, CUstream stream) {
  CALL(cuMemcpyDtoHAsync_v2, to, source_address, bytes, stream);
  copy(the_call, to, host(source_address), bytes, stream, true);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr source_address, std::size_t bytes, CUstream stream) {
  CALL(cuMemcpyDtoDAsync_v2, to, source_address, bytes, stream);
  const owner source = find_owner(source_address), target = find_owner(to);
  if (source.device != target.device && (source.mapped || target.mapped))
    return the_call.leave(CUDA_ERROR_INVALID_VALUE);
  copy(the_call, host(to), host(source_address), bytes, stream, true);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr source_address, std::size_t bytes, CUstream stream) {
  CALL(cuMemcpyAsync, to, source_address, bytes, stream);
  copy(the_call, host(to), host(source_address), bytes, stream, true);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* shape) {
  CALL(cuMemcpy2D_v2, shape);
  const std::uint64_t start = sluice_fake_hub()->timestamp();
  const auto* source = shape->srcMemoryType == CU_MEMORYTYPE_DEVICE ? static_cast<const char*>(host(shape->srcDevice))
                                                                    : static_cast<const char*>(shape->srcHost);
  source += shape->srcY * shape->srcPitch + shape->srcXInBytes;
  auto* to = static_cast<char*>(shape->dstMemoryType == CU_MEMORYTYPE_HOST ? shape->dstHost : host(shape->dstDevice));
  to += shape->dstY * shape->dstPitch + shape->dstXInBytes;
  // An array has no address, so nothing is copied to it.
  const std::size_t height = shape->dstMemoryType == CU_MEMORYTYPE_ARRAY ? 0 : shape->Height;
  for (std::size_t r = 0; r < height; ++r) {
    std::memcpy(to + r * shape->dstPitch, source + r * shape->srcPitch, shape->WidthInBytes);
  }
  copied(the_call, to, source, shape->WidthInBytes * shape->Height, nullptr, start, false);
  return the_call.leave(CUDA_SUCCESS);
}

/// A context identifies a device: the fake driver's own context is device 0, any other is device 1.
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr source_address, CUcontext from_context,
                           std::size_t bytes, CUstream stream) {
  CALL(cuMemcpyPeerAsync, to, to_context, source_address, from_context, bytes, stream);
  if (device_count() > 1 && (find_owner(to).device != find_device(to_context) ||
                             find_owner(source_address).device != find_device(from_context))) {
    return the_call.leave(CUDA_ERROR_INVALID_VALUE);
  }
  const auto move = [=] { std::memmove(host(to), host(source_address), bytes); };
  if (capture_node(stream, "peer copy", CU_GRAPH_NODE_TYPE_MEMCPY, move) != nullptr) {
    return the_call.leave(CUDA_SUCCESS);
  }
  CUpti_ActivityMemcpyPtoP3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  record.srcKind = record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record.bytes = bytes;
  record.start = sluice_fake_hub()->timestamp();
  move();
  record.end = std::max(sluice_fake_hub()->timestamp(), record.start + 1);
  record.contextId = context_number;
  record.streamId = to_number(stream);
  record.srcDeviceId = from_context == the_context ? 0 : 1;
  record.dstDeviceId = to_context == the_context ? 0 : 1;
  record.srcContextId = record.srcDeviceId + 1;
  record.dstContextId = record.dstDeviceId + 1;
  record.correlationId = the_call.correlation();
  add_record(record);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuCtxEnablePeerAccess(CUcontext context, unsigned flags) {
  CALL(cuCtxEnablePeerAccess, context, flags);
  return the_call.leave(CUDA_SUCCESS);
}

#if CUDA_VERSION >= 13000
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* source_address, std::size_t* sizes, std::size_t count,
                               CUmemcpyAttributes* attributes, std::size_t* indices, std::size_t attribute_count,
                               CUstream stream) {
  CALL(cuMemcpyBatchAsync_v2, to, source_address, sizes, count, attributes, indices, attribute_count, stream);
  std::vector<batch_part> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back({host(to[i]), host(source_address[i]), sizes[i]});
  copy_batch(the_call, parts, stream);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpy3DBatchAsync_v2(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, unsigned long long flags,
                                 CUstream stream) {
  CALL(cuMemcpy3DBatchAsync_v2, count, copies, flags, stream);
  std::vector<batch_part> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const CUextent3D& size = copies[i].extent;
    parts.push_back({host(copies[i].dst.op.ptr.ptr), host(copies[i].src.op.ptr.ptr),
                     size.width * size.height * size.depth});  // Packed: the pitch equals the width.
  }
  copy_batch(the_call, parts, stream);
  return the_call.leave(CUDA_SUCCESS);
}
#endif

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  CALL(cuMemsetD8Async, to, value, count, stream);
  const auto fill = [=] { std::memset(host(to), value, count); };
  if (capture_node(stream, "fill", CU_GRAPH_NODE_TYPE_MEMSET, fill) != nullptr) return the_call.leave(CUDA_SUCCESS);
  const std::uint64_t start = sluice_fake_hub()->timestamp();
  fill();
  set(the_call.correlation(), value, count, stream, start);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  CALL(cuMemsetD8_v2, to, value, count);
  const std::uint64_t start = sluice_fake_hub()->timestamp();
  std::memset(host(to), value, count);
  set(the_call.correlation(), value, count, nullptr, start);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  CALL(cuMemsetD32Async, to, value, count, stream);
  const std::uint64_t start = sluice_fake_hub()->timestamp();
  std::fill_n(static_cast<unsigned*>(host(to)), count, value);
  set(the_call.correlation(), value, count * 4, stream, start);
  return the_call.leave(CUDA_SUCCESS);
}

// --- streams and events: all work has completed already --------------------------------------------------------------

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  CALL(cuStreamCreate, stream, flags);
  new_stream(stream);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  CALL(cuStreamCreateWithPriority, stream, flags, priority);
  new_stream(stream);
  {
    std::lock_guard lock(state().mutex);
    if (priority != 0) state().priorities[*stream] = priority;
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  CALL(cuStreamDestroy_v2, stream);
  CUpti_ResourceData data{};
  data.context = the_context;
  data.resourceHandle.stream = stream;
  sluice_fake_hub()->callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, &data);
  {
    std::lock_guard lock(state().mutex);
    state().priorities.erase(stream);
  }
  delete reinterpret_cast<std::uint32_t*>(stream);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuStreamSynchronize(CUstream stream) {
  CALL(cuStreamSynchronize, stream);
  pools_shrink();
  return the_call.leave(waited_for(stream));
}
CUresult cuStreamQuery(CUstream stream) {
  CALL(cuStreamQuery, stream);
  return the_call.leave(waited_for(stream));
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  if (const CUresult refused = ask_about(stream); refused != CUDA_SUCCESS) return refused;
  *id = to_number(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  if (const CUresult refused = ask_about(stream); refused != CUDA_SUCCESS) return refused;
  *context = the_context;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  if (const CUresult refused = ask_about(stream); refused != CUDA_SUCCESS) return refused;
  std::lock_guard lock(state().mutex);
  const auto found = state().priorities.find(stream);
  *priority = found == state().priorities.end() ? 0 : found->second;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(capture_mode, *mode);
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  CALL(cuStreamWaitEvent, stream, event, flags);
  return the_call.leave(wait_captured(stream, event));
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  CALL(cuEventCreate, event, flags);
  *event = reinterpret_cast<CUevent>(new std::uint64_t(0));
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuEventDestroy_v2(CUevent event) {
  CALL(cuEventDestroy_v2, event);
  {
    std::lock_guard lock(state().mutex);
    state().captured_events.erase(event);
  }
  delete reinterpret_cast<std::uint64_t*>(event);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  CALL(cuEventRecord, event, stream);
  {
    // The legacy default stream waits for the captured stream, which invalidates its capture.
    std::lock_guard lock(state().mutex);
    const bool legacy = stream == nullptr || stream == CU_STREAM_LEGACY;
    if (legacy && !state().capturing.empty()) {
      state().capture_broken = true;
      return the_call.leave(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    state().captured_events.erase(event);
    if (const auto found = state().capturing.find(stream); found != state().capturing.end()) {
      state().captured_events[event] = {found->second, found->second->streams[stream]};
      return the_call.leave(CUDA_SUCCESS);
    }
  }
  *reinterpret_cast<std::uint64_t*>(event) = std::max(sluice_fake_hub()->timestamp(), state().busy_until.load());
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuEventSynchronize(CUevent event) {
  CALL(cuEventSynchronize, event);
  return the_call.leave(captured_event(event));
}
CUresult cuEventQuery(CUevent event) {
  CALL(cuEventQuery, event);
  return the_call.leave(captured_event(event));
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end) {
  *milliseconds =
      static_cast<float>(*reinterpret_cast<std::uint64_t*>(end) - *reinterpret_cast<std::uint64_t*>(begin)) / 1e6F;
  return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}

/// Calls the function at once, because all earlier work has completed.
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  CALL(cuLaunchHostFunc, stream, function, data);
  if (capture_node(stream, "host", CU_GRAPH_NODE_TYPE_HOST, [=] { function(data); }) == nullptr) function(data);
  return the_call.leave(CUDA_SUCCESS);
}

// --- kernels ----------------------------------------------------------------------------

CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = reinterpret_cast<CUmodule>(new int);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  CALL(cuModuleUnload, module);
  unload(module);
  delete reinterpret_cast<int*>(module);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuModuleGetFunction(CUfunction* handle, CUmodule module, const char* name) {
  *handle = reinterpret_cast<CUfunction>(make_function(module, name));
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction handle) {
  const function* f = known_function(handle);
  if (f == nullptr || f->name.starts_with("library")) return CUDA_ERROR_INVALID_HANDLE;
  *name = f->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char** name, CUkernel handle) {
  const function* f = known_function(handle);
  if (f == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *name = f->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuKernelGetParamInfo(CUkernel handle, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  const function* f = known_function(handle);
  if (f == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  load_code(*f);
  if (index >= f->sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = f->offsets[index];
  *bytes = f->sizes[index];
  return CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction handle, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  const function* f = known_function(handle);
  if (f == nullptr || f->name.starts_with("library")) return CUDA_ERROR_INVALID_HANDLE;
  return cuKernelGetParamInfo(reinterpret_cast<CUkernel>(handle), index, offset, bytes);
}
CUresult cuLaunchKernel(CUfunction handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void** arguments, void** extra) {
  CALL(cuLaunchKernel, handle, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
  const function* f = known_function(handle);
  if (f == nullptr) return the_call.leave(CUDA_ERROR_INVALID_HANDLE);
  {
    std::lock_guard lock(state().mutex);
    f->loaded = true;
  }
  if (f->name.starts_with("failing")) return the_call.leave(CUDA_ERROR_INVALID_VALUE);
  if (capture_node(stream, f->name, CU_GRAPH_NODE_TYPE_KERNEL, captured_kernel(*f, arguments, stream)) != nullptr) {
    return the_call.leave(CUDA_SUCCESS);
  }
  if (state().fault != CUDA_SUCCESS) return the_call.leave(CUDA_SUCCESS);
  CUpti_ActivityKernel9 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = sluice_fake_hub()->timestamp();
  run_kernel(f->name, arguments);
  record.end = std::max(sluice_fake_hub()->timestamp(), record.start + 1);
  record.contextId = context_number;
  record.streamId = to_number(stream);
  record.gridX = static_cast<int>(gx);
  record.gridY = static_cast<int>(gy);
  record.gridZ = static_cast<int>(gz);
  record.blockX = static_cast<int>(bx);
  record.blockY = static_cast<int>(by);
  record.blockZ = static_cast<int>(bz);
  record.dynamicSharedMemory = static_cast<int>(shared);
  record.correlationId = the_call.correlation();
  // The launch that causes a fault succeeds. Its record has no times, as on an H200: the kernel never ends.
  const CUresult launched = the_call.leave(CUDA_SUCCESS);
  fault_if_it_does(f->name);
  if (state().fault != CUDA_SUCCESS) record.start = record.end = 0;
  add_record(record, offsetof(CUpti_ActivityKernel9, name), f->name.c_str());
  return launched;
}

}  // extern "C"
#pragma GCC visibility pop
