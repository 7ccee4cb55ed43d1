// A profiler inside the program, like PyTorch's: a library that is linked to libcupti and loaded with local symbols.
// It initializes CUPTI in the same order as libkineto.

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

std::atomic<std::uint64_t> records{0};

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *bytes = std::size_t{1} << 20;
  *buffer = static_cast<std::uint8_t*>(std::malloc(*bytes));
  *max_records = 0;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) ++records;
  std::free(buffer);
}

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

/// Starts the profiler. Returns the result of cuptiSubscribe.
int rival_start(const char* method) {
  CUpti_SubscriberHandle subscriber = nullptr;
  const CUptiResult result = cuptiSubscribe(&subscriber, nullptr, nullptr);
  if (std::string_view(method) == "subscribe") return result;
  cuptiActivityRegisterCallbacks(requested, completed);
  for (const CUpti_ActivityKind kind : kinds) cuptiActivityEnable(kind);
  return result;
}

void rival_stop(const char* method) {
  if (std::string_view(method) == "subscribe") return;
  for (const CUpti_ActivityKind kind : kinds) cuptiActivityDisable(kind);
  cuptiActivityFlushAll(0);
  if (std::string_view(method) == "finalize") cuptiFinalize();
}

std::uint64_t rival_records() { return records; }

}  // extern "C"
#pragma GCC visibility pop
