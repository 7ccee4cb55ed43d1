#pragma once

#include <array>

#include "core/metrics/findings/fp32_products/thresholds.hpp"
#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/report/waste/fp32_products.hpp"

/// Registers the findings about matrix products that do not use tensor cores. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(reported_products_share == 0.05 && fp32_products::tf32_length == 0.27);

inline constexpr auto fp32_products_fixes = std::to_array<code_fix>({
    {"PyTorch", "torch.set_float32_matmul_precision(\"high\")  # at the start"},
    {"CuPy", "export CUPY_TF32=1"},
    {"JAX", "jax.config.update(\"jax_default_matmul_precision\", \"tensorfloat32\")  # at the start"},
    {"CUDA C++", "cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);"},
});

inline constexpr auto fp32_products_rules = std::to_array<finding_rule>({
    {finding_kind::fp32_products, "fp32_products", "Matrix products in FP32 without tensor cores",
     "Matrix products compute in FP32 without tensor cores, although the GPU could use them for TF32.",
     "The finding is never a warning, because TF32 is less precise. The GPU has compute capability 8.0 or higher, and "
     "kernels whose names tell such products (ampere_sgemm, cutlass_80_simt_sgemm, xmma_gemm_f32f32_f32f32, "
     "magma_sgemmEx_kernel of floats) take 5 % of its busy time. The saving comes from a simulation in which each of "
     "them takes 27 % of its time, which is twice what the peaks of A100, H100 and B200 allow; the saving is unknown "
     "on "
     "other GPUs. Work that waited for the host starts no earlier.",
     "Names do not tell products of Triton, of XLA or of the program's own kernels, and not whether the program needs "
     "the precision. Convolutions of cuDNN do not count, because PyTorch lets them use TF32 by default and cuDNN "
     "chooses FP32 where that is faster. cuDNN's recurrent layers may launch the same kernels as cuBLAS; no setting "
     "changes those. Needs kernel times (record --mode timeline).",
     fp32_products_fixes},
});

void find_fp32_products(finder& in);
inline constexpr auto fp32_products_steps = std::to_array<find_function>({find_fp32_products});

inline constexpr finding_descriptor fp32_products_findings{"fp32_products", "FP32 matrix products", fp32_products_rules,
                                                           fp32_products_steps};

}  // namespace sluice::metrics
