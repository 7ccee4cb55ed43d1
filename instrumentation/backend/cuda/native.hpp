#pragma once

#include <cuda.h>

#include <cstdint>

#include "instrumentation/backend/device_types.hpp"

/// The driver's own types for the interface's.
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

/// What records call the device's default pool where this backend writes them itself; others go by their handle.
inline constexpr std::uint64_t default_pool_key = 1;

}  // namespace sluice::backend::cuda
