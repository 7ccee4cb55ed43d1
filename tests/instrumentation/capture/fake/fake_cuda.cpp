// A libcuda.so.1 without a GPU. Device memory is host memory, copies really copy, and streams execute immediately. Like
// the real driver it loads CUDA_INJECTION64_PATH at cuInit and reports every state-changing call to the fake CUPTI.
// This file has start-up, devices, contexts and memory; fake_cuda_work.cpp has the rest.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/instrumentation/capture/fake/fake_driver.hpp"

using namespace sluice::fake;

namespace {

std::atomic<int> retained{0};  // Retain count of the first device.

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// --- start-up and devices ---------------------------------------------------------------------------------------------------

CUresult cuInit(unsigned) {
  {
    std::lock_guard lock(state().mutex);
    if (std::exchange(state().initialised, true)) return CUDA_SUCCESS;
    state().pools[default_pool] = 0;
  }
  inject();
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = device_count();
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU");
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = state().total;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  std::memcpy(uuid->bytes, "fake device 0 \0", 16);
  uuid->bytes[12] = static_cast<char>('0' + device);
  return CUDA_SUCCESS;
}
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }
CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice) {
  std::snprintf(id, static_cast<std::size_t>(length), "0000:01:00.0");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
      *value = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      break;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      *value = 2;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult result, const char** name) {
  *name = result == CUDA_SUCCESS               ? "CUDA_SUCCESS"
          : result == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                               : "CUDA_ERROR";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult result, const char** text) {
  *text = result == CUDA_SUCCESS ? "no error" : result == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "error";
  return CUDA_SUCCESS;
}
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t,
                             CUdriverProcAddressQueryResult* found) {
  void* self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  *function = dlsym(self, (std::string(symbol) + "_v2").c_str());
  if (*function == nullptr) *function = dlsym(self, symbol);
  if (found != nullptr)
    *found = *function == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

// --- contexts ---------------------------------------------------------------------------------------------------------------

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  CALL(cuDevicePrimaryCtxRetain, context, device);
  *context = find_context(device);
  if (device != 0) return the_call.leave(CUDA_SUCCESS);
  if (retained.fetch_add(1) == 0) {
    sluice_fake_hub()->set_context(the_context, context_number, 0);
    sluice_fake_hub()->set_stream(the_context, nullptr, null_stream_number);
    announce_device();
    CUpti_ResourceData data{};
    data.context = the_context;
    sluice_fake_hub()->callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CALL(cuDevicePrimaryCtxRelease_v2, device);
  if (device == 0 && retained.fetch_sub(1) == 1) {
    CUpti_ResourceData data{};
    data.context = the_context;
    sluice_fake_hub()->callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &data);
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  *flags = 0;
  *active = retained.load() > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) { return cuCtxSetCurrent(context); }
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (context != nullptr) *context = current;
  current = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  *device = find_device(current);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetId(CUcontext, unsigned long long* id) {
  *id = context_number;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  call the_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize", nullptr);
  pools_shrink();
  bool capturing = false;
  {
    std::lock_guard lock(state().mutex);
    capturing = !state().capturing.empty();
    if (capturing) state().capture_broken = true;
  }
  return the_call.leave(capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
}

// --- memory -----------------------------------------------------------------------------------------------------------------

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  while (state().fault != CUDA_SUCCESS && sluice_fake_hub()->flushes == hub::flushing::blocks) pause();
  if (state().fault != CUDA_SUCCESS) return state().fault;
  std::lock_guard lock(state().mutex);
  *total = state().total;
  std::uint64_t kept = 0;  // Bytes that pools hold but that are not in use.
  for (const auto& [pool, used] : state().pools) {
    const std::uint64_t reserved = state().pool_reserved[pool];
    kept += reserved - std::min(reserved, used);
  }
  *free = state().total - std::min(state().total, state().used + kept);
  return CUDA_SUCCESS;
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  std::lock_guard lock(state().mutex);
  std::uint64_t start = 0;
  if (!within(state().blocks, address, &start)) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = start;
  if (bytes != nullptr) *bytes = state().blocks[start];
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  CALL(cuMemAlloc_v2, address, bytes);
  if (const CUresult refused = unsafe_call(); refused != CUDA_SUCCESS) return the_call.leave(refused);
  return the_call.leave(take(address, bytes));
}
CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  CALL(cuMemAllocManaged, address, bytes, flags);
  const CUresult result = take(address, bytes);
  if (result == CUDA_SUCCESS) {
    // The block's pages migrate to the device at once. Like the real driver, this reports only memory that was
    // allocated after reporting was enabled.
    CUpti_ActivityUnifiedMemoryCounter3 moved{};
    moved.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
    moved.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
    moved.value = bytes;
    moved.address = *address;
    moved.start = sluice_fake_hub()->timestamp();
    moved.end = moved.start + 1000;
    add_record(moved);
    std::lock_guard lock(state().mutex);
    state().managed.insert(*address);
  }
  return the_call.leave(result);
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  CALL(cuMemFree_v2, address);
  return the_call.leave(give_back(address));
}
CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned flags) {
  CALL(cuMemHostAlloc, address, bytes, flags);
  *address = bytes == 0 || bytes > state().total ? nullptr : std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (*address == nullptr) return the_call.leave(bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY);
  pin(*address, bytes, flags);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemAllocHost_v2(void** address, std::size_t bytes) { return cuMemHostAlloc(address, bytes, 0); }
CUresult cuMemFreeHost(void* address) {
  CALL(cuMemFreeHost, address);
  if (!unpin(address)) return the_call.leave(CUDA_ERROR_INVALID_VALUE);
  std::free(address);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned flags) {
  CALL(cuMemHostRegister_v2, address, bytes, flags);
  if (get_place(reinterpret_cast<CUdeviceptr>(address)) != place_kind::none) {
    return the_call.leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  }
  pin(address, bytes, flags & (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemHostUnregister(void* address) {
  CALL(cuMemHostUnregister, address);
  return the_call.leave(unpin(address) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
CUresult cuMemHostGetFlags(unsigned* flags, void* address) {
  std::lock_guard lock(state().mutex);
  std::uint64_t base = 0;
  if (!within(state().pinned, reinterpret_cast<std::uint64_t>(address), &base)) return CUDA_ERROR_INVALID_VALUE;
  *flags = state().pinned_flags[base];
  return CUDA_SUCCESS;
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* address, unsigned) {
  if (get_place(reinterpret_cast<CUdeviceptr>(address)) != place_kind::pinned) return CUDA_ERROR_INVALID_VALUE;
  *device = reinterpret_cast<CUdeviceptr>(address);
  return CUDA_SUCCESS;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, std::size_t bytes, CUmemLocation to, unsigned flags,
                               CUstream stream) {
  CALL(cuMemPrefetchAsync_v2, address, bytes, to, flags, stream);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemAdvise_v2(CUdeviceptr, std::size_t, CUmem_advise, CUmemLocation) { return CUDA_SUCCESS; }
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* wanted, void** values, CUdeviceptr address) {
  const place_kind place = get_place(address);
  for (unsigned i = 0; i < count; ++i) {
    if (wanted[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
      const bool host_memory = place == place_kind::pinned;
      *static_cast<unsigned*>(values[i]) = place == place_kind::none ? 0
                                           : host_memory             ? CU_MEMORYTYPE_HOST
                                                                     : CU_MEMORYTYPE_DEVICE;
    } else if (wanted[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED) {
      *static_cast<unsigned*>(values[i]) = place == place_kind::managed ? 1 : 0;
    } else if (wanted[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
      *static_cast<int*>(values[i]) = place == place_kind::none ? -2 : find_owner(address).device;
    } else if (wanted[i] == CU_POINTER_ATTRIBUTE_CONTEXT) {
      const owner subject = find_owner(address);  // A mapped address is not a block.
      *static_cast<CUcontext*>(values[i]) = subject.mapped ? nullptr : find_context(subject.device);
    } else if (wanted[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER) {
      *static_cast<CUdeviceptr*>(values[i]) = place == place_kind::none ? 0 : address;
    } else if (wanted[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
      const bool host_reaches = place == place_kind::pinned || place == place_kind::managed;
      *static_cast<void**>(values[i]) = host_reaches ? host(address) : nullptr;
    } else if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE) {
      std::lock_guard lock(state().mutex);
      const auto& those = place == place_kind::pinned ? state().pinned : state().blocks;
      std::uint64_t base = 0;
      const bool known = within(those, address, &base);
      const std::uint64_t bytes = known ? those.at(base) : 0;
      *static_cast<std::uint64_t*>(values[i]) = wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE ? bytes : base;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute wanted, CUdeviceptr address) {
  if (get_place(address) == place_kind::none) return CUDA_ERROR_INVALID_VALUE;
  return cuPointerGetAttributes(1, &wanted, &value, address);
}

// --- stream-ordered memory --------------------------------------------------------------------------------------------------

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice) {
  *pool = default_pool;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) { return cuDeviceGetDefaultMemPool(pool, device); }
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  CALL(cuMemPoolCreate, pool, properties);
  *pool = reinterpret_cast<CUmemoryPool>(new int);
  {
    std::lock_guard lock(state().mutex);
    state().pools[*pool] = 0;
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  CALL(cuMemPoolDestroy, pool);
  {
    std::lock_guard lock(state().mutex);
    state().pools.erase(pool);
    state().pool_reserved.erase(pool);
    state().pool_highs.erase(pool);
    state().pool_thresholds.erase(pool);
  }
  delete reinterpret_cast<int*>(pool);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t bytes) {
  CALL(cuMemPoolTrimTo, pool, bytes);
  {
    std::lock_guard lock(state().mutex);
    std::uint64_t& kept = state().pool_reserved[pool];
    kept = std::max(state().pools[pool], std::min<std::uint64_t>(kept, bytes));
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  CALL(cuMemPoolSetAttribute, pool, which, value);
  {
    std::lock_guard lock(state().mutex);
    if (which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) state().pool_thresholds[pool] = *static_cast<cuuint64_t*>(value);
    if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH) state().pool_highs[pool] = state().pools[pool];
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  std::lock_guard lock(state().mutex);
  const auto found = state().pools.find(pool);
  if (found == state().pools.end()) return CUDA_ERROR_INVALID_VALUE;
  cuuint64_t& out = *static_cast<cuuint64_t*>(value);
  out = found->second;
  if (which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) out = state().pool_thresholds[pool];
  if (which == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) out = state().pool_reserved[pool];
  if (which == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || which == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
    out = state().pool_highs[pool];
  return CUDA_SUCCESS;
}
CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  CALL(cuMemAllocAsync, address, bytes, stream);
  capture_node(stream, "allocation", CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  return the_call.leave(take_from(default_pool, address, bytes));
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, CUstream stream) {
  CALL(cuMemAllocFromPoolAsync, address, bytes, pool, stream);
  capture_node(stream, "allocation", CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  return the_call.leave(take_from(pool, address, bytes));
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  CALL(cuMemFreeAsync, address, stream);
  // The address still belongs to the graph; the fake driver never reuses it.
  if (capture_node(stream, "free", CU_GRAPH_NODE_TYPE_MEM_FREE) != nullptr) return the_call.leave(CUDA_SUCCESS);
  return the_call.leave(give_back(address));
}

}  // extern "C"
#pragma GCC visibility pop
