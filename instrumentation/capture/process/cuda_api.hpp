#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>

/// Opens the two libraries that the capture library uses without being linked against them: CUPTI, from the path that
/// `sluice record` chose, and the CUDA driver, which is already loaded because it loads the capture library.
namespace sluice::capture {

/// Environment variable with the libcupti to open; several paths, separated by ':', are tried in order.
inline constexpr const char* cupti_path_variable = "SLUICE_CUPTI_PATH";

/// CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS, which older headers lack.
inline constexpr auto attribute_device_graph_buffer_bytes = static_cast<CUpti_ActivityAttribute>(10);

/// Parameters of cuptiSubscribe_v2 (not in headers before CUDA 13). If CUPTI already has a subscriber, `holder`
/// receives that subscriber's name.
struct subscriber_parameters {
  std::size_t bytes = sizeof(subscriber_parameters);
  const char* name = nullptr;  ///< Our name; CUPTI shows it as "CUPTI for ...".
  char* holder = nullptr;      ///< Output buffer of at least 64 bytes.
  std::size_t holder_bytes = 0;
};
using subscribe_v2 = CUptiResult(CUPTIAPI*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, void*);

/// The CUPTI functions that we call. A member is null if the opened version lacks the function.
struct cupti_functions {
  decltype(&::cuptiGetVersion) get_version;
  decltype(&::cuptiGetResultString) result_string;
  decltype(&::cuptiSubscribe) subscribe;
  decltype(&::cuptiUnsubscribe) unsubscribe;
  subscribe_v2 subscribe_named;
  decltype(&::cuptiEnableCallback) enable_callback;
  decltype(&::cuptiEnableDomain) enable_domain;
  decltype(&::cuptiActivityEnable) activity_enable;
  decltype(&::cuptiActivityDisable) activity_disable;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&::cuptiActivityRegisterTimestampCallback) register_timestamp;
  decltype(&::cuptiActivityGetNextRecord) next_record;
  decltype(&::cuptiActivityGetNumDroppedRecords) dropped_records;
  decltype(&::cuptiActivityFlushAll) flush_all;
  decltype(&::cuptiActivityGetAttribute) get_attribute;
  decltype(&::cuptiActivitySetAttribute) set_attribute;
  decltype(&::cuptiActivityConfigureUnifiedMemoryCounter) configure_migrations;
  decltype(&::cuptiGetContextId) context_id;
  decltype(&::cuptiGetDeviceId) device_id;
  decltype(&::cuptiGetStreamIdEx) stream_id;
};

/// The driver functions that we call. A member is null if the opened version lacks the function.
struct driver_functions {
  decltype(&::cuCtxGetCurrent) current_context;
  decltype(&::cuCtxGetDevice) context_device;
  decltype(&::cuCtxPushCurrent) push_context;
  decltype(&::cuCtxPopCurrent) pop_context;
  decltype(&::cuMemGetInfo) memory_info;
  decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode;
  decltype(&::cuStreamIsCapturing) is_capturing;
  decltype(&::cuStreamGetPriority) stream_priority;
  decltype(&::cuStreamGetId) stream_id;
  decltype(&::cuStreamGetCtx) stream_context;
  decltype(&::cuStreamCreate) create_stream;
  decltype(&::cuEventCreate) create_event;
  decltype(&::cuEventRecord) record_event;
  decltype(&::cuEventQuery) event_state;
  decltype(&::cuEventElapsedTime) elapsed;
  decltype(&::cuPointerGetAttribute) pointer_attribute;
  decltype(&::cuDevicePrimaryCtxGetState) primary_state;
  decltype(&::cuDeviceGetName) device_name;
  decltype(&::cuDeviceTotalMem) device_memory;
  decltype(&::cuDeviceGetUuid) device_uuid;
  decltype(&::cuDeviceGetAttribute) device_attribute;
  decltype(&::cuDeviceGetPCIBusId) device_bus;
  decltype(&::cuMemPoolGetAttribute) pool_attribute;
  decltype(&::cuDeviceGet) device_get;
  decltype(&::cuDeviceGetMemPool) device_pool;
  decltype(&::cuDeviceGetGraphMemAttribute) graph_memory;
  decltype(&::cuMemGetAddressRange) address_range;
  decltype(&::cuPointerGetAttributes) pointer_attributes;
  decltype(&::cuFuncGetParamInfo) function_parameter;
  decltype(&::cuKernelGetParamInfo) kernel_parameter;
  decltype(&::cuFuncGetName) function_name;
  decltype(&::cuKernelGetName) kernel_name;
  decltype(&::cuGraphGetNodes) graph_nodes;
  /// cuStreamGetCaptureInfo_v2, which newer headers no longer declare.
  CUresult(CUDAAPI* capture_info)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**,
                                  std::size_t*);
};

/// Valid after `open_libraries` returned true; constant afterwards.
extern cupti_functions cupti;
extern driver_functions driver;
extern std::uint32_t cupti_version;

/// Opens the driver, once. On failure, writes a one-line reason to `why`.
bool open_driver(char* why, std::size_t why_bytes) noexcept;

/// Opens CUPTI and the driver, once. For CUPTI, tries a libcupti that the program has loaded, then the ':'-separated
/// files in `cupti_paths`; if the list is empty, uses the loader's search. On failure, writes a one-line reason to
/// `why`.
bool open_libraries(const char* cupti_paths, char* why, std::size_t why_bytes) noexcept;

/// Path of the libcupti in use, for messages.
const char* cupti_location() noexcept;

}  // namespace sluice::capture
