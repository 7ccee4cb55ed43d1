#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Matrix products that compute in FP32 without tensor cores. Times are in ns.
namespace sluice::metrics {

/// The framework that launched products, as other kernels of the process show; `unknown` for plain CUDA programs and
/// for frameworks whose kernels have no telling names.
enum class product_maker : std::uint8_t { unknown, pytorch, cupy };
inline constexpr std::size_t product_maker_count = 3;

/// The FP32 products of a process on a device.
struct fp32_products {
  trace::process_id process{};
  trace::device_id device{};
  product_maker maker = product_maker::unknown;
  std::uint64_t count = 0;
  time_ns total = 0;  ///< Sum of their durations.
  time_ns busy = 0;   ///< The time in which one of them ran, and no work of the process that began before it.
  /// How much earlier the last work would have ended if each product took `tf32_length` of its time.
  time_ns saved = 0;
  trace::string_id longest_name{};  ///< The kernel with the largest sum of durations.
  time_ns longest_total = 0;        ///< That sum.
  time_ns first = 0;                ///< Start of the first product.
  time_ns last = 0;                 ///< End of the last product.

  /// A product takes at least this part of its time in TF32. On A100, H100 and B200, the peak in TF32 is 8, 7.4 and 14
  /// times that in FP32 (data sheets: 156 and 19.5 TFLOPS, 494 and 67, 1100 and 80). Half of the lowest factor is
  /// assumed, because the reading of the matrices gets no faster.
  static constexpr double tf32_length = 0.27;
};

}  // namespace sluice::metrics
