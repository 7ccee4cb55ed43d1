#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>

#include <cstdint>

/// Our replacements for the driver's entry points, so that `memory` mode needs no CUPTI. With activity records on,
/// CUPTI adds about 350 ns to each launch, uses about 80 MiB of device memory per context, and serves one user per
/// process. A replacement costs one function call.
///
/// Since this library is preloaded, the loader finds our `cuMemAlloc_v2` etc. first. Results of `dlsym` and
/// `cuGetProcAddress` (the CUDA runtime uses both) are replaced by address, so every way to a driver function leads to
/// ours. (Interposing `dlsym` to hand out functions is HAMi-core's idea. On an H200 with driver 580, all 3,767
/// addresses from cuGetProcAddress, for five CUDA versions, were exported under a name.) Our function calls the
/// handlers of `calls.hpp` at both edges, with parameters as in CUPTI's callbacks, and the driver in between.
///
/// All functions here may be called from any thread; none allocates.
namespace sluice::capture::entry_points {

/// True if this thread is in a cuInit that was called through our function: other calls will come this way too.
[[nodiscard]] bool lead_here() noexcept;

/// Starts handling calls; until then they are only passed on.
void start() noexcept;
/// True if calls are handled here, and not by CUPTI's callbacks.
[[nodiscard]] bool in_use() noexcept;

/// True if there is a replacement for this call (a CUpti_driver_api_trace_cbid).
[[nodiscard]] bool exist_for(std::uint32_t call) noexcept;

/// The name of the driver function at this address, if we replace it and it has a handler; else null. O(1) on average,
/// lock-free.
[[nodiscard]] const char* name_of_drivers(const void* function) noexcept;

/// Like dlsym without our interposition: finds the driver's function. Null if there is none.
[[nodiscard]] void* real_symbol(void* library, const char* name) noexcept;

// --- for the wrappers -----------------------------------------------------------------------------------------------

/// One call in progress, with the data for the handlers of both edges, as CUPTI gives them.
struct edges {
  CUpti_CallbackData data;
  std::uint64_t own;
  CUresult result;
};

struct entry_point {
  const char* name;  ///< As exported by the driver.
  void* ours;
  std::uint32_t call;  ///< 0 for functions that look up others or initialize.
};
/// Defined in `wrappers.cpp`, ordered by wrapper number.
extern const entry_point wrappers[];
extern const unsigned wrapper_count;

/// The driver's function for a wrapper; null if this driver lacks it.
[[nodiscard]] void* real(unsigned number) noexcept;
/// True if the current call is to be handled: not one that the driver makes inside another call.
[[nodiscard]] bool is_watched() noexcept;
void enter(edges& e, std::uint32_t call, const void* parameters) noexcept;
[[nodiscard]] CUresult leave(edges& e, std::uint32_t call, CUresult result) noexcept;

}  // namespace sluice::capture::entry_points
