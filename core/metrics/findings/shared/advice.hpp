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

/// Returns advice on memory that only grows, worded for the framework that allocated the memory.
[[nodiscard]] inline std::string_view stop_growth(const std::string& maker) {
  if (maker == "PyTorch")
    return "Find what keeps these tensors alive: a loss accumulated with its graph (use loss.item() or .detach()), "
           "outputs in a list, a hook, an unbounded cache.";
  if (maker == "CuPy" || maker == "JAX" || maker == "Numba")
    return "Find what keeps these arrays alive: a list of results, an unbounded cache (functools.lru_cache, a dict).";
  return "Free each block at the end of the step that allocated it.";
}

}  // namespace sluice::metrics
