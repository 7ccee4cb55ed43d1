// A libcuda.so.1 without a GPU. Memory is the host's, copies copy, streams are immediate. Like the real
// driver it loads CUDA_INJECTION64_PATH at cuInit, and tells CUPTI (the fake one) of every call that changes something.

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "tests/instrumentation/capture/fake/fake_hub.hpp"

namespace {

using sluice::fake::hub;

constexpr std::size_t page = 4096;

/// Everything the driver holds, under one lock; never destroyed.
struct driver_state {
  std::mutex mutex;
  bool initialised = false;
  std::uint64_t total = std::uint64_t{8} << 30;
  std::uint64_t used = 0;
  std::map<std::uint64_t, std::uint64_t> blocks;  ///< Address and size of what counts as device memory.
  std::map<std::uint64_t, std::uint64_t> pinned;  ///< Likewise of page-locked host memory.
  std::set<std::uint64_t> managed;                ///< Of `blocks`.
  std::uint32_t next_stream = 13;
  std::map<CUmemoryPool, std::uint64_t> pools;  ///< Bytes in use of each.
  std::map<std::uint64_t, CUmemoryPool> pool_of;
};
driver_state& state() {
  static auto* const only = [] {
    auto* made = new driver_state;
    if (const char* bytes = std::getenv("SLUICE_FAKE_MEMORY")) made->total = std::strtoull(bytes, nullptr, 10);
    return made;
  }();
  return *only;
}

const auto the_context = reinterpret_cast<CUcontext>(0x5c00);
const auto default_pool = reinterpret_cast<CUmemoryPool>(0x5900);
constexpr std::uint32_t context_number = 1;
constexpr std::uint32_t null_stream_number = 7;
thread_local CUcontext current = nullptr;
std::atomic<int> retained{0};

/// One call as CUPTI sees it: entered when made, left by `leave`.
class call {
 public:
  call(CUpti_driver_api_trace_cbid id, const char* name, const void* params)
      : id_(static_cast<std::uint32_t>(id)), hub_(*sluice_fake_hub()) {
    data_.callbackSite = CUPTI_API_ENTER;
    data_.functionName = name;
    data_.functionParams = params;
    data_.functionReturnValue = &result_;
    data_.context = current;
    data_.contextUid = current == nullptr ? 0 : context_number;
    data_.correlationData = &kept_;
    data_.correlationId = hub_.next_correlation();
    hub_.callback(CUPTI_CB_DOMAIN_DRIVER_API, id_, &data_);
  }
  CUresult leave(CUresult result) {
    result_ = result;
    data_.callbackSite = CUPTI_API_EXIT;
    data_.context = current;
    data_.contextUid = current == nullptr ? 0 : context_number;
    hub_.callback(CUPTI_CB_DOMAIN_DRIVER_API, id_, &data_);
    return result;
  }
  [[nodiscard]] std::uint32_t correlation() const { return data_.correlationId; }

