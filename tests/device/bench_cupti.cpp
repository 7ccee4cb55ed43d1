// The cost of CUPTI itself, with minimal code of our own: enables the callbacks and records of a mode, counts them and
// discards them. For bench_recorder.py, in place of the capture library (CUDA_INJECTION64_PATH). BENCH_CUPTI names
// parts: launches, allocations, copies (their callbacks), copy-records, graph-records, kernel-records; without any, it
// only subscribes to CUPTI.
#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

namespace {

std::uint64_t seen = 0;

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) { ++seen; }

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *bytes = 64 * 1024;
  *buffer = static_cast<std::uint8_t*>(std::calloc(1, *bytes));
  *records = 0;
}
void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) { std::free(buffer); }

void* flush(void*) {
  for (;;) {
    usleep(50'000);
    cuptiActivityFlushAll(0);
  }
}

}  // namespace

extern "C" int InitializeInjection() {
  const std::string_view said = std::getenv("BENCH_CUPTI") == nullptr ? "" : std::getenv("BENCH_CUPTI");
  const auto wanted = [said](std::string_view part) {
    return (',' + std::string(said) + ',').find(',' + std::string(part) + ',') != std::string::npos;
  };
  CUpti_SubscriberHandle subscriber{};
  if (cuptiSubscribe(&subscriber, on_callback, nullptr) != CUPTI_SUCCESS) return 1;
  const auto call_back = [&](std::initializer_list<CUpti_CallbackId> calls) {
    for (const CUpti_CallbackId id : calls) cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  };
  if (wanted("launches")) {
    call_back({CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
               CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
               CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch});
  }
  if (wanted("allocations")) {
    call_back({CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
               CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
               CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz});
  }
  if (wanted("copies")) {
    call_back({CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2,
               CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async,
               CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async});
  }
  const bool records = wanted("copy-records") || wanted("graph-records") || wanted("kernel-records");
  if (!records) return 1;
  cuptiActivityRegisterCallbacks(requested, completed);
  if (wanted("copy-records")) {
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
  }
  if (wanted("graph-records")) cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (wanted("kernel-records")) cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  pthread_t thread{};
  pthread_create(&thread, nullptr, flush, nullptr);
  return 1;
}
