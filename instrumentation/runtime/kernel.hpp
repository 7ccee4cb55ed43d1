#pragma once

#include <cstdint>

#include "instrumentation/backend/kernel.hpp"
#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

using backend::kernel_definition;
using backend::launch_config;

/// Enqueues a kernel. `arguments` are copied; their types must match the kernel's parameters. Throws error on failure.
template <class... Ts>
void launch(const kernel_definition& kernel, const launch_config& shape, const stream_ref& stream,
            const Ts&... arguments) {
  value_or_throw(
      stream.device().backend().launch(kernel, shape, backend::kernel_arguments::of(arguments...), stream.handle()));
}

/// The kernels that are included in the runtime.
namespace kernels {

/// Applies x -> multiplier * x + increment (mod 2^32) `rounds` times to each data[i].
/// Parameters: uint32_t* data, uint64_t count, uint32_t multiplier, uint32_t increment, uint32_t rounds.
extern const kernel_definition affine_u32;

/// out[i] = a[i] + b[i] (mod 2^32). Parameters: uint32_t* out, const uint32_t* a, const uint32_t* b, uint64_t count.
extern const kernel_definition add_u32;

/// The result of affine_u32 for `value`, to check results on the host. O(log rounds).
[[nodiscard]] std::uint32_t affine(std::uint32_t value, std::uint32_t multiplier, std::uint32_t increment,
                                   std::uint32_t rounds) noexcept;

}  // namespace kernels

}  // namespace sluice::runtime
