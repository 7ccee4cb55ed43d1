#include "instrumentation/backend/cuda/device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "instrumentation/backend/cuda/native.hpp"
#include "instrumentation/backend/cuda/open.hpp"
#include "instrumentation/backend/host_function_order.hpp"
#include "instrumentation/ring/producer.hpp"

// Opening, streams and events. The rest of the class is in memory.cpp, pools.cpp, sharing.cpp, work.cpp and graphs.cpp.

namespace sluice::backend::cuda {

cuda_device::cuda_device(const driver& d, CUdevice which, device_description description)
    : driver_(d),
      device_(which),
      description_(std::move(description)),
      log_(std::make_unique<driver_log>(description_.ordinal, description_.ordinal + 1)) {}

cuda_device::~cuda_device() {
  if (!context_) return;
  const entered here = enter();
  harvest(true);
  driver_.context_release(device_);
}

void cuda_device::open() noexcept {
  opened_ = driver_.context_retain(&context_, device_);
  if (opened_ != CUDA_SUCCESS) return;
  name_context();
  in_use_.store(true, std::memory_order_release);
  // If a recording is already running, it does not know the device yet.
  if (logging()) log_->define_device(ring::now(), description_);
}

void cuda_device::name_context() noexcept {
  std::uint32_t key = description_.ordinal + 1;
  using context_id_of = int(CUcontext, std::uint32_t*);
  unsigned long long id = 0;
  if (auto* records =
          reinterpret_cast<context_id_of*>(capture_records() ? cupti_function("cuptiGetContextId") : nullptr)) {
    records(context_, &key);
  } else if (driver_.context_id(context_, &id) == CUDA_SUCCESS) {
    key = static_cast<std::uint32_t>(id);
  }
  log_->use_context_key(key);
  // Stream names contain the context's number.
  const std::lock_guard lock(names_mutex_);
  stream_names_.clear();
}

void cuda_device::recording_begins(const std::string& socket_name) {
  // The context must exist already, so that the capture library sees it in the first call that it intercepts.
  const entered here = enter();
  if (here.result() == CUDA_SUCCESS && start_capture(socket_name)) name_context();
}

void cuda_device::recording_ends() {
  stop_capture();
  name_context();
}

entered cuda_device::enter() noexcept {
  // A context uses hundreds of megabytes of device memory, so it is created on first use.
  std::call_once(opening_, [this] { open(); });
  CUcontext before = nullptr;
  if (opened_ != CUDA_SUCCESS) return {driver_, opened_, nullptr, false};
  const bool known = driver_.context_current(&before) == CUDA_SUCCESS;
  if (known && before == context_) return {driver_, CUDA_SUCCESS, nullptr, false};
  const bool first = before == nullptr && description_.ordinal == 0;
  return {driver_, driver_.context_set(context_), before, known && !first};
}

device_result<void*> cuda_device::make_current() {
  std::call_once(opening_, [this] { open(); });
  CUcontext before = nullptr;
  CUresult result = opened_;
  if (result == CUDA_SUCCESS) result = driver_.context_current(&before);
  if (result == CUDA_SUCCESS && before != context_) result = driver_.context_set(context_);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuCtxSetCurrent", description_.name);
  return static_cast<void*>(before);
}

void cuda_device::restore_current(void* before) noexcept { driver_.context_set(static_cast<CUcontext>(before)); }

device_result<void> cuda_device::check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return {};
  return driver_.fail(result, call, description_.name);
}