 private:
  std::uint32_t id_;
  hub& hub_;
  CUpti_CallbackData data_{};
  std::uint64_t kept_ = 0;
  CUresult result_ = CUDA_SUCCESS;
};

#define CALL(name, ...)              \
  name##_params params{__VA_ARGS__}; \
  call the_call(CUPTI_DRIVER_TRACE_CBID_##name, #name, &params)

template <class Record>
void add_record(const Record& record, std::size_t name_offset = 0, const char* name = "") {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&record);
  sluice_fake_hub()->add_record({bytes, bytes + sizeof record}, name_offset, name);
}

std::uint32_t number_of(CUstream stream) {
  return stream == nullptr ? null_stream_number : sluice_fake_hub()->stream_number(the_context, stream);
}

void copied(std::uint32_t correlation, std::uint8_t kind, std::uint8_t source, std::uint8_t destination,
            std::size_t bytes, CUstream stream, std::uint64_t start, bool asynchronous) {
  CUpti_ActivityMemcpy5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = kind;
  record.srcKind = source;
  record.dstKind = destination;
  record.flags = asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  record.bytes = bytes;
  record.start = start;
  record.end = std::max(sluice_fake_hub()->timestamp(), start + 1);
  record.contextId = context_number;
  record.streamId = number_of(stream);
  record.correlationId = correlation;
  add_record(record);
}

void set(std::uint32_t correlation, std::uint32_t value, std::size_t bytes, CUstream stream, std::uint64_t start) {
  CUpti_ActivityMemset3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.value = value;
  record.bytes = bytes;
  record.start = start;
  record.end = std::max(sluice_fake_hub()->timestamp(), start + 1);
  record.contextId = context_number;
  record.streamId = number_of(stream);
  record.correlationId = correlation;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  add_record(record);
}

void announce_device() {
  CUpti_ActivityDevice4 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.globalMemorySize = state().total;
  device.computeCapabilityMajor = 9;
  std::memcpy(device.uuid.bytes, "fake device 0 \0", 16);
  device.isCudaVisible = 1;
  add_record(device, offsetof(CUpti_ActivityDevice4, name), "Fake GPU");
  CUpti_ActivityPcie link{};
  link.kind = CUPTI_ACTIVITY_KIND_PCIE;
  link.pcieGeneration = 4;
  link.linkRate = 16000;
  link.linkWidth = 16;
  add_record(link);
}

void inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (path != nullptr && library == nullptr) std::fprintf(stderr, "fake driver: %s\n", dlerror());
  using entry = int (*)();
  auto* const initialize =
      library == nullptr ? nullptr : reinterpret_cast<entry>(dlsym(library, "InitializeInjection"));
  if (initialize != nullptr) initialize();
}

CUresult take(CUdeviceptr* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  if (bytes > s.total - s.used) return CUDA_ERROR_OUT_OF_MEMORY;
  void* memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  s.blocks[*address] = bytes;
  s.used += bytes;
  return CUDA_SUCCESS;
}

CUresult give_back(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  const auto found = s.blocks.find(address);
  if (found == s.blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  s.used -= found->second;
  s.managed.erase(address);
  if (const auto pool = s.pool_of.find(address); pool != s.pool_of.end()) {
    s.pools[pool->second] -= found->second;
    s.pool_of.erase(pool);
  }
  s.blocks.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}

CUresult take_from(CUmemoryPool pool, CUdeviceptr* address, std::size_t bytes) {
  const CUresult result = take(address, bytes);
  if (result != CUDA_SUCCESS) return result;
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  s.pools[pool] += bytes;
  s.pool_of[*address] = pool;
  return CUDA_SUCCESS;
}

enum class place_kind { none, device, managed, pinned };

bool within(const std::map<std::uint64_t, std::uint64_t>& blocks, std::uint64_t address,
            std::uint64_t* base = nullptr) {
  auto found = blocks.upper_bound(address);
  if (found == blocks.begin()) return false;
  --found;
  if (base != nullptr) *base = found->first;
  return address < found->first + found->second;
}

place_kind place_of(CUdeviceptr address) {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  std::uint64_t base = 0;
  if (within(s.pinned, address)) return place_kind::pinned;
  if (!within(s.blocks, address, &base)) return place_kind::none;
  return s.managed.contains(base) ? place_kind::managed : place_kind::device;
}

void pin(void* address, std::size_t bytes) {
  std::lock_guard lock(state().mutex);
  state().pinned[reinterpret_cast<std::uint64_t>(address)] = bytes;
}
bool unpin(void* address) {
  std::lock_guard lock(state().mutex);
  return state().pinned.erase(reinterpret_cast<std::uint64_t>(address)) != 0;
}

void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

void new_stream(CUstream* stream) {
  driver_state& s = state();
  std::uint32_t number = 0;
  {
    std::lock_guard lock(s.mutex);
    number = s.next_stream++;
  }
  *stream = reinterpret_cast<CUstream>(new std::uint32_t(number));
  sluice_fake_hub()->set_stream(the_context, *stream, number);
  CUpti_ResourceData data{};
  data.context = the_context;
  data.resourceHandle.stream = *stream;
  sluice_fake_hub()->callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED, &data);
}

