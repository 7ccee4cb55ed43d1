// One replacement for each driver function with a handler in `memory` mode, generated from the driver's declarations.
// The next line makes cuda.h declare every version under its own name.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>

#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/process/options.hpp"

/// CUPTI has no such struct, because the call has no parameters.
struct cuCtxSynchronize_params {};

namespace sluice::capture::entry_points {

namespace {

enum number : unsigned {
#define ENTRY(name) number_##name,
#include "instrumentation/capture/intercept/entry_point_list.inc"
#undef ENTRY
};

constexpr bool for_contents_only[] = {
#define ENTRY(name) false,
#define CONTENTS_ENTRY(name) true,
#include "instrumentation/capture/intercept/entry_point_list.inc"
#undef ENTRY
};

template <class Parameters>
constexpr bool launches_a_kernel = requires(const Parameters& p) {
  p.f, p.kernelParams;
};

template <class Parameters>
CUstream get_stream(const Parameters& p) {
  if constexpr (requires { p.config; }) {
    return p.config == nullptr ? nullptr : p.config->hStream;
  } else {
    return p.hStream;
  }
}

template <class Parameters>
void** find_extra(const Parameters& p) {
  if constexpr (requires { p.extra; }) {
    return p.extra;
  } else {
    return nullptr;
  }
}

constexpr bool uses_per_thread_stream(std::uint32_t call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz || call == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz ||
         call == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
}

template <unsigned Number, std::uint32_t Call, class Parameters, class Function>
struct wrapper;

template <unsigned Number, std::uint32_t Call, class Parameters, class... Arguments>
struct wrapper<Number, Call, Parameters, CUresult(Arguments...)> {
  static CUresult call(Arguments... arguments) noexcept {
    auto* const driver = reinterpret_cast<CUresult (*)(Arguments...)>(real(Number));
    if (driver == nullptr) [[unlikely]]
      return CUDA_ERROR_NOT_INITIALIZED;
    if constexpr (for_contents_only[Number]) {
      if (options.duplicates_percent == 0) return driver(arguments...);
    }
    if (!is_watched()) return driver(arguments...);
    const Parameters parameters{arguments...};
    edges e;
    bool plain = false;
    if constexpr (launches_a_kernel<Parameters>) {
      plain = launch(e, &parameters, parameters.f, parameters.kernelParams, find_extra(parameters),
                     get_stream(parameters), uses_per_thread_stream(Call));
    }
    if (!plain) enter(e, Call, &parameters);
    const CUresult result = driver(arguments...);
    if (plain && result == CUDA_SUCCESS) {
      launched();
      return result;
    }
    return leave(e, Call, result);
  }
};

}  // namespace

#define OURS(name) &wrapper<number_##name, CUPTI_DRIVER_TRACE_CBID_##name, name##_params, decltype(::name)>::call

// Exports the replacements under the driver's names, for programs linked with the driver.
#define ENTRY(name)                                                                                          \
  extern "C" __attribute__((used, visibility("hidden"))) void* const sluice_wrapper_of_##name =              \
      reinterpret_cast<void*>(OURS(name));                                                                   \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n  jmp *sluice_wrapper_of_" #name \
          "(%rip)\n.size " #name ", .-" #name "\n");
#include "instrumentation/capture/intercept/entry_point_list.inc"
#undef ENTRY

const entry_point wrappers[] = {
#define ENTRY(name) {#name, reinterpret_cast<void*>(OURS(name)), CUPTI_DRIVER_TRACE_CBID_##name, false},
#define CONTENTS_ENTRY(name) {#name, reinterpret_cast<void*>(OURS(name)), CUPTI_DRIVER_TRACE_CBID_##name, true},
#include "instrumentation/capture/intercept/entry_point_list.inc"
#undef ENTRY
};
const unsigned wrapper_count = sizeof wrappers / sizeof wrappers[0];

}  // namespace sluice::capture::entry_points