std::string cuda_device::driver_version() const {
  int version = 0;
  driver_.driver_version(&version);
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// --- the recording -----------------------------------------------------------------------------------------

driver_log::call cuda_device::begin_call(const char* name) noexcept {
  if (!logging()) return {name, 0, 0};
  return {name, ring::now(), next_correlation_.fetch_add(1, std::memory_order_relaxed)};
}

std::uint64_t cuda_device::trace_stream(stream_handle stream) noexcept {
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return 0;
  if (!is_captured(stream)) return ask_for_name(stream);
  const std::lock_guard lock(names_mutex_);
  const auto known = stream_names_.find(stream);
  return known == stream_names_.end() ? 0 : known->second;
}

bool cuda_device::is_captured(stream_handle stream) noexcept {
  if (stream != stream_handle::null) {
    const auto capture = stream_capture(stream);
    return !capture || capture->status != capture_status::none;
  }
  // This is the only query of the default stream that is allowed during another stream's capture (on an H100).
  CUstreamCaptureStatus status{};
  const entered here = enter();
  return here.result() != CUDA_SUCCESS ||
         driver_.capture_info(nullptr, &status, nullptr, nullptr, nullptr, nullptr) != CUDA_SUCCESS;
}

std::uint64_t cuda_device::ask_for_name(stream_handle stream) noexcept {
  if (capture_records()) {
    using stream_id_of = int(CUcontext, CUstream, std::uint8_t, std::uint32_t*);
    static auto* const subject = reinterpret_cast<stream_id_of*>(cupti_function("cuptiGetStreamIdEx"));
    std::uint32_t number = 0;
    if (subject && subject(context_, native(stream), 0, &number) == 0) return log_->stream_key(number);
  }
  unsigned long long id = 0;
  if (driver_.stream_id(native(stream), &id) != CUDA_SUCCESS) return 0;
  return log_->stream_key(static_cast<std::uint32_t>(id));
}

void cuda_device::announce() {
  graph_pool_defined_ = false;
  // Under `sluice record`, the capture library announces everything in use.
  if (!logging() && !(driver_log::on() && capture_started_here())) return;
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return;
  const std::uint64_t now = ring::now();
  log_->define_device(now, description_);
  if (!logging()) return;
  log_->define_stream(now, static_cast<std::uint32_t>(trace_stream(stream_handle::null)), 0, 0, true);
  log_->define_pool(now, default_pool_key(description_.ordinal), "driver pool");
  (void)memory();
  const std::lock_guard lock(estimates_mutex_);
  set_anchor();
}

// --- streams and events ------------------------------------------------------------------------------------

device_result<stream_handle> cuda_device::create_stream(stream_flags flags) {
  const entered here = enter();
  // The driver would silently clamp the priority.
  const auto range = stream_priorities();
  if (!range) return tl::unexpected(range.error());
  if (!range->contains(flags.priority)) {
    return fail(status::invalid_value, "cuStreamCreateWithPriority", range->refusal(flags.priority));
  }
  CUstream stream = nullptr;
  const CUresult result =
      driver_.stream_create(&stream, flags.non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT, flags.priority);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuStreamCreateWithPriority");
  const auto handle = stream_handle{reinterpret_cast<std::uintptr_t>(stream)};
  if (driver_log::on()) {
    const std::uint64_t name = ask_for_name(handle);
    if (logging()) {
      log_->define_stream(ring::now(), static_cast<std::uint32_t>(name), static_cast<std::uint64_t>(handle),
                          flags.priority, false);
    }
    const std::lock_guard lock(names_mutex_);
    stream_names_[handle] = name;
  }
  return handle;
}

void cuda_device::destroy_stream(stream_handle stream) noexcept {
  if (stream == stream_handle::null) return;
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return;
  {
    const std::lock_guard lock(names_mutex_);
    stream_names_.erase(stream);
  }
  harvest(false);
  driver_.stream_destroy(native(stream));
}

device_result<void> cuda_device::sync_stream(stream_handle stream) {
  const auto c = begin_call("cuStreamSynchronize");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.stream_sync(native(stream));
  if (result == CUDA_SUCCESS) see_host_functions();
  if (logging()) {
    log_->synced(c.begin, ring::now(), trace_stream(stream), trace::sync_kind::stream);
    harvest(false);
  }
  return check(result, "cuStreamSynchronize");
}

device_result<bool> cuda_device::stream_idle(stream_handle stream) {
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.stream_query(native(stream));
  if (result == CUDA_SUCCESS) see_host_functions();
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return result == CUDA_SUCCESS;
  return driver_.fail(result, "cuStreamQuery");
}

device_result<priority_range> cuda_device::stream_priorities() {
  priority_range range;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.priority_range(&range.least, &range.greatest);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuCtxGetStreamPriorityRange");
  return range;
}

device_result<int> cuda_device::stream_priority(stream_handle stream) {
  int priority = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.stream_priority(native(stream), &priority);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuStreamGetPriority");
  return priority;
}

device_result<capture_info> cuda_device::stream_capture(stream_handle stream) {
  // The default stream cannot be captured.
  if (stream == stream_handle::null) return capture_info{};
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) {
    result = driver_.capture_info(native(stream), &status, &id, nullptr, nullptr, nullptr);
  }
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuStreamGetCaptureInfo");
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return capture_info{};
  return capture_info{status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? capture_status::active : capture_status::invalidated,
                      id};
}

