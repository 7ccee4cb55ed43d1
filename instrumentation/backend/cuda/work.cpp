#include <fmt/format.h>

#include <algorithm>

#include "instrumentation/backend/cuda/device.hpp"
#include "instrumentation/backend/cuda/estimates.hpp"
#include "instrumentation/backend/cuda/native.hpp"
#include "instrumentation/ring/producer.hpp"

// Copies, memsets and kernels, and estimates of their times when no other recorder provides them.

extern "C" const unsigned char kernels_fatbin[];

namespace sluice::backend::cuda {

CUevent cuda_device::spare_event() {
  if (!spare_events_.empty()) {
    CUevent event = spare_events_.back();
    spare_events_.pop_back();
    return event;
  }
  CUevent event = nullptr;
  return driver_.event_create(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS ? event : nullptr;
}

void cuda_device::harvest(bool complete) {
  const beside_captures asking(*this);
  const std::lock_guard lock(estimates_mutex_);
  while (!estimates_.empty()) {
    estimate& e = estimates_.front();
    const CUresult done = complete ? driver_.event_sync(e.to) : driver_.event_query(e.to);
    if (done == CUDA_ERROR_NOT_READY) return;
    float begin = 0, length = 0;  // separate: after a long time, a float is too imprecise for both ends
    if (done == CUDA_SUCCESS && driver_.event_elapsed(&begin, anchor_, e.from) == CUDA_SUCCESS &&
        driver_.event_elapsed(&length, e.from, e.to) == CUDA_SUCCESS) {
      const auto ns = [](float ms) { return static_cast<std::uint64_t>(std::max(ms, 0.0F) * 1e6); };
      e.write(anchor_time_ + ns(begin), anchor_time_ + ns(begin) + ns(length));
    }
    spare_events_.insert(spare_events_.end(), {e.from, e.to});
    estimates_.pop_front();
  }
  if (complete) set_anchor();
}

void cuda_device::set_anchor() {
  if (!logging()) return;
  const beside_captures asking(*this);
  if (!anchor_stream_ && driver_.stream_create(&anchor_stream_, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) return;
  if (!anchor_ && driver_.event_create(&anchor_, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return;
  if (driver_.event_record(anchor_, anchor_stream_) != CUDA_SUCCESS) return;
  driver_.event_sync(anchor_);
  anchor_time_ = ring::monotonic_now();
}

CUcontext cuda_device::context_for(int ordinal, const void* address) noexcept {
  if (ordinal == static_cast<int>(description_.ordinal)) return context_;
  CUcontext context = nullptr;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_CONTEXT};
  void* values[] = {&context};
  driver_.pointer_attributes(1, wanted, values, device_pointer(address));
  if (context != nullptr) return context;
  // Mapped memory has no context; any context of the device works. Use the primary context, because the program that
  // mapped the memory keeps it alive.
  CUdevice which = 0;
  if (driver_.device_get(&which, ordinal) != CUDA_SUCCESS) return nullptr;
  if (driver_.context_retain(&context, which) == CUDA_SUCCESS) driver_.context_release(which);
  return context;
}

bool cuda_device::crosses_devices(std::span<const copy_piece> pieces) noexcept {
  int devices = 0;
  if (driver_.device_count(&devices) != CUDA_SUCCESS || devices < 2) return false;
  return std::any_of(pieces.begin(), pieces.end(),
                     [this](const copy_piece& piece) { return are_peers(get_place(piece.to), get_place(piece.from)); });
}

device_result<void> cuda_device::copy_async(void* to, const void* origin, std::uint64_t bytes, stream_handle stream) {
  if (bytes == 0) return {};
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return check(here.result(), "cuCtxSetCurrent");
  const pointer_location source = get_place(origin), target = get_place(to);
  const memory_space from_space = source.space, to_space = target.space;
  const bool peers = are_peers(source, target);
  if (peers) {
    // The driver would return 900 and break the capture. A copy without device names fails too (on H200s).
    const auto capture = stream_capture(stream);
    if (capture && capture->status != capture_status::none)
      return fail(status::not_permitted, "cuMemcpyPeerAsync", "a copy between devices cannot be captured");
  }
  const bool from_host = from_space == memory_space::pageable || from_space == memory_space::pinned;
  const bool to_host = to_space == memory_space::pageable || to_space == memory_space::pinned;
  const char* name = "cuMemcpyAsync";
  if (from_host && !to_host) name = "cuMemcpyHtoDAsync_v2";
  if (!from_host && to_host) name = "cuMemcpyDtoHAsync_v2";
  if (!from_host && !to_host) name = peers ? "cuMemcpyPeerAsync" : "cuMemcpyDtoDAsync_v2";
  const auto c = begin_call(name);
  const std::uint64_t key = logging() ? trace_stream(stream) : 0;
  const auto enqueue = [&] {
    if (peers) {
      return driver_.copy_between(device_pointer(to), context_for(target.ordinal, to), device_pointer(origin),
                                  context_for(source.ordinal, origin), bytes, native(stream));
    }
    if (from_host && !to_host) return driver_.copy_to_device(device_pointer(to), origin, bytes, native(stream));
    if (!from_host && to_host) return driver_.copy_to_host(to, device_pointer(origin), bytes, native(stream));
    if (!from_host && !to_host)
      return driver_.copy_within(device_pointer(to), device_pointer(origin), bytes, native(stream));
    return driver_.copy(device_pointer(to), device_pointer(origin), bytes, native(stream));
  };
  const bool pageable = from_space == memory_space::pageable || to_space == memory_space::pageable;
  const CUresult result = around(native(stream), enqueue, [=, this](std::uint64_t begin, std::uint64_t end) {
    log_->copied(c, {begin, end, bytes, key, trace_address(origin), trace_address(to), from_space, to_space,
                     estimated | (pageable ? 0u : static_cast<std::uint32_t>(ring::flag_asynchronous))});
  });
  if (logging()) log_->api_call(c, ring::now(), key, bytes, trace_address(origin), trace_address(to), result);
  return check(result, name);
}

device_result<void> cuda_device::copy_batch_async(std::span<const copy_piece> pieces, stream_handle stream) {
  const entered here = enter();
#if CUDA_VERSION >= 13000
  // The driver's batch call rejects the default stream and captured streams. If this class writes the records, each
  // copy needs its own times.
  const bool one_call = driver_.copy_batch != nullptr && stream != stream_handle::null && pieces.size() > 1 &&
                        !logging() && !crosses_devices(pieces);
  const auto capture = one_call ? stream_capture(stream) : device_result<capture_info>{};
  if (one_call && capture && capture->status == capture_status::none) {
    std::vector<CUdeviceptr> to, from;
    std::vector<std::size_t> bytes;
    for (const copy_piece& piece : pieces) {
      if (piece.bytes == 0) continue;  // the driver would reject the batch
      to.push_back(device_pointer(piece.to));
      from.push_back(device_pointer(piece.from));
      bytes.push_back(piece.bytes);
    }
    if (to.empty()) return {};
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    std::size_t first = 0;
    return check(
        driver_.copy_batch(to.data(), from.data(), bytes.data(), to.size(), &attributes, &first, 1, native(stream)),
        "cuMemcpyBatchAsync");
  }
#endif
  for (const copy_piece& piece : pieces) {
    if (auto done = copy_async(piece.to, piece.from, piece.bytes, stream); !done) return done;
  }
  return {};
}

device_result<void> cuda_device::set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                           stream_handle stream) {
  if (bytes == 0) return {};
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return check(here.result(), "cuCtxSetCurrent");
  const auto c = begin_call("cuMemsetD8Async");
  const std::uint64_t key = logging() ? trace_stream(stream) : 0;
  const memory_space space = logging() ? get_space(address) : memory_space::device;
  const CUresult result = around(
      native(stream), [&] { return driver_.set(device_pointer(address), value, bytes, native(stream)); },
      [=, this](std::uint64_t begin, std::uint64_t end) {
        log_->set(c, begin, end, trace_address(address), bytes, value, space, key, estimated | ring::flag_asynchronous);
      });
  if (logging()) log_->api_call(c, ring::now(), key, bytes, 0, trace_address(address), result);
  return check(result, "cuMemsetD8Async");
}

device_result<CUfunction> cuda_device::function(const kernel_definition& kernel) {
  const std::lock_guard lock(functions_mutex_);
  const auto known = functions_.find(kernel.name);
  if (known != functions_.end()) return known->second;
  if (!module_) {
    if (const CUresult result = driver_.module_load(&module_, kernels_fatbin); result != CUDA_SUCCESS) {
      return driver_.fail(result, "cuModuleLoadData", "the runtime's kernels need sm_80 or later");
    }
  }
  CUfunction f = nullptr;
  const std::string name(kernel.name);
  if (const CUresult result = driver_.module_function(&f, module_, name.c_str()); result != CUDA_SUCCESS) {
    return driver_.fail(result, "cuModuleGetFunction", name);
  }
  functions_.emplace(name, f);
  return f;
}

device_result<void> cuda_device::launch(const kernel_definition& kernel, const launch_config& shape,
                                        kernel_arguments arguments, stream_handle stream) {
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return check(here.result(), "cuCtxSetCurrent");
  const auto f = function(kernel);
  if (!f) return tl::unexpected(f.error());
  const auto c = begin_call("cuLaunchKernel");
  const std::uint64_t key = logging() ? trace_stream(stream) : 0;
  std::vector<void*> pointers = arguments.pointers();
  const CUresult result = around(
      native(stream),
      [&] {
        return driver_.launch(*f, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                              shape.block[2], shape.shared_bytes, native(stream), pointers.data(), nullptr);
      },
      [=, this, &kernel](std::uint64_t begin, std::uint64_t end) {
        log_->ran(c, begin, end, kernel, shape, key, estimated);
      });
  if (logging()) log_->api_call(c, ring::now(), key, 0, 0, 0, result);
  return check(result, "cuLaunchKernel");
}

device_result<void> cuda_device::launch_host(host_function host, void* data, stream_handle stream) {
  const auto c = begin_call("cuLaunchHostFunc");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.launch_host(native(stream), host, data);
  if (logging()) log_->api_call(c, ring::now(), trace_stream(stream), 0, 0, 0, result);
  return check(result, c.name);
}

}  // namespace sluice::backend::cuda
