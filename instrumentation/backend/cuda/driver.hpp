#pragma once

#include <cuda.h>

#include <string>

#include "instrumentation/backend/device_result.hpp"

namespace sluice::backend::cuda {

// The functions of NVIDIA's driver that this backend calls. Each line names a member of `driver`, the function's symbol
// in libcuda.so.1 and its type. The symbols include their version suffix, so the version does not depend on the CUDA
// header used for the build.
#define SLUICE_DRIVER_CALLS(X)                                                                                         \
  X(init, "cuInit", CUresult(unsigned))                                                                                \
  X(driver_version, "cuDriverGetVersion", CUresult(int*))                                                              \
  X(error_text, "cuGetErrorString", CUresult(CUresult, const char**))                                                  \
  X(device_count, "cuDeviceGetCount", CUresult(int*))                                                                  \
  X(device_get, "cuDeviceGet", CUresult(CUdevice*, int))                                                               \
  X(device_name, "cuDeviceGetName", CUresult(char*, int, CUdevice))                                                    \
  X(device_uuid, "cuDeviceGetUuid_v2", CUresult(CUuuid*, CUdevice))                                                    \
  X(device_memory, "cuDeviceTotalMem_v2", CUresult(size_t*, CUdevice))                                                 \
  X(device_attribute, "cuDeviceGetAttribute", CUresult(int*, CUdevice_attribute, CUdevice))                            \
  X(device_pci, "cuDeviceGetPCIBusId", CUresult(char*, int, CUdevice))                                                 \
  X(device_pool, "cuDeviceGetDefaultMemPool", CUresult(CUmemoryPool*, CUdevice))                                       \
  X(pool_attribute, "cuMemPoolGetAttribute", CUresult(CUmemoryPool, CUmemPool_attribute, void*))                       \
  X(context_retain, "cuDevicePrimaryCtxRetain", CUresult(CUcontext*, CUdevice))                                        \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", CUresult(CUdevice))                                               \
  X(context_set, "cuCtxSetCurrent", CUresult(CUcontext))                                                               \
  X(context_current, "cuCtxGetCurrent", CUresult(CUcontext*))                                                          \
  X(context_sync, "cuCtxSynchronize", CUresult())                                                                      \
  X(context_id, "cuCtxGetId", CUresult(CUcontext, unsigned long long*))                                                \
  X(allocate, "cuMemAlloc_v2", CUresult(CUdeviceptr*, size_t))                                                         \
  X(free, "cuMemFree_v2", CUresult(CUdeviceptr))                                                                       \
  X(allocate_async, "cuMemAllocAsync", CUresult(CUdeviceptr*, size_t, CUstream))                                       \
  X(free_async, "cuMemFreeAsync", CUresult(CUdeviceptr, CUstream))                                                     \
  X(allocate_host, "cuMemHostAlloc", CUresult(void**, size_t, unsigned))                                               \
  X(free_host, "cuMemFreeHost", CUresult(void*))                                                                       \
  X(register_host, "cuMemHostRegister_v2", CUresult(void*, size_t, unsigned))                                          \
  X(unregister_host, "cuMemHostUnregister", CUresult(void*))                                                           \
  X(allocate_managed, "cuMemAllocManaged", CUresult(CUdeviceptr*, size_t, unsigned))                                   \
  X(prefetch, "cuMemPrefetchAsync_v2", CUresult(CUdeviceptr, size_t, CUmemLocation, unsigned, CUstream))               \
  X(advise, "cuMemAdvise_v2", CUresult(CUdeviceptr, size_t, CUmem_advise, CUmemLocation))                              \
  X(memory_info, "cuMemGetInfo_v2", CUresult(size_t*, size_t*))                                                        \
  X(pointer_attributes, "cuPointerGetAttributes", CUresult(unsigned, CUpointer_attribute*, void**, CUdeviceptr))       \
  X(host_flags, "cuMemHostGetFlags", CUresult(unsigned*, void*))                                                       \
  X(host_device_pointer, "cuMemHostGetDevicePointer_v2", CUresult(CUdeviceptr*, void*, unsigned))                      \
  X(granularity, "cuMemGetAllocationGranularity",                                                                      \
    CUresult(size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags))                                   \
  X(address_reserve, "cuMemAddressReserve", CUresult(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long))   \
  X(address_free, "cuMemAddressFree", CUresult(CUdeviceptr, size_t))                                                   \
  X(physical_create, "cuMemCreate",                                                                                    \
    CUresult(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long))                   \
  X(physical_release, "cuMemRelease", CUresult(CUmemGenericAllocationHandle))                                          \
  X(map, "cuMemMap", CUresult(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long))          \
  X(unmap, "cuMemUnmap", CUresult(CUdeviceptr, size_t))                                                                \
  X(set_access, "cuMemSetAccess", CUresult(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t))                       \
  X(pool_create, "cuMemPoolCreate", CUresult(CUmemoryPool*, const CUmemPoolProps*))                                    \
  X(pool_destroy, "cuMemPoolDestroy", CUresult(CUmemoryPool))                                                          \
  X(pool_set_attribute, "cuMemPoolSetAttribute", CUresult(CUmemoryPool, CUmemPool_attribute, void*))                   \
  X(pool_trim, "cuMemPoolTrimTo", CUresult(CUmemoryPool, size_t))                                                      \
  X(allocate_from_pool, "cuMemAllocFromPoolAsync", CUresult(CUdeviceptr*, size_t, CUmemoryPool, CUstream))             \
  X(memory_export, "cuIpcGetMemHandle", CUresult(CUipcMemHandle*, CUdeviceptr))                                        \
  X(memory_import, "cuIpcOpenMemHandle_v2", CUresult(CUdeviceptr*, CUipcMemHandle, unsigned))                          \
  X(memory_close, "cuIpcCloseMemHandle", CUresult(CUdeviceptr))                                                        \
  X(event_export, "cuIpcGetEventHandle", CUresult(CUipcEventHandle*, CUevent))                                         \
  X(event_import, "cuIpcOpenEventHandle", CUresult(CUevent*, CUipcEventHandle))                                        \
  X(stream_create, "cuStreamCreateWithPriority", CUresult(CUstream*, unsigned, int))                                   \
  X(stream_destroy, "cuStreamDestroy_v2", CUresult(CUstream))                                                          \
  X(stream_sync, "cuStreamSynchronize", CUresult(CUstream))                                                            \
  X(stream_query, "cuStreamQuery", CUresult(CUstream))                                                                 \
  X(stream_wait, "cuStreamWaitEvent", CUresult(CUstream, CUevent, unsigned))                                           \
  X(stream_id, "cuStreamGetId", CUresult(CUstream, unsigned long long*))                                               \
  X(priority_range, "cuCtxGetStreamPriorityRange", CUresult(int*, int*))                                               \
  X(stream_priority, "cuStreamGetPriority", CUresult(CUstream, int*))                                                  \
  X(capture_info, "cuStreamGetCaptureInfo_v2",                                                                         \
    CUresult(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**, size_t*))                   \
  X(event_create, "cuEventCreate", CUresult(CUevent*, unsigned))                                                       \
  X(event_destroy, "cuEventDestroy_v2", CUresult(CUevent))                                                             \
  X(event_record, "cuEventRecord", CUresult(CUevent, CUstream))                                                        \
  X(event_sync, "cuEventSynchronize", CUresult(CUevent))                                                               \
  X(event_query, "cuEventQuery", CUresult(CUevent))                                                                    \
  X(event_elapsed, "cuEventElapsedTime", CUresult(float*, CUevent, CUevent))                                           \
  X(copy, "cuMemcpyAsync", CUresult(CUdeviceptr, CUdeviceptr, size_t, CUstream))                                       \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2", CUresult(CUdeviceptr, const void*, size_t, CUstream))                      \
  X(copy_to_host, "cuMemcpyDtoHAsync_v2", CUresult(void*, CUdeviceptr, size_t, CUstream))                              \
  X(copy_within, "cuMemcpyDtoDAsync_v2", CUresult(CUdeviceptr, CUdeviceptr, size_t, CUstream))                         \
  X(copy_between, "cuMemcpyPeerAsync", CUresult(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))     \
  X(set, "cuMemsetD8Async", CUresult(CUdeviceptr, unsigned char, size_t, CUstream))                                    \
  X(module_load, "cuModuleLoadData", CUresult(CUmodule*, const void*))                                                 \
  X(module_function, "cuModuleGetFunction", CUresult(CUfunction*, CUmodule, const char*))                              \
  X(launch, "cuLaunchKernel",                                                                                          \
    CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**,       \
             void**))                                                                                                  \
  X(launch_host, "cuLaunchHostFunc", CUresult(CUstream, CUhostFn, void*))                                              \
  X(begin_capture, "cuStreamBeginCapture_v2", CUresult(CUstream, CUstreamCaptureMode))                                 \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", CUresult(CUstreamCaptureMode*))                        \
  X(end_capture, "cuStreamEndCapture", CUresult(CUstream, CUgraph*))                                                   \
  X(capture_dependencies, "cuStreamUpdateCaptureDependencies", CUresult(CUstream, CUgraphNode*, size_t, unsigned))     \
  X(graph_destroy, "cuGraphDestroy", CUresult(CUgraph))                                                                \
  X(graph_nodes, "cuGraphGetNodes", CUresult(CUgraph, CUgraphNode*, size_t*))                                          \
  X(graph_edges, "cuGraphGetEdges", CUresult(CUgraph, CUgraphNode*, CUgraphNode*, size_t*))                            \
  X(graph_node_type, "cuGraphNodeGetType", CUresult(CUgraphNode, CUgraphNodeType*))                                    \
  X(graph_dot, "cuGraphDebugDotPrint", CUresult(CUgraph, const char*, unsigned))                                       \
  X(graph_add_child, "cuGraphAddChildGraphNode", CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph)) \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", CUresult(CUgraphExec*, CUgraph, unsigned long long))             \
  X(exec_destroy, "cuGraphExecDestroy", CUresult(CUgraphExec))                                                         \
  X(exec_update, "cuGraphExecUpdate_v2", CUresult(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*))                 \
  X(exec_upload, "cuGraphUpload", CUresult(CUgraphExec, CUstream))                                                     \
  X(exec_launch, "cuGraphLaunch", CUresult(CUgraphExec, CUstream))

// Functions that older drivers lack. With an older driver, the member is null. The attribute parameter is a void*,
// because the build's headers may lack its type.
#define SLUICE_OPTIONAL_DRIVER_CALLS(X)  \
  X(copy_batch, "cuMemcpyBatchAsync_v2", \
    CUresult(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, void*, size_t*, size_t, CUstream))

/// The driver's functions, looked up in libcuda.so.1 at run time. No part of Sluice links against it.
struct driver {
#define SLUICE_MEMBER(member, symbol, ...) \
  using member##_type = __VA_ARGS__;       \
  member##_type* member = nullptr;
  SLUICE_DRIVER_CALLS(SLUICE_MEMBER)
  SLUICE_OPTIONAL_DRIVER_CALLS(SLUICE_MEMBER)
#undef SLUICE_MEMBER

  /// Opens and initializes the driver once per process. The driver stays open. If opening fails, the error names the
  /// missing part.
  [[nodiscard]] static const device_result<driver>& get();

  /// Returns the `failure` that describes the error `result` of the driver function `call`.
  [[nodiscard]] tl::unexpected<failure> fail(CUresult result, const char* call, std::string about = {}) const;
};

}  // namespace sluice::backend::cuda
