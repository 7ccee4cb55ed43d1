// rival_program: launches 300 kernels; during the middle 100, a profiler in the same process uses CUPTI like PyTorch's
// profiler.
//
//   rival_program HOW      subscribe: it takes CUPTI's callbacks; records: it also takes CUPTI's activity records;
//                          finalize: it also shuts CUPTI down at its end. Prints what the rival received.

#include <cuda_runtime.h>
#include <cupti.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::atomic<unsigned long long> kernels{0};

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *bytes = std::size_t{1} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
  *max_records = 0;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (valid != 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ++kernels;
  }
  // Not freed: after a change of owner the buffer may not belong to us.
}

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};

__global__ void add_one(float* data) { data[threadIdx.x] += 1.0F; }

void work(float* data) {
  for (int i = 0; i < 100; ++i) add_one<<<1, 256>>>(data);
  if (cudaDeviceSynchronize() != cudaSuccess) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  float* data = nullptr;
  if (cudaMalloc(&data, 1024) != cudaSuccess) return 1;
  work(data);
  usleep(300'000);
  CUpti_SubscriberHandle subscriber = nullptr;
  const int subscribed = cuptiSubscribe(&subscriber, nullptr, nullptr);
  if (how != "subscribe") {
    const int taken = cuptiActivityRegisterCallbacks(requested, completed);
    for (const CUpti_ActivityKind kind : kinds) cuptiActivityEnable(kind);
    std::printf("cuptiActivityRegisterCallbacks: %d\n", taken);
  }
  work(data);
  if (how != "subscribe") {
    for (const CUpti_ActivityKind kind : kinds) cuptiActivityDisable(kind);
    std::printf("cuptiActivityFlushAll: %d\n", static_cast<int>(cuptiActivityFlushAll(0)));
  }
  if (how == "finalize") std::printf("cuptiFinalize: %d\n", static_cast<int>(cuptiFinalize()));
  std::printf("cuptiSubscribe: %d, kernels the rival saw: %llu\n", subscribed, kernels.load());
  usleep(1'500'000);
  work(data);
  cudaFree(data);
  return 0;
}
