#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/process/calls.hpp"
#include "instrumentation/capture/process/cuda_api.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/capture/stacks/stacks.hpp"
#include "instrumentation/ring/producer.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

using namespace sluice;

namespace {

constexpr std::size_t most = 64;
constexpr std::uint32_t context = 1;

CUresult get_parameter(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  if (index >= reinterpret_cast<std::size_t>(function) % most) return CUDA_ERROR_INVALID_VALUE;
  *offset = index * 8;
  *bytes = 8;
  return CUDA_SUCCESS;
}
CUresult get_name(const char** name, CUfunction) {
  *name = "a kernel";
  return CUDA_SUCCESS;
}
CUptiResult CUPTIAPI enable(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI number_of_stream(CUcontext, CUstream, std::uint8_t, std::uint32_t* id) {
  *id = 7;
  return CUPTI_SUCCESS;
}

CUcontext context_handle() { return reinterpret_cast<CUcontext>(std::uintptr_t{0x1000}); }
CUresult context_of_thread(CUcontext* current) {
  *current = context_handle();
  return CUDA_SUCCESS;
}
CUresult driver_number_of_stream(CUstream, unsigned long long* id) {
  *id = 7;
  return CUDA_SUCCESS;
}

CUfunction function_with(std::size_t parameters) { return reinterpret_cast<CUfunction>(most * 1000 + parameters); }

}  // namespace

EXPORTED bool cold_start(const char* socket_name) {
  if (!ring::start(socket_name, {.ring_bytes = std::size_t{1} << 24})) return false;
  capture::read_options(trace::recording_mode::memory);
  capture::driver.function_parameter = get_parameter;
  capture::driver.function_name = get_name;
  capture::cupti.enable_callback = enable;
  capture::cupti.stream_id = number_of_stream;
  capture::enable_callbacks(nullptr, false);
  capture::driver.current_context = context_of_thread;
  capture::driver.stream_id = driver_number_of_stream;
  capture::add_context(context_handle(), context, 0);
  capture::open_context(context);
  capture::entry_points::start();
  capture::prepare_stacks();
  return true;
}

EXPORTED void cold_stop() { ring::stop(); }

EXPORTED std::uint64_t cold_python_stack() { return capture::python_stack_key(); }

EXPORTED void cold_launch(const std::uint64_t* pointers, std::size_t count) {
  void* parameters[most];
  for (std::size_t i = 0; i < count; ++i) parameters[i] = const_cast<std::uint64_t*>(pointers + i);
  cuLaunchKernel(function_with(count), 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
}

EXPORTED void cold_launch_by_cupti(const std::uint64_t* pointers, std::size_t count) {
  static std::uint32_t correlation = 0;
  void* parameters[most];
  for (std::size_t i = 0; i < count; ++i) parameters[i] = const_cast<std::uint64_t*>(pointers + i);
  cuLaunchKernel_params p{};
  p.f = function_with(count);
  p.kernelParams = parameters;
  CUresult result = CUDA_SUCCESS;
  std::uint64_t kept = 0;
  CUpti_CallbackData data{};
  data.callbackSite = CUPTI_API_ENTER;
  data.functionParams = &p;
  data.functionReturnValue = &result;
  data.context = context_handle();
  data.contextUid = context;
  data.correlationId = ++correlation;
  data.correlationData = &kept;
  capture::on_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
  data.callbackSite = CUPTI_API_EXIT;
  capture::on_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
}

EXPORTED void cold_emit(std::uint64_t address) {
  ring::alloc_record out{};
  out.header.time = ring::now();
  out.address = address;
  out.bytes = 4096;
  ring::emit(out);
}
