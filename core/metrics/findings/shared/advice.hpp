#pragma once

#include <string>
#include <string_view>

/// Advice shared by several findings, worded for the framework that allocated the memory. Private to core/metrics.
namespace sluice::metrics {

/// Returns advice on how to free memory right after its last use. `maker` is a result of `find_maker`.
[[nodiscard]] inline std::string free_after_use(std::string_view maker) {
  if (maker == "PyTorch" || maker == "CuPy" || maker == "Numba")
    return "Free it after its last use: `del` the name (and others that refer to it), or let its function return.";
  if (maker == "JAX")
    return "Free it after its last use: `del` the name, or donate it to the jitted function "
           "(jax.jit(..., donate_argnums=...)).";
  return "Free it right after its last use (cudaFree, or cudaFreeAsync on the same stream).";
}

}  // namespace sluice::metrics
