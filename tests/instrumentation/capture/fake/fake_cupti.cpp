// A libcupti without a GPU: the part of the API that the capture library uses, on top of the fake driver's hub.

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <mutex>

#include "tests/instrumentation/capture/fake/fake_hub.hpp"

namespace {

sluice::fake::hub& hub() {
  static sluice::fake::hub* const found = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    using finder = sluice::fake::hub* (*)();
    auto* const find = driver == nullptr ? nullptr : reinterpret_cast<finder>(dlsym(driver, "sluice_fake_hub"));
    return find == nullptr ? nullptr : find();
  }();
  return *found;
}

/// The thread that CUPTI starts when a client subscribes, and on which it returns buffers, as CUPTI 13 does. It wakes
/// every 50 ms. There is no such thread unless SLUICE_FAKE_CUPTI_THREAD is set: buffers are then returned on the thread
/// that flushes.
class delivering_thread {
 public:
  /// Starts the thread, once. Then takes 20 ms more, so that the program's other threads can start threads meanwhile.
  void start() {
    pthread_mutex_lock(&mutex_);
    const bool starts = !running_ && std::getenv("SLUICE_FAKE_CUPTI_THREAD") != nullptr;
    pthread_t thread{};
    if (starts) running_ = pthread_create(&thread, nullptr, &delivering_thread::run, this) == 0;
    pthread_mutex_unlock(&mutex_);
    if (starts) usleep(20'000);
  }
  /// Returns the finished buffers to the client.
  void flush() {
    if (!running_) return hub().flush();
    pthread_mutex_lock(&mutex_);
    const std::uint64_t query = ++asked_;
    pthread_cond_signal(&wake_);
    while (answered_ < query) pthread_cond_wait(&done_, &mutex_);
    pthread_mutex_unlock(&mutex_);
  }

 private:
  static void* run(void* self) { static_cast<delivering_thread*>(self)->deliver(); }
  [[noreturn]] void deliver() {
    for (;;) {
      pthread_mutex_lock(&mutex_);
      timespec until{};
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec += 50'000'000;
      if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
      if (asked_ == answered_) pthread_cond_timedwait(&wake_, &mutex_, &until);
      const std::uint64_t query = asked_;
      pthread_mutex_unlock(&mutex_);
      if (query == answered_) continue;
      hub().flush();
      pthread_mutex_lock(&mutex_);
      answered_ = query;
      pthread_cond_broadcast(&done_);
      pthread_mutex_unlock(&mutex_);
    }
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t done_ = PTHREAD_COND_INITIALIZER;
  bool running_ = false;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
};
delivering_thread& get_delivering_thread() {
  static auto& only = *new delivering_thread;  // It runs until the very end of the process.
  return only;
}

/// A subscription, which calls the client back through frames of this library, as CUPTI does.
struct subscription {
  CUpti_CallbackFunc callback;
  void* user;
};
void CUPTIAPI hand_on(void* to, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const auto& s = *static_cast<const subscription*>(to);
  s.callback(s.user, domain, id, data);
  asm volatile("" : : : "memory");  // No tail call: this frame must remain.
}
CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  static auto& whole = *new std::deque<subscription>;  // Calls arrive until the very end of the process.
  static std::mutex mutex;
  get_delivering_thread().start();
  const std::lock_guard lock(mutex);
  return hub().subscribe(subscriber, hand_on, &whole.emplace_back(subscription{callback, user}));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = hub().cupti_version;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR (fake)";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  return subscribe(subscriber, callback, user);
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) { return hub().unsubscribe(subscriber); }
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user,
                              CUpti_SubscriberParams* parameters) {
  const CUptiResult result = subscribe(subscriber, callback, user);
  if (result != CUPTI_SUCCESS && parameters != nullptr && parameters->oldSubscriberName != nullptr) {
    std::snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize, "Fake Systems");
  }
  return result;
}
CUptiResult cuptiFinalize() {
  hub().finalize();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  hub().enable_callback(domain, id, enable != 0);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  hub().enable_domain(domain, enable != 0);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) { return hub().enable_activity(kind, true); }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { return hub().enable_activity(kind, false); }
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  hub().register_buffers(request, complete);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
  hub().register_timestamp(timestamp);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  return hub().next_record(buffer, valid, record);
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = hub().take_dropped();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  using flushing = sluice::fake::hub::flushing;
  while (hub().flushes == flushing::blocks) pause();
  if (hub().flushes == flushing::fails) return CUPTI_ERROR_UNKNOWN;
  get_delivering_thread().flush();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t*, void* value) {
  if (attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE) {
    *static_cast<size_t*>(value) = 3'200'000;
  } else if (attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE) {
    *static_cast<size_t*>(value) = 3;
  } else if (attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP) {
    *static_cast<size_t*>(value) = 1'000'000;
  } else {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*, uint32_t) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetContextId(CUcontext context, uint32_t* number) {
  *number = hub().context_number(context);
  return *number == 0 ? CUPTI_ERROR_INVALID_CONTEXT : CUPTI_SUCCESS;
}
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  *device = hub().find_device(context);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t, uint32_t* number) {
  *number = hub().stream_number(context, stream);
  return CUPTI_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