device_result<event_handle> cuda_device::create_event(event_flags flags) {
  if (flags.timed && flags.interprocess) {
    return fail(status::invalid_value, "cuEventCreate", "an interprocess event cannot be timed");
  }
  CUevent event = nullptr;
  const unsigned bits = (flags.timed ? 0u : static_cast<unsigned>(CU_EVENT_DISABLE_TIMING)) |
                        (flags.blocking_sync ? static_cast<unsigned>(CU_EVENT_BLOCKING_SYNC) : 0u) |
                        (flags.interprocess ? static_cast<unsigned>(CU_EVENT_INTERPROCESS) : 0u);
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.event_create(&event, bits);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuEventCreate");
  return event_handle{reinterpret_cast<std::uintptr_t>(event)};
}

void cuda_device::destroy_event(event_handle event) noexcept {
  const entered here = enter();
  if (here.result() == CUDA_SUCCESS) driver_.event_destroy(native(event));
}

device_result<void> cuda_device::record_event(event_handle event, stream_handle stream) {
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.event_record(native(event), native(stream));
  if (logging()) log_->event_recorded(ring::now(), static_cast<std::uint64_t>(event), trace_stream(stream));
  return check(result, "cuEventRecord");
}

device_result<void> cuda_device::wait_event(stream_handle stream, event_handle event) {
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.stream_wait(native(stream), native(event), 0);
  if (logging()) log_->event_waited(ring::now(), static_cast<std::uint64_t>(event), trace_stream(stream));
  return check(result, "cuStreamWaitEvent");
}

device_result<void> cuda_device::sync_event(event_handle event) {
  const auto c = begin_call("cuEventSynchronize");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.event_sync(native(event));
  if (result == CUDA_SUCCESS) see_host_functions();
  if (logging()) log_->synced(c.begin, ring::now(), 0, trace::sync_kind::event);
  return check(result, "cuEventSynchronize");
}

device_result<bool> cuda_device::event_done(event_handle event) {
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.event_query(native(event));
  if (result == CUDA_SUCCESS) see_host_functions();
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return result == CUDA_SUCCESS;
  return driver_.fail(result, "cuEventQuery");
}

device_result<float> cuda_device::elapsed_ms(event_handle handle, event_handle to) {
  float ms = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.event_elapsed(&ms, native(handle), native(to));
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuEventElapsedTime");
  return ms;
}

device_result<void> cuda_device::synchronize() {
  const auto c = begin_call("cuCtxSynchronize");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.context_sync();
  if (result == CUDA_SUCCESS) see_host_functions();
  if (logging()) {
    log_->synced(c.begin, ring::now(), 0, trace::sync_kind::context);
    harvest(result == CUDA_SUCCESS);
    log_->watermark(ring::now());
  }
  return check(result, "cuCtxSynchronize");
}

}  // namespace sluice::backend::cuda
