#include <fmt/format.h>

#include "instrumentation/backend/cuda/device.hpp"
#include "instrumentation/backend/cuda/native.hpp"
#include "instrumentation/ring/producer.hpp"

// The driver's stream-ordered pools.

namespace sluice::backend::cuda {

std::uint64_t cuda_device::pool_key(pool_handle pool) const noexcept {
  return pool == pool_handle::null ? default_pool_key(description_.ordinal) : static_cast<std::uint64_t>(pool);
}

CUresult cuda_device::native_pool(pool_handle pool, CUmemoryPool* out) noexcept {
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return here.result();
  if (pool == pool_handle::null) return driver_.device_pool(out, device_);
  *out = reinterpret_cast<CUmemoryPool>(pool);
  return CUDA_SUCCESS;
}

void cuda_device::log_pool(pool_handle pool, trace::pool_operation operation) {
  if (!logging()) return;
  if (const auto info = pool_info(pool)) {
    log_->pool_state(ring::now(), pool_key(pool), info->reserved_bytes, info->used_bytes, operation,
                     info->release_threshold);
  }
}

device_result<pool_handle> cuda_device::create_pool(driver_pool_options options) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = on_device(device_);
  properties.maxSize = options.max_bytes;
  CUmemoryPool pool = nullptr;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.pool_create(&pool, &properties);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuMemPoolCreate", description_.name);
  if (logging()) log_->define_pool(ring::now(), reinterpret_cast<std::uint64_t>(pool), "memory pool");
  return pool_handle{reinterpret_cast<std::uintptr_t>(pool)};
}

device_result<void> cuda_device::destroy_pool(pool_handle pool) {
  if (pool == pool_handle::null) {
    return backend::fail(status::invalid_value, "cuMemPoolDestroy", "the device's default pool cannot be destroyed");
  }
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.pool_destroy(reinterpret_cast<CUmemoryPool>(pool));
  return check(result, "cuMemPoolDestroy");
}

device_result<void*> cuda_device::allocated_from_pool(CUresult result, const driver_log::call& c, std::uint64_t address,
                                                      std::uint64_t bytes, std::uint64_t pool, stream_handle stream) {
  if (!logging()) return allocated(result, c, {address, bytes, 0, pool, trace::memory_kind::device, 0});
  if (const CUgraph graph = captured_graph(stream)) {
    // A graph node: from now on, the graph owns the address. It has memory only while the graph runs.
    const std::uint64_t memory = graph_pool_key(description_.ordinal);
    if (!graph_pool_defined_.exchange(true)) log_->define_pool(ring::now(), memory, "graph memory");
    return allocated(result, c,
                     {address, bytes, 0, memory, trace::memory_kind::device, ring::flag_graph,
                      reinterpret_cast<std::uint64_t>(graph)});
  }
  return allocated(result, c, {address, bytes, trace_stream(stream), pool, trace::memory_kind::device, 0});
}

device_result<void*> cuda_device::allocate_async(std::uint64_t bytes, stream_handle stream) {
  const auto c = begin_call("cuMemAllocAsync");
  CUdeviceptr address = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.allocate_async(&address, bytes, native(stream));
  return allocated_from_pool(result, c, address, bytes, pool_key(pool_handle::null), stream);
}

device_result<void*> cuda_device::allocate_from_pool(pool_handle pool, std::uint64_t bytes, stream_handle stream) {
  if (pool == pool_handle::null) return allocate_async(bytes, stream);
  const auto c = begin_call("cuMemAllocFromPoolAsync");
  CUdeviceptr address = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) {
    result = driver_.allocate_from_pool(&address, bytes, reinterpret_cast<CUmemoryPool>(pool), native(stream));
  }
  return allocated_from_pool(result, c, address, bytes, pool_key(pool), stream);
}

device_result<void> cuda_device::free_async(void* address, stream_handle stream) {
  if (!address) return {};
  const auto c = begin_call("cuMemFreeAsync");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.free_async(device_pointer(address), native(stream));
  // On a captured stream this adds a node; the graph keeps the address.
  if (!logging() || captured_graph(stream) != nullptr) return check(result, c.name);
  return freed(result, c, address, trace::memory_kind::device, trace_stream(stream));
}

device_result<driver_pool_info> cuda_device::pool_info(pool_handle pool) {
  const entered here = enter();
  CUmemoryPool native = nullptr;
  CUresult result = native_pool(pool, &native);
  driver_pool_info info;
  const auto ask = [&](CUmemPool_attribute which, std::uint64_t& into) {
    cuuint64_t value = 0;
    if (result == CUDA_SUCCESS) result = driver_.pool_attribute(native, which, &value);
    into = value;
  };
  ask(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, info.reserved_bytes);
  ask(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, info.reserved_high);
  ask(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, info.used_bytes);
  ask(CU_MEMPOOL_ATTR_USED_MEM_HIGH, info.used_high);
  ask(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, info.release_threshold);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuMemPoolGetAttribute", description_.name);
  return info;
}

device_result<void> cuda_device::set_release_threshold(pool_handle pool, std::uint64_t bytes) {
  const entered here = enter();
  CUmemoryPool native = nullptr;
  cuuint64_t value = bytes;
  CUresult result = native_pool(pool, &native);
  if (result == CUDA_SUCCESS) result = driver_.pool_set_attribute(native, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
  if (result == CUDA_SUCCESS) log_pool(pool, trace::pool_operation::sample);
  return check(result, "cuMemPoolSetAttribute");
}

device_result<void> cuda_device::reset_pool_highs(pool_handle pool) {
  const entered here = enter();
  CUmemoryPool native = nullptr;
  CUresult result = native_pool(pool, &native);
  for (const auto which : {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH}) {
    cuuint64_t zero = 0;  // the only accepted value: resets the high-water mark
    if (result == CUDA_SUCCESS) result = driver_.pool_set_attribute(native, which, &zero);
  }
  return check(result, "cuMemPoolSetAttribute");
}

device_result<void> cuda_device::trim_pool(pool_handle pool, std::uint64_t keep_bytes) {
  const entered here = enter();
  CUmemoryPool native = nullptr;
  CUresult result = native_pool(pool, &native);
  if (result == CUDA_SUCCESS) result = driver_.pool_trim(native, keep_bytes);
  if (result == CUDA_SUCCESS) log_pool(pool, trace::pool_operation::trim);
  return check(result, "cuMemPoolTrimTo");
}

}  // namespace sluice::backend::cuda
