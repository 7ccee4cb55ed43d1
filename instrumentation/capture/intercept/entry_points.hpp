#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>

#include <cstdint>

/// Our replacements for the driver's entry points, so that `memory` mode needs no CUPTI. With activity records on,
/// CUPTI adds about 350 ns to each launch, uses about 80 MiB of device memory per context, and serves only one user in
/// each process. A replacement costs one function call.
///
/// Since this library is preloaded, the loader finds our `cuMemAlloc_v2` etc. first. Results of `dlsym` and
/// `cuGetProcAddress` (the CUDA runtime uses both) are replaced by address, so every way to a driver function leads to
/// ours. (Interposing `dlsym` to return other functions is HAMi-core's idea. On an H200 with driver 580, all 3,767
/// addresses from cuGetProcAddress, for five CUDA versions, were exported under a name.) Our function calls the entry
/// handler (`calls.hpp`), the driver, and the exit handler; handlers get parameters as in CUPTI's callbacks.
///
/// Any thread may call the functions here. They allocate nothing.
namespace sluice::capture::entry_points {

/// True while this thread is in a cuInit called through our function. Our functions will then get the program's other
/// calls, too.
[[nodiscard]] bool lead_here() noexcept;

/// Starts handling calls. Until then, our functions only pass calls on to the driver.
void start() noexcept;
/// True if our functions, rather than CUPTI's callbacks, handle calls.
[[nodiscard]] bool in_use() noexcept;

/// True if there is a replacement for this call (a CUpti_driver_api_trace_cbid).
[[nodiscard]] bool exist_for(std::uint32_t call) noexcept;

/// The name of the driver function at address `function` if we replace that function; else null. O(1) on average,
/// lock-free.
[[nodiscard]] const char* name_of_drivers(const void* function) noexcept;

// --- for the replacement functions ("wrappers") ---------------------------------------------------------------------

/// One call in progress, with the data that CUPTI would give to the call's entry and exit handlers.
struct edges {
  CUpti_CallbackData data;
  std::uint64_t own;
  CUresult result;
};

struct entry_point {
  const char* name;  ///< As exported by the driver.
  void* ours;
  std::uint32_t call;      ///< 0 for functions that look up other functions or initialize.
  bool for_contents_only;  ///< Needed only if the contents of copies are hashed.
};
/// Defined in `wrappers.cpp`, ordered by wrapper number.
extern const entry_point wrappers[];
extern const unsigned wrapper_count;

/// The driver's function that a wrapper replaces; null if this driver lacks it.
[[nodiscard]] void* real(unsigned number) noexcept;
/// True if the program makes the current call; false for a call that the driver makes inside another call.
[[nodiscard]] bool is_watched() noexcept;
/// Runs the entry handler. `parameters` must live until `leave`.
void enter(edges& e, std::uint32_t call, const void* parameters) noexcept;
/// Runs the exit handler; returns `result`.
[[nodiscard]] CUresult leave(edges& e, std::uint32_t call, CUresult result) noexcept;

/// A faster `enter` for nearly all launches: records the same as the handlers, with less than half the code that must
/// be fetched into the caches for each launch. Returns false, having done nothing, if the handlers must see this
/// launch: during a capture or a pause, for a new context, or if launches or touches are not recorded. If it returns
/// true, call `leave` if the launch fails, `launched` if it succeeds. `per_thread`: stream 0 means the thread's own
/// default stream.
[[nodiscard]] bool launch(edges& e, const void* parameters, CUfunction function, void** values, void** extra,
                          CUstream stream, bool per_thread) noexcept;
void launched() noexcept;

}  // namespace sluice::capture::entry_points