/// Copies, and queues the record that says so: kinds by where the two ends lie.
void copy(const call& c, void* to, const void* from, std::size_t bytes, CUstream stream, bool asynchronous) {
  const auto memory_of = [](const void* address) -> std::uint8_t {
    switch (place_of(reinterpret_cast<CUdeviceptr>(address))) {
      case place_kind::device:
        return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      case place_kind::managed:
        return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
      case place_kind::pinned:
        return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
      default:
        return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    }
  };
  const auto on_host = [](std::uint8_t kind) {
    return kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED || kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  };
  const std::uint8_t source = memory_of(from);
  const std::uint8_t destination = memory_of(to);
  const bool from_host = on_host(source);
  const bool to_host = on_host(destination);
  const int kind = from_host ? (to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
                             : (to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
  const std::uint64_t start = sluice_fake_hub()->timestamp();
  std::memmove(to, from, bytes);
  copied(c.correlation(), static_cast<std::uint8_t>(kind), source, destination, bytes, stream, start, asynchronous);
}

/// The kernels that the runtime ships, so that its tests can see them work; others do nothing.
void run_kernel(const std::string& name, void** arguments) {
  const auto argument = [&](int i, auto value) {
    std::memcpy(&value, arguments[i], sizeof value);
    return value;
  };
  using words = std::uint32_t*;
  constexpr words none = nullptr;
  constexpr std::uint64_t wide = 0;
  constexpr std::uint32_t narrow = 0;
  if (arguments == nullptr) return;
  if (name == "affine_u32") {
    const words data = argument(0, none);
    for (std::uint64_t i = 0; i < argument(1, wide); ++i) {
      for (std::uint32_t r = 0; r < argument(4, narrow); ++r) {
        data[i] = data[i] * argument(2, narrow) + argument(3, narrow);
      }
    }
  } else if (name == "add_u32") {
    const words out = argument(0, none);
    for (std::uint64_t i = 0; i < argument(3, wide); ++i) out[i] = argument(1, none)[i] + argument(2, none)[i];
  }
}

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
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = 0;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU");
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = state().total;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) {
  std::memcpy(uuid->bytes, "fake device 0 \0", 16);
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
  *context = the_context;
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
  if (retained.fetch_sub(1) == 1) {
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
  *device = 0;
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
  return the_call.leave(CUDA_SUCCESS);
}

// --- memory -----------------------------------------------------------------------------------------------------------------

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  std::lock_guard lock(state().mutex);
  *total = state().total;
  *free = state().total - state().used;
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
  return the_call.leave(take(address, bytes));
}
CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  CALL(cuMemAllocManaged, address, bytes, flags);
  const CUresult result = take(address, bytes);
  if (result == CUDA_SUCCESS) {
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
  pin(*address, bytes);
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
  if (place_of(reinterpret_cast<CUdeviceptr>(address)) != place_kind::none) {
    return the_call.leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  }
  pin(address, bytes);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemHostUnregister(void* address) {
  CALL(cuMemHostUnregister, address);
  return the_call.leave(unpin(address) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* address, unsigned) {
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
  const place_kind place = place_of(address);
  for (unsigned i = 0; i < count; ++i) {
    if (wanted[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
      const bool host_memory = place == place_kind::pinned;
      *static_cast<unsigned*>(values[i]) = place == place_kind::none ? 0
                                           : host_memory             ? CU_MEMORYTYPE_HOST
                                                                     : CU_MEMORYTYPE_DEVICE;
    } else if (wanted[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED) {
      *static_cast<unsigned*>(values[i]) = place == place_kind::managed ? 1 : 0;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
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
  }
  delete reinterpret_cast<int*>(pool);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t bytes) {
  CALL(cuMemPoolTrimTo, pool, bytes);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; }
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute, void* value) {
  std::lock_guard lock(state().mutex);
  const auto found = state().pools.find(pool);
  if (found == state().pools.end()) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<cuuint64_t*>(value) = found->second;
  return CUDA_SUCCESS;
}
CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  CALL(cuMemAllocAsync, address, bytes, stream);
  return the_call.leave(take_from(default_pool, address, bytes));
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, CUstream stream) {
  CALL(cuMemAllocFromPoolAsync, address, bytes, pool, stream);
  return the_call.leave(take_from(pool, address, bytes));
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  CALL(cuMemFreeAsync, address, stream);
  return the_call.leave(give_back(address));
}

// --- copies and memsets -----------------------------------------------------------------------------------------------------

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  CALL(cuMemcpyHtoD_v2, to, from, bytes);
  copy(the_call, host(to), from, bytes, nullptr, false);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  CALL(cuMemcpyDtoH_v2, to, from, bytes);
  copy(the_call, to, host(from), bytes, nullptr, false);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  CALL(cuMemcpyDtoD_v2, to, from, bytes);
  copy(the_call, host(to), host(from), bytes, nullptr, false);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  CALL(cuMemcpyHtoDAsync_v2, to, from, bytes, stream);
  copy(the_call, host(to), from, bytes, stream, true);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  CALL(cuMemcpyDtoHAsync_v2, to, from, bytes, stream);
  copy(the_call, to, host(from), bytes, stream, true);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  CALL(cuMemcpyDtoDAsync_v2, to, from, bytes, stream);
  copy(the_call, host(to), host(from), bytes, stream, true);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  CALL(cuMemcpyAsync, to, from, bytes, stream);
  copy(the_call, host(to), host(from), bytes, stream, true);
  return the_call.leave(CUDA_SUCCESS);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  CALL(cuMemsetD8Async, to, value, count, stream);
  const std::uint64_t start = sluice_fake_hub()->timestamp();
  std::memset(host(to), value, count);
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

// --- streams and events: everything has happened already --------------------------------------------------------------------

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  CALL(cuStreamCreate, stream, flags);
  new_stream(stream);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  CALL(cuStreamCreateWithPriority, stream, flags, priority);
  new_stream(stream);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  CALL(cuStreamDestroy_v2, stream);
  CUpti_ResourceData data{};
  data.context = the_context;
  data.resourceHandle.stream = stream;
  sluice_fake_hub()->callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, &data);
  delete reinterpret_cast<std::uint32_t*>(stream);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuStreamSynchronize(CUstream stream) {
  CALL(cuStreamSynchronize, stream);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuStreamQuery(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  *id = number_of(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamGetPriority(CUstream, int* priority) {
  *priority = 0;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  thread_local CUstreamCaptureMode mine = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(mine, *mode);
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  CALL(cuStreamWaitEvent, stream, event, flags);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  CALL(cuEventCreate, event, flags);
  *event = reinterpret_cast<CUevent>(new std::uint64_t(0));
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuEventDestroy_v2(CUevent event) {
  CALL(cuEventDestroy_v2, event);
  delete reinterpret_cast<std::uint64_t*>(event);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  CALL(cuEventRecord, event, stream);
  *reinterpret_cast<std::uint64_t*>(event) = sluice_fake_hub()->timestamp();
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuEventSynchronize(CUevent event) {
  CALL(cuEventSynchronize, event);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuEventQuery(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end) {
  *milliseconds =
      static_cast<float>(*reinterpret_cast<std::uint64_t*>(end) - *reinterpret_cast<std::uint64_t*>(begin)) / 1e6F;
  return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}

// --- kernels ----------------------------------------------------------------------------

CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = reinterpret_cast<CUmodule>(new int);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<int*>(module);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  // Kept for ever, as what a kernel's record is named by.
  *function = reinterpret_cast<CUfunction>(new std::string(name));
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void** arguments, void** extra) {
  CALL(cuLaunchKernel, function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
  CUpti_ActivityKernel9 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = sluice_fake_hub()->timestamp();
  run_kernel(*reinterpret_cast<std::string*>(function), arguments);
  record.end = std::max(sluice_fake_hub()->timestamp(), record.start + 1);
  record.contextId = context_number;
  record.streamId = number_of(stream);
  record.gridX = static_cast<int>(gx);
  record.gridY = static_cast<int>(gy);
  record.gridZ = static_cast<int>(gz);
  record.blockX = static_cast<int>(bx);
  record.blockY = static_cast<int>(by);
  record.blockZ = static_cast<int>(bz);
  record.dynamicSharedMemory = static_cast<int>(shared);
  record.correlationId = the_call.correlation();
  add_record(record, offsetof(CUpti_ActivityKernel9, name), reinterpret_cast<std::string*>(function)->c_str());
  return the_call.leave(CUDA_SUCCESS);
}

}  // extern "C"
#pragma GCC visibility pop
