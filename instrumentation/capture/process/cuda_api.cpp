#include "instrumentation/capture/process/cuda_api.hpp"
#include "instrumentation/capture/process/real_symbol.hpp"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "instrumentation/capture/process/activity_layout.hpp"
#include "instrumentation/capture/process/cupti_names.hpp"

namespace sluice::capture {

cupti_functions cupti;
driver_functions driver;
std::uint32_t cupti_version;

namespace {

char location[512];

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(real_symbol(library, name));
}

bool load_cupti(void* library) {
  find(library, "cuptiGetVersion", cupti.get_version);
  find(library, "cuptiGetResultString", cupti.result_string);
  find(library, "cuptiSubscribe", cupti.subscribe);
  find(library, "cuptiUnsubscribe", cupti.unsubscribe);
  find(library, "cuptiSubscribe_v2", cupti.subscribe_named);
  find(library, "cuptiEnableCallback", cupti.enable_callback);
  find(library, "cuptiEnableDomain", cupti.enable_domain);
  find(library, "cuptiActivityEnable", cupti.activity_enable);
  find(library, "cuptiActivityDisable", cupti.activity_disable);
  find(library, "cuptiActivityRegisterCallbacks", cupti.register_callbacks);
  find(library, "cuptiActivityRegisterTimestampCallback", cupti.register_timestamp);
  find(library, "cuptiActivityGetNextRecord", cupti.next_record);
  find(library, "cuptiActivityGetNumDroppedRecords", cupti.dropped_records);
  find(library, "cuptiActivityFlushAll", cupti.flush_all);
  find(library, "cuptiActivityGetAttribute", cupti.get_attribute);
  find(library, "cuptiActivitySetAttribute", cupti.set_attribute);
  find(library, "cuptiActivityConfigureUnifiedMemoryCounter", cupti.configure_migrations);
  find(library, "cuptiGetContextId", cupti.context_id);
  find(library, "cuptiGetDeviceId", cupti.device_id);
  find(library, "cuptiGetStreamIdEx", cupti.stream_id);
  return cupti.get_version != nullptr && cupti.subscribe != nullptr && cupti.enable_callback != nullptr &&
         cupti.enable_domain != nullptr && cupti.activity_enable != nullptr && cupti.register_callbacks != nullptr &&
         cupti.register_timestamp != nullptr && cupti.next_record != nullptr && cupti.flush_all != nullptr &&
         cupti.context_id != nullptr && cupti.device_id != nullptr && cupti.stream_id != nullptr;
}

void load_driver(void* library) {
  find(library, "cuCtxGetCurrent", driver.current_context);
  find(library, "cuCtxGetDevice", driver.context_device);
  find(library, "cuCtxPushCurrent_v2", driver.push_context);
  find(library, "cuCtxPopCurrent_v2", driver.pop_context);
  find(library, "cuMemGetInfo_v2", driver.memory_info);
  find(library, "cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode);
  find(library, "cuStreamIsCapturing", driver.is_capturing);
  find(library, "cuStreamGetPriority", driver.stream_priority);
  find(library, "cuStreamGetId", driver.stream_id);
  find(library, "cuStreamGetCtx", driver.stream_context);
  find(library, "cuStreamCreate", driver.create_stream);
  find(library, "cuEventCreate", driver.create_event);
  find(library, "cuEventRecord", driver.record_event);
  find(library, "cuEventQuery", driver.event_state);
  find(library, "cuEventElapsedTime", driver.elapsed);
  find(library, "cuPointerGetAttribute", driver.pointer_attribute);
  find(library, "cuDevicePrimaryCtxGetState", driver.primary_state);
  find(library, "cuDeviceGetName", driver.device_name);
  find(library, "cuDeviceTotalMem_v2", driver.device_memory);
  find(library, "cuDeviceGetUuid", driver.device_uuid);
  find(library, "cuDeviceGetAttribute", driver.device_attribute);
  find(library, "cuDeviceGetPCIBusId", driver.device_bus);
  find(library, "cuMemPoolGetAttribute", driver.pool_attribute);
  find(library, "cuDeviceGet", driver.device_get);
  find(library, "cuDeviceGetMemPool", driver.device_pool);
  find(library, "cuDeviceGetGraphMemAttribute", driver.graph_memory);
  find(library, "cuMemGetAddressRange_v2", driver.address_range);
  find(library, "cuPointerGetAttributes", driver.pointer_attributes);
  find(library, "cuFuncGetParamInfo", driver.function_parameter);
  find(library, "cuKernelGetParamInfo", driver.kernel_parameter);
  find(library, "cuFuncGetName", driver.function_name);
  find(library, "cuKernelGetName", driver.kernel_name);
  find(library, "cuGraphGetNodes", driver.graph_nodes);
  find(library, "cuStreamGetCaptureInfo_v2", driver.capture_info);
}

bool try_cupti(const char* path, int flags) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
  if (library == nullptr) return false;
  if (load_cupti(library)) {
    cupti.get_version(&cupti_version);
    link_map* map = nullptr;
    const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0';
    snprintf(location, sizeof location, "%s", known ? map->l_name : path);
    if (cupti_version >= layout::oldest_version) return true;
  }
  memset(&cupti, 0, sizeof cupti);
  dlclose(library);
  return false;
}

/// Finds a libcupti that the program itself has loaded, as PyTorch does. The driver would not call a second copy.
int find_loaded(dl_phdr_info* info, std::size_t, void* found) {
  const char* name = info->dlpi_name == nullptr ? nullptr : strrchr(info->dlpi_name, '/');
  if (name == nullptr || strncmp(name, "/libcupti.so", 12) != 0) return 0;
  snprintf(static_cast<char*>(found), 512, "%s", info->dlpi_name);
  return 1;
}

bool open_cupti(const char* paths) {
  char loaded[512] = {};
  dl_iterate_phdr(find_loaded, loaded);
  if (loaded[0] != '\0' && try_cupti(loaded, RTLD_NOLOAD)) return true;
  const bool named = paths != nullptr && *paths != '\0';
  while (paths != nullptr && *paths != '\0') {
    const char* end = strchr(paths, ':');
    const std::size_t length = end == nullptr ? strlen(paths) : static_cast<std::size_t>(end - paths);
    char path[512];
    if (length != 0 && length < sizeof path) {
      memcpy(path, paths, length);
      path[length] = '\0';
      if (try_cupti(path, 0)) return true;
    }
    paths += length + (end == nullptr ? 0 : 1);
  }
  if (named) return false;
  for (const char* name : cupti_names) {
    if (try_cupti(name, 0)) return true;
  }
  return false;
}

}  // namespace

bool open_driver(char* why, std::size_t why_bytes) noexcept {
  if (driver.push_context != nullptr) return true;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    snprintf(why, why_bytes, "the CUDA driver (libcuda.so.1) cannot be opened: no GPU activity is recorded");
    return false;
  }
  load_driver(library);
  return true;
}

bool open_libraries(const char* cupti_paths, char* why, std::size_t why_bytes) noexcept {
  if (cupti.get_version != nullptr) return true;
  if (!open_driver(why, why_bytes)) return false;
  if (open_cupti(cupti_paths)) return true;
  if (cupti_version != 0 && cupti_version < layout::oldest_version) {
    snprintf(why, why_bytes,
             "%s is CUPTI version %u, older than CUDA 12.0: no GPU activity is recorded; install CUPTI 12.4 or later",
             location, cupti_version);
  } else {
    snprintf(why, why_bytes,
             "no libcupti was found: no GPU activity is recorded; install the CUDA toolkit's CUPTI, or set %s to its "
             "path",
             cupti_path_variable);
  }
  return false;
}

const char* cupti_location() noexcept { return location; }

}  // namespace sluice::capture
