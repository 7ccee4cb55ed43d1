#pragma once
// The driver calls that a journal stores, the sizes of their parameter structs, and the targets of their pointers.

#include <cuda.h>
#include <cupti.h>

#include <cstddef>

#include "tests/instrumentation/capture/journal.hpp"

namespace sluice::journal {

/// Collects a parameter struct and the targets of its pointers.
class collector {
 public:
  collector(const void* params, std::size_t size, bool exit) : exit_(exit) {
    const auto* p = static_cast<const std::uint8_t*>(params);
    out.bytes.assign(p, p + size);
  }

  /// Adds the target of a pointer that the call reads. Returns the number of the patch, or 0 if the pointer is null.
  std::uint16_t in(const void* pointer, std::size_t offset, std::size_t bytes, std::uint16_t parent = 0) {
    return add(pointer, offset, bytes, parent, true);
  }
  /// Adds the target of a pointer that the call writes; it is stored as zeros at entry.
  void written(const void* pointer, std::size_t offset, std::size_t bytes) { add(pointer, offset, bytes, 0, exit_); }
  /// Adds a pointer whose target is not stored.
  void drop(const void* pointer, std::size_t offset, std::uint16_t parent = 0) {
    add(pointer, offset, 0, parent, true);
  }

  block out;

 private:
  std::uint16_t add(const void* pointer, std::size_t offset, std::size_t bytes, std::uint16_t parent, bool copy) {
    if (pointer == nullptr) return 0;
    patch p{parent, static_cast<std::uint32_t>(offset), std::vector<std::uint8_t>(bytes)};
    if (copy && bytes != 0) std::memcpy(p.bytes.data(), pointer, bytes);
    out.patches.push_back(std::move(p));
    return static_cast<std::uint16_t>(out.patches.size());
  }

  bool exit_;
};

struct driver_call {
  std::uint32_t cbid;
  std::size_t size;
  void (*collect)(collector&, const void*);
};

// cuda.h maps these names to their second versions; both versions are needed here.
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuMemcpyBatchAsync

#define IN(field) c.in(p->field, offsetof(type, field), sizeof(*p->field))
#define IN_N(field, n) c.in(p->field, offsetof(type, field), sizeof(*p->field) * (n))
#define OUT(field) c.written(p->field, offsetof(type, field), sizeof(*p->field))
#define OUT_BYTES(field, n) c.written(p->field, offsetof(type, field), (n))
#define DROP(field) c.drop(p->field, offsetof(type, field))

#define CALL(name, ...)                                                                        \
  {                                                                                            \
    CUPTI_DRIVER_TRACE_CBID_##name, sizeof(name##_params), [](collector& c, const void* raw) { \
      using type = name##_params;                                                              \
      [[maybe_unused]] const auto* p = static_cast<const type*>(raw);                          \
      (void)c;                                                                                 \
      __VA_ARGS__;                                                                             \
    }                                                                                          \
  }
#define CALL_PTSZ(name, ...) CALL(name, __VA_ARGS__), CALL(name##_ptsz, __VA_ARGS__)
#define CALL_PTDS(name, ...) CALL(name, __VA_ARGS__), CALL(name##_ptds, __VA_ARGS__)

#define LAUNCH_ARGUMENTS DROP(kernelParams), DROP(extra)

