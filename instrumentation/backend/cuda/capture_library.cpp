#include "instrumentation/backend/cuda/capture_library.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "instrumentation/capture/process/cupti_names.hpp"
#include "instrumentation/capture/start/launch_environment.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::backend::cuda {

namespace {

bool loaded_by_the_driver() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (!path || !std::getenv(ring::socket_variable)) return false;
  void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != nullptr;
}

std::atomic<bool>& records() {
  // First called after the driver was opened, so the driver has already loaded its injected library.
  static std::atomic<bool> now{loaded_by_the_driver()};
  return now;
}

/// The capture library; null if it is not found. Opened once and never closed, because ending threads call into it.
void* library() {
  static void* const opened = []() -> void* {
    if (const char* named = std::getenv(capture_library_variable)) {
      return *named ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : nullptr;
    }
    const auto beside = capture::find_capture_library(capture::own_program());
    void* found = beside ? dlopen(beside->c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    return found ? found : dlopen("libsluice_capture.so", RTLD_NOW | RTLD_LOCAL);
  }();
  return opened;
}

template <class Function>
Function* entry(const char* name) {
  return library() ? reinterpret_cast<Function*>(dlsym(library(), name)) : nullptr;
}

std::atomic<bool> started_here{false};

}  // namespace

bool capture_records() noexcept { return records().load(std::memory_order_relaxed); }

bool capture_started_here() noexcept { return started_here.load(std::memory_order_relaxed); }

bool start_capture(const std::string& socket_name) {
  if (capture_records()) return started_here;
  auto* start = entry<int(const char*, const char*)>("sluice_capture_start");
  if (!start) return false;
  const std::string files = capture::joined_files(capture::find_cupti({}, capture::own_environment()));
  started_here = start(socket_name.c_str(), files.empty() ? nullptr : files.c_str()) == 1;
  records() = started_here.load();
  return started_here;
}

void stop_capture() {
  if (!started_here.exchange(false)) return;
  if (auto* stop = entry<void()>("sluice_capture_stop")) stop();
  records() = false;
}

void* cupti_function(const char* name) {
  for (const char* soname : capture::cupti_names) {
    if (void* library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) {
      void* function = dlsym(library, name);
      dlclose(library);
      return function;
    }
  }
  return nullptr;
}

}  // namespace sluice::backend::cuda
