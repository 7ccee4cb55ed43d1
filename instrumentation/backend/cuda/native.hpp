#pragma once

#include <cuda.h>

#include <cstdint>

#include "instrumentation/backend/device_types.hpp"

/// Conversions from the types of the device interface (device.hpp) to the CUDA driver's types.
namespace sluice::backend::cuda {

inline CUdeviceptr device_pointer(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }
inline CUstream native(stream_handle stream) { return reinterpret_cast<CUstream>(stream); }
inline CUevent native(event_handle event) { return reinterpret_cast<CUevent>(event); }

inline CUgraph native(graph_handle graph) { return reinterpret_cast<CUgraph>(graph); }
inline CUgraphExec native(graph_exec_handle exec) { return reinterpret_cast<CUgraphExec>(exec); }

inline CUmemLocation on_device(CUdevice device) {
  CUmemLocation out{};
  out.type = CU_MEM_LOCATION_TYPE_DEVICE;
  out.id = device;
  return out;
}

/// Key of a device's default pool in records that this backend writes. Other pools use their handle as key.
[[nodiscard]] constexpr std::uint64_t default_pool_key(std::uint32_t device) noexcept {
  return (std::uint64_t{0x6470} << 48) | device;
}

}  // namespace sluice::backend::cuda