inline const driver_call driver_calls[] = {
    CALL(cuInit),
    // contexts
    CALL(cuDevicePrimaryCtxRetain, OUT(pctx)),
    CALL(cuDevicePrimaryCtxRelease_v2),
    CALL(cuDevicePrimaryCtxReset_v2),
    CALL(cuCtxCreate_v2, OUT(pctx)),
    CALL(cuCtxDestroy_v2),
    {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 0, [](collector&, const void*) {}},
    CALL(cuCtxEnablePeerAccess),
    // device memory
    CALL(cuMemAlloc_v2, OUT(dptr)),
    CALL(cuMemAllocPitch_v2, OUT(dptr), OUT(pPitch)),
    CALL(cuMemAllocManaged, OUT(dptr)),
    CALL(cuMemFree_v2),
    CALL(cuArrayCreate_v2, OUT(pHandle), IN(pAllocateArray)),
    CALL(cuArray3DCreate_v2, OUT(pHandle), IN(pAllocateArray)),
    CALL(cuArrayDestroy),
    CALL(cuMipmappedArrayCreate, OUT(pHandle), IN(pMipmappedArrayDesc)),
    CALL(cuMipmappedArrayDestroy),
    CALL(cuMemGetInfo_v2, OUT(free), OUT(total)),
    // host memory
    CALL(cuMemAllocHost_v2, OUT(pp)),
    CALL(cuMemHostAlloc, OUT(pp)),
    CALL(cuMemFreeHost),
    CALL(cuMemHostRegister_v2),
    CALL(cuMemHostUnregister),
    CALL(cuMemHostGetDevicePointer_v2, OUT(pdptr)),
    // stream-ordered memory
    CALL_PTSZ(cuMemAllocAsync, OUT(dptr)),
    CALL_PTSZ(cuMemAllocFromPoolAsync, OUT(dptr)),
    CALL_PTSZ(cuMemFreeAsync),
    CALL(cuMemPoolCreate, OUT(pool), IN(poolProps)),
    CALL(cuMemPoolDestroy),
    CALL(cuMemPoolTrimTo),
    CALL(cuMemPoolSetAttribute, OUT_BYTES(value, 8)),
    CALL(cuMemPoolSetAccess, IN_N(map, p->count)),
    CALL(cuDeviceGetDefaultMemPool, OUT(pool_out)),
    CALL(cuDeviceGetMemPool, OUT(pool)),
    CALL(cuDeviceSetMemPool),
    CALL(cuMemPoolImportPointer, OUT(ptr_out), IN(shareData)),
    // virtual memory
    CALL(cuMemAddressReserve, OUT(ptr)),
    CALL(cuMemAddressFree),
    CALL(cuMemCreate, OUT(handle), IN(prop)),
    CALL(cuMemRelease),
    CALL(cuMemMap),
    CALL(cuMemUnmap),
    CALL(cuMemSetAccess, IN_N(desc, p->count)),
    CALL(cuMemImportFromShareableHandle, OUT(handle)),
    CALL(cuMemRetainAllocationHandle, OUT(handle)),
    CALL(cuMemExportToShareableHandle, DROP(shareableHandle)),
    CALL(cuIpcOpenMemHandle_v2, OUT(pdptr)),
    CALL(cuIpcCloseMemHandle),
    // managed memory
    CALL_PTSZ(cuMemPrefetchAsync),
    CALL_PTSZ(cuMemPrefetchAsync_v2),
    CALL(cuMemAdvise),
    CALL(cuMemAdvise_v2),
    // copies
    CALL_PTDS(cuMemcpy),
    CALL_PTSZ(cuMemcpyAsync),
    CALL_PTDS(cuMemcpyHtoD_v2),
    CALL_PTDS(cuMemcpyDtoH_v2),
    CALL_PTDS(cuMemcpyDtoD_v2),
    CALL_PTDS(cuMemcpyDtoA_v2),
    CALL_PTDS(cuMemcpyAtoD_v2),
    CALL_PTDS(cuMemcpyHtoA_v2),
    CALL_PTDS(cuMemcpyAtoH_v2),
    CALL_PTDS(cuMemcpyAtoA_v2),
    CALL_PTSZ(cuMemcpyHtoAAsync_v2),
    CALL_PTSZ(cuMemcpyAtoHAsync_v2),
    CALL_PTSZ(cuMemcpyHtoDAsync_v2),
    CALL_PTSZ(cuMemcpyDtoHAsync_v2),
    CALL_PTSZ(cuMemcpyDtoDAsync_v2),
    CALL_PTDS(cuMemcpyPeer),
    CALL_PTSZ(cuMemcpyPeerAsync),
    CALL_PTDS(cuMemcpy2D_v2, IN(pCopy)),
    CALL_PTDS(cuMemcpy2DUnaligned_v2, IN(pCopy)),
    CALL_PTDS(cuMemcpy3D_v2, IN(pCopy)),
    CALL_PTSZ(cuMemcpy2DAsync_v2, IN(pCopy)),
    CALL_PTSZ(cuMemcpy3DAsync_v2, IN(pCopy)),
    CALL_PTDS(cuMemcpy3DPeer, IN(pCopy)),
    CALL_PTSZ(cuMemcpy3DPeerAsync, IN(pCopy)),
    CALL_PTSZ(cuMemcpyBatchAsync, IN_N(dsts, p->count), IN_N(srcs, p->count), IN_N(sizes, p->count),
              IN_N(attrs, p->numAttrs), IN_N(attrsIdxs, p->numAttrs), OUT(failIdx)),
#if CUDA_VERSION >= 13000
    CALL_PTSZ(cuMemcpyBatchAsync_v2, IN_N(dsts, p->count), IN_N(srcs, p->count), IN_N(sizes, p->count),
              IN_N(attrs, p->numAttrs), IN_N(attrsIdxs, p->numAttrs)),
#endif
    // memsets
    CALL_PTDS(cuMemsetD8_v2),
    CALL_PTDS(cuMemsetD16_v2),
    CALL_PTDS(cuMemsetD32_v2),
    CALL_PTDS(cuMemsetD2D8_v2),
    CALL_PTDS(cuMemsetD2D16_v2),
    CALL_PTDS(cuMemsetD2D32_v2),
    CALL_PTSZ(cuMemsetD8Async),
    CALL_PTSZ(cuMemsetD16Async),
    CALL_PTSZ(cuMemsetD32Async),
    CALL_PTSZ(cuMemsetD2D8Async),
    CALL_PTSZ(cuMemsetD2D16Async),
    CALL_PTSZ(cuMemsetD2D32Async),
    // launches
    CALL_PTSZ(cuLaunchKernel, LAUNCH_ARGUMENTS),
    CALL_PTSZ(cuLaunchCooperativeKernel, DROP(kernelParams)),
    CALL_PTSZ(cuLaunchKernelEx, LAUNCH_ARGUMENTS; if (auto n = IN(config)) c.in(
        p->config->attrs, offsetof(CUlaunchConfig, attrs), sizeof(CUlaunchAttribute) * p->config->numAttrs, n)),
    CALL_PTSZ(cuLaunchHostFunc, DROP(userData)),
    // graphs
    CALL_PTSZ(cuStreamBeginCapture_v2),
    CALL_PTSZ(cuStreamEndCapture, OUT(phGraph)),
    CALL(cuGraphCreate, OUT(phGraph)),
    CALL(cuGraphAddMemAllocNode, OUT(phGraphNode), DROP(dependencies), IN(nodeParams)),
    CALL(cuGraphAddMemFreeNode, OUT(phGraphNode), DROP(dependencies)),
    CALL(cuGraphInstantiateWithFlags, OUT(phGraphExec)),
    CALL_PTSZ(cuGraphInstantiateWithParams, OUT(phGraphExec), IN(instantiateParams)),
    CALL_PTSZ(cuGraphLaunch),
    CALL(cuGraphExecDestroy),
    CALL(cuGraphDestroy),
    CALL(cuDeviceGraphMemTrim),
    // streams, events, synchronisation
    CALL(cuStreamCreate, OUT(phStream)),
    CALL(cuStreamCreateWithPriority, OUT(phStream)),
    CALL(cuStreamDestroy_v2),
    CALL_PTSZ(cuStreamWaitEvent),
    CALL_PTSZ(cuStreamSynchronize),
    CALL(cuEventCreate, OUT(phEvent)),
    CALL(cuEventDestroy_v2),
    CALL_PTSZ(cuEventRecord),
    CALL_PTSZ(cuEventRecordWithFlags),
    CALL(cuEventSynchronize),
};

#undef LAUNCH_ARGUMENTS
#undef CALL_PTDS
#undef CALL_PTSZ
#undef CALL
#undef DROP
#undef OUT_BYTES
#undef OUT
#undef IN_N
#undef IN

}  // namespace sluice::journal
