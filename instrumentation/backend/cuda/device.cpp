#include "instrumentation/backend/cuda/device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "instrumentation/backend/cuda/open.hpp"
#include "instrumentation/collector/producer.hpp"

// Opening, memory, streams and events; work.cpp holds copies and kernels.

namespace sluice::backend::cuda {

namespace {

CUdeviceptr device_pointer(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }
CUstream native(stream_handle stream) { return reinterpret_cast<CUstream>(stream); }
CUevent native(event_handle event) { return reinterpret_cast<CUevent>(event); }

/// The driver's own pool, which stream-ordered allocations come from.
constexpr std::uint64_t driver_pool_key = 1;
std::uint64_t pool_of(std::uint64_t stream) { return stream != 0 ? driver_pool_key : 0; }

}  // namespace

cuda_device::cuda_device(const driver& d, CUdevice which, device_description description)
    : driver_(d),
      device_(which),
      description_(std::move(description)),
      log_(std::make_unique<driver_log>(description_.ordinal, description_.ordinal + 1)) {}

cuda_device::~cuda_device() {
  if (!context_) return;
  harvest(true);
  driver_.context_release(device_);
}

void cuda_device::open() noexcept {
  opened_ = driver_.context_retain(&context_, device_);
  if (opened_ == CUDA_SUCCESS) name_context();
}

void cuda_device::name_context() noexcept {
  std::uint32_t key = description_.ordinal + 1;
  using context_id_of = int(CUcontext, std::uint32_t*);
  unsigned long long id = 0;
  if (auto* of = reinterpret_cast<context_id_of*>(capture_records() ? cupti_function("cuptiGetContextId") : nullptr)) {
    of(context_, &key);
  } else if (driver_.context_id(context_, &id) == CUDA_SUCCESS) {
    key = static_cast<std::uint32_t>(id);
  }
  log_->use_context_key(key);
}

void cuda_device::recording_begins(const std::string& socket_name) {
  // With the context there already, the capture library sees it in the first call that it hears of.
  if (enter() == CUDA_SUCCESS && start_capture(socket_name)) name_context();
}

void cuda_device::recording_ends() {
  stop_capture();
  name_context();
}

CUresult cuda_device::enter() noexcept {
  // A context costs hundreds of megabytes of device memory: a device that nobody uses gets none.
  std::call_once(opening_, [this] { open(); });
  return opened_ == CUDA_SUCCESS ? driver_.context_set(context_) : opened_;
}

outcome<void> cuda_device::check(CUresult result, const char* call) const {
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
  return {name, collector::now(), next_correlation_.fetch_add(1, std::memory_order_relaxed)};
}

std::uint64_t cuda_device::trace_stream(stream_handle stream) noexcept {
  if (enter() != CUDA_SUCCESS) return 0;
  if (capture_records()) {
    using stream_id_of = int(CUcontext, CUstream, std::uint8_t, std::uint32_t*);
    static auto* const of = reinterpret_cast<stream_id_of*>(cupti_function("cuptiGetStreamIdEx"));
    std::uint32_t number = 0;
    if (of && of(context_, native(stream), 0, &number) == 0) return log_->stream_key(number);
  }
  unsigned long long id = 0;
  if (driver_.stream_id(native(stream), &id) != CUDA_SUCCESS) return 0;
  return log_->stream_key(static_cast<std::uint32_t>(id));
}

void cuda_device::announce() {
  // Under `sluice record` the capture library announces what is used.
  if (!logging() && !(driver_log::on() && capture_started_here())) return;
  if (enter() != CUDA_SUCCESS) return;
  const std::uint64_t now = collector::now();
  log_->define_device(now, description_);
  if (!logging()) return;
  log_->define_stream(now, static_cast<std::uint32_t>(trace_stream(stream_handle::null)), 0, 0, true);
  log_->define_pool(now, driver_pool_key, "driver pool");
  (void)memory();
  const std::lock_guard lock(estimates_mutex_);
  set_anchor();
}

// --- memory ------------------------------------------------------------------------------------------------

outcome<void*> cuda_device::allocated(CUresult result, const driver_log::call& c, std::uint64_t address,
                                      std::uint64_t bytes, trace::memory_kind kind, std::uint64_t stream) {
  if (logging()) {
    const std::uint64_t now = collector::now();
    const driver_log::alloc what{address, bytes, stream, pool_of(stream), kind, 0};
    log_->api_call(c, now, stream, bytes, 0, 0, result);
    if (result == CUDA_SUCCESS) {
      log_->allocated(c, now, what);
    } else {
      log_->failed(c, now, what, result);
    }
  }
  if (result != CUDA_SUCCESS)
    return driver_.fail(result, c.name, fmt::format("{} bytes on {}", bytes, description_.name));
  return reinterpret_cast<void*>(address);
}

outcome<void> cuda_device::freed(CUresult result, const driver_log::call& c, const void* address,
                                 trace::memory_kind kind, std::uint64_t stream) {
  if (logging()) {
    const driver_log::alloc what{reinterpret_cast<std::uint64_t>(address), 0, stream, pool_of(stream), kind, 0};
    const std::uint64_t now = collector::now();
    log_->api_call(c, now, stream, 0, 0, 0, result);
    if (result == CUDA_SUCCESS) {
      log_->freed(c, what);
      if (stream == 0) log_->free_completed(c, now, what.address);
    }
  }
  return check(result, c.name);
}

outcome<void*> cuda_device::allocate(std::uint64_t bytes) {
  const auto c = begin_call("cuMemAlloc_v2");
  CUdeviceptr address = 0;
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.allocate(&address, bytes);
  auto out = allocated(result, c, address, bytes, trace::memory_kind::device, 0);
  if (logging()) (void)memory();
  return out;
}

outcome<void> cuda_device::free(void* address) {
  if (!address) return {};
  const auto kind = logging() ? trace_kind(space_of(address)) : trace::memory_kind::device;
  const auto c = begin_call("cuMemFree_v2");
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.free(device_pointer(address));
  auto out = freed(result, c, address, kind, 0);
  if (logging()) (void)memory();
  return out;
}

outcome<void*> cuda_device::allocate_async(std::uint64_t bytes, stream_handle stream) {
  const auto c = begin_call("cuMemAllocAsync");
  CUdeviceptr address = 0;
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.allocate_async(&address, bytes, native(stream));
  return allocated(result, c, address, bytes, trace::memory_kind::device, logging() ? trace_stream(stream) : 0);
}

outcome<void> cuda_device::free_async(void* address, stream_handle stream) {
  if (!address) return {};
  const auto c = begin_call("cuMemFreeAsync");
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.free_async(device_pointer(address), native(stream));
  return freed(result, c, address, trace::memory_kind::device, logging() ? trace_stream(stream) : 0);
}

outcome<void*> cuda_device::allocate_pinned(std::uint64_t bytes, pinned_flags flags) {
  const auto c = begin_call("cuMemHostAlloc");
  const unsigned bits = CU_MEMHOSTALLOC_PORTABLE | (flags.mapped ? CU_MEMHOSTALLOC_DEVICEMAP : 0u) |
                        (flags.write_combined ? CU_MEMHOSTALLOC_WRITECOMBINED : 0u);
  void* address = nullptr;
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.allocate_host(&address, bytes, bits);
  return allocated(result, c, reinterpret_cast<std::uint64_t>(address), bytes, trace::memory_kind::pinned, 0);
}

outcome<void> cuda_device::free_pinned(void* address) {
  if (!address) return {};
  const auto c = begin_call("cuMemFreeHost");
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.free_host(address);
  return freed(result, c, address, trace::memory_kind::pinned, 0);
}

outcome<void> cuda_device::register_host(void* address, std::uint64_t bytes, bool read_only) {
  const auto c = begin_call("cuMemHostRegister_v2");
  const unsigned bits = CU_MEMHOSTREGISTER_PORTABLE | (read_only ? CU_MEMHOSTREGISTER_READ_ONLY : 0u);
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.register_host(address, bytes, bits);
  if (logging() && result == CUDA_SUCCESS) {
    log_->allocated(c, collector::now(),
                    {reinterpret_cast<std::uint64_t>(address), bytes, 0, 0, trace::memory_kind::pinned,
                     collector::flag_registered});
  }
  return check(result, c.name);
}

outcome<void> cuda_device::unregister_host(void* address) {
  const auto c = begin_call("cuMemHostUnregister");
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.unregister_host(address);
  return freed(result, c, address, trace::memory_kind::pinned, 0);
}

outcome<void*> cuda_device::allocate_managed(std::uint64_t bytes) {
  const auto c = begin_call("cuMemAllocManaged");
  CUdeviceptr address = 0;
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.allocate_managed(&address, bytes, CU_MEM_ATTACH_GLOBAL);
  return allocated(result, c, address, bytes, trace::memory_kind::managed, 0);
}

namespace {

CUmemLocation location(memory_location where, CUdevice which) {
  CUmemLocation out{};
  out.type = where.on_host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  out.id = where.on_host ? 0 : which;
  return out;
}

}  // namespace

outcome<void> cuda_device::prefetch(void* address, std::uint64_t bytes, memory_location to, stream_handle stream) {
  CUresult result = enter();
  if (result == CUDA_SUCCESS) {
    result = driver_.prefetch(device_pointer(address), bytes, location(to, device_), 0, native(stream));
  }
  return check(result, "cuMemPrefetchAsync");
}

outcome<void> cuda_device::advise(void* address, std::uint64_t bytes, memory_advice advice, memory_location where) {
  CUmem_advise what = CU_MEM_ADVISE_SET_READ_MOSTLY;
  switch (advice) {
    case memory_advice::set_read_mostly:
      break;
    case memory_advice::unset_read_mostly:
      what = CU_MEM_ADVISE_UNSET_READ_MOSTLY;
      break;
    case memory_advice::set_preferred_location:
      what = CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
      break;
    case memory_advice::unset_preferred_location:
      what = CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
      break;
  }
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.advise(device_pointer(address), bytes, what, location(where, device_));
  return check(result, "cuMemAdvise");
}

outcome<memory_info> cuda_device::memory() {
  std::size_t free = 0, total = 0;
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.memory_info(&free, &total);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuMemGetInfo");
  const memory_info info{free, total};
  if (logging()) log_->memory(collector::now(), info);
  return info;
}

outcome<driver_pool_info> cuda_device::driver_pool() {
  CUmemoryPool pool = nullptr;
  cuuint64_t reserved = 0, used = 0;
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.device_pool(&pool, device_);
  if (result == CUDA_SUCCESS) result = driver_.pool_attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
  if (result == CUDA_SUCCESS) result = driver_.pool_attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuMemPoolGetAttribute");
  return driver_pool_info{reserved, used};
}

memory_space cuda_device::space_of(const void* address) noexcept {
  CUmemorytype type{};
  unsigned managed = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* values[] = {&type, &managed};
  if (enter() != CUDA_SUCCESS ||
      driver_.pointer_attributes(2, wanted, values, device_pointer(address)) != CUDA_SUCCESS) {
    return memory_space::pageable;
  }
  if (managed) return memory_space::managed;
  if (type == CU_MEMORYTYPE_HOST) return memory_space::pinned;
  return type == CU_MEMORYTYPE_DEVICE ? memory_space::device : memory_space::pageable;
}

// --- streams and events ------------------------------------------------------------------------------------

outcome<stream_handle> cuda_device::create_stream(stream_flags flags) {
  CUstream stream = nullptr;
  int least = 0, greatest = 0;
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.priority_range(&least, &greatest);
  const int priority = std::clamp(flags.priority, greatest, least);
  if (result == CUDA_SUCCESS) {
    result = driver_.stream_create(&stream, flags.non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT, priority);
  }
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuStreamCreateWithPriority");
  const auto handle = stream_handle{reinterpret_cast<std::uintptr_t>(stream)};
  if (logging()) {
    log_->define_stream(collector::now(), static_cast<std::uint32_t>(trace_stream(handle)),
                        static_cast<std::uint64_t>(handle), priority, false);
  }
  return handle;
}

void cuda_device::destroy_stream(stream_handle stream) noexcept {
  if (stream == stream_handle::null || enter() != CUDA_SUCCESS) return;
  harvest(false);
  driver_.stream_destroy(native(stream));
}

outcome<void> cuda_device::sync_stream(stream_handle stream) {
  const auto c = begin_call("cuStreamSynchronize");
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.stream_sync(native(stream));
  if (logging()) {
    log_->synced(c.begin, collector::now(), trace_stream(stream), trace::sync_kind::stream);
    harvest(false);
  }
  return check(result, "cuStreamSynchronize");
}

outcome<bool> cuda_device::stream_idle(stream_handle stream) {
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.stream_query(native(stream));
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return result == CUDA_SUCCESS;
  return driver_.fail(result, "cuStreamQuery");
}

outcome<event_handle> cuda_device::create_event(bool timed) {
  CUevent event = nullptr;
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.event_create(&event, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuEventCreate");
  return event_handle{reinterpret_cast<std::uintptr_t>(event)};
}

void cuda_device::destroy_event(event_handle event) noexcept {
  if (enter() == CUDA_SUCCESS) driver_.event_destroy(native(event));
}

outcome<void> cuda_device::record_event(event_handle event, stream_handle stream) {
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.event_record(native(event), native(stream));
  if (logging()) log_->event_recorded(collector::now(), static_cast<std::uint64_t>(event), trace_stream(stream));
  return check(result, "cuEventRecord");
}

outcome<void> cuda_device::wait_event(stream_handle stream, event_handle event) {
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.stream_wait(native(stream), native(event), 0);
  if (logging()) log_->event_waited(collector::now(), static_cast<std::uint64_t>(event), trace_stream(stream));
  return check(result, "cuStreamWaitEvent");
}

outcome<void> cuda_device::sync_event(event_handle event) {
  const auto c = begin_call("cuEventSynchronize");
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.event_sync(native(event));
  if (logging()) log_->synced(c.begin, collector::now(), 0, trace::sync_kind::event);
  return check(result, "cuEventSynchronize");
}

outcome<bool> cuda_device::event_done(event_handle event) {
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.event_query(native(event));
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return result == CUDA_SUCCESS;
  return driver_.fail(result, "cuEventQuery");
}

outcome<float> cuda_device::elapsed_ms(event_handle from, event_handle to) {
  float ms = 0;
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.event_elapsed(&ms, native(from), native(to));
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuEventElapsedTime");
  return ms;
}

outcome<void> cuda_device::synchronize() {
  const auto c = begin_call("cuCtxSynchronize");
  CUresult result = enter();
  if (result == CUDA_SUCCESS) result = driver_.context_sync();
  if (logging()) {
    log_->synced(c.begin, collector::now(), 0, trace::sync_kind::context);
    harvest(true);
    log_->watermark(collector::now());
  }
  return check(result, "cuCtxSynchronize");
}

}  // namespace sluice::backend::cuda
