#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>

#include <cstdint>

/// Our own functions, given to the program in place of the driver's entry points, so that `memory` mode needs no CUPTI. With activity
/// records on, CUPTI adds about 350 ns to each launch, takes about 80 MiB of device memory per context, and serves one user per
/// process. A function of ours costs a call.
///
/// Preloaded, the library is where the loader finds `cuMemAlloc_v2` and its kin first; what is looked up by `dlsym` and by
/// `cuGetProcAddress` (the CUDA runtime does both) is exchanged by its address: whatever route leads to the driver's function
/// leads to ours. (Interposing `dlsym` to hand out functions is HAMi-core's idea. On an H200 with driver 580 each of 3,767 addresses
/// that cuGetProcAddress gave out, for five versions of CUDA, was one that the driver exports under a name.) Ours calls the
/// handlers of `calls.hpp` at both edges, with the parameters as CUPTI's callbacks have them, and the driver's in between.
///
/// All functions here may be called from any thread; none allocates.
namespace sluice::capture::entry_points {

/// This thread is in a cuInit that it came to through us: the program's other calls will come through us too.
[[nodiscard]] bool lead_here() noexcept;

/// From here on calls are handled; before, they pass through.
void start() noexcept;
/// Calls are handled here, and CUPTI tells of none.
[[nodiscard]] bool in_use() noexcept;

/// There is one for this call (a CUpti_driver_api_trace_cbid).
[[nodiscard]] bool exist_for(std::uint32_t call) noexcept;

/// The name of the driver's function at this address, if there is one of ours for it and it has a handler; else null. O(1) on average,
/// lock-free.
[[nodiscard]] const char* name_of_drivers(const void* function) noexcept;

/// dlsym, past our own: the driver's function and not ours. Null if there is none.
[[nodiscard]] void* real_symbol(void* library, const char* name) noexcept;

// --- for the wrappers -------------------------------------------------------------------------------------------------

/// One call on its way: both of its edges as CUPTI tells them.
struct edges {
  CUpti_CallbackData data;
  std::uint64_t own;
  CUresult result;
};

struct entry_point {
  const char* name;  ///< As the driver exports it.
  void* ours;
  std::uint32_t call;  ///< 0: for looking up others, or starting up.
};
/// In `wrappers.cpp`; the order is that of their numbers.
extern const entry_point wrappers[];
extern const unsigned wrapper_count;

/// The driver's function for a wrapper. Null if this driver has none.
[[nodiscard]] void* real(unsigned number) noexcept;
/// The call is one to handle: not one that the driver makes within another.
[[nodiscard]] bool is_watched() noexcept;
void enter(edges& e, std::uint32_t call, const void* parameters) noexcept;
[[nodiscard]] CUresult leave(edges& e, std::uint32_t call, CUresult result) noexcept;

}  // namespace sluice::capture::entry_points
