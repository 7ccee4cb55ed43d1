#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/metrics/findings/fp32_products/descriptor.hpp"
#include "core/metrics/findings/fp32_products/thresholds.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

/// Findings about kernels whose names tell that they could be faster.
namespace sluice::metrics {
namespace {

/// TF32 exists from compute capability 8.0 on.
bool has_tf32(const trace::device_row* device) { return device != nullptr && device->compute_major >= 8; }

/// True if the peak in TF32 is several times that in FP32, as on A100, H100, H200, B200 and B300. On other devices with
/// tensor cores, it is once or twice as high (RTX 3090: 35.6 and 35.6 TFLOPS, A40: 74.8 and 37.4, RTX 4090: 82.6 and
/// 82.6, L40S: 183 and 91.6; NVIDIA's data sheets, without sparsity), so the saving is unknown there.
bool gains_by_tf32(const trace::device_row& device) {
  return (device.compute_major == 8 && device.compute_minor == 0) || device.compute_major == 9 ||
         device.compute_major == 10;
}

/// Returns "PyTorch", "CuPy" or "JAX", if that framework launched the products; otherwise empty.
std::string find_framework(const finder& in, const fp32_products& products) {
  if (products.maker == product_maker::pytorch) return "PyTorch";
  if (products.maker == product_maker::cupy) return "CuPy";
  for (const memory_statistics& each : in.whole.whole.memory)
    if (each.device == products.device && each.layer == trace::layer::framework) return "PyTorch";
  return {};
}

/// Returns the framework that the call stacks of the device's copies and gaps name.
std::string find_framework_by_stacks(finder& in, trace::device_id device) {
  for (const copy_group& each : in.whole.waste.copies)
    if (const std::string& maker = in.places.of(each.stack).maker; each.device == device && !maker.empty())
      return maker;
  for (const gap_group& each : in.whole.waste.gaps)
    if (const std::string& maker = in.places.of(each.stack).maker; each.device == device && !maker.empty())
      return maker;
  return {};
}

std::string advice_for(std::string_view framework) {
  constexpr std::string_view cost = " TF32 rounds the factors to 10 bits after the point, and adds in FP32.";
  if (framework == "PyTorch")
    return "Let them use tensor cores: torch.set_float32_matmul_precision(\"high\") at the start, or train in bfloat16 "
           "(torch.autocast)." +
           std::string(cost);
  if (framework == "CuPy")
    return "Let them use tensor cores: set the environment variable CUPY_TF32=1." + std::string(cost);
  if (framework == "JAX")
    return "Let them use tensor cores: jax.config.update(\"jax_default_matmul_precision\", \"tensorfloat32\")." +
           std::string(cost);
  return "Let them use tensor cores: cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), or the compute type "
         "CUBLAS_COMPUTE_32F_FAST_TF32." +
         std::string(cost);
}

}  // namespace

void find_fp32_products(finder& in) {
  for (const fp32_products& each : in.whole.waste.products) {
    in.device = each.device;
    const trace::device_row* device = in.tables.devices.find(each.device);
    if (!has_tf32(device)) continue;
    time_ns busy = 0;
    for (const device_activity& activity : in.whole.whole.devices)
      if (activity.device == each.device) busy = activity.busy;
    const double share = static_cast<double>(each.busy) / static_cast<double>(std::max<time_ns>(busy, 1));
    if (share < reported_products_share) continue;
    std::string text =
        fmt::format("{} computes matrix products in FP32 without tensor cores for {} ({} of its busy time, {}).",
                    in.gpu(each.device), format_time(each.busy), format_share(std::min(share, 1.0)),
                    format_some(each.count, "kernel"));
    if (const std::string name = readable_name(in.tables.text(each.longest_name)); !name.empty())
      text += fmt::format(" Most of it is {}.", shortened(name, 80));
    const bool known = gains_by_tf32(*device);
    const saving saves = in.time(static_cast<double>(each.saved), saving_basis::modelled);
    if (known && saves.share < reported_idle_share)
      text += " The program would hardly end earlier with faster products, because the GPU waits for the host.";
    std::string framework = find_framework(in, each);
    if (framework.empty()) framework = find_framework_by_stacks(in, each.device);
    finding& f = in.add(finding_kind::fp32_products, std::move(text), advice_for(framework));
    if (known) f.saves = saves;
    if (!known) f.advice += " On this GPU, products in TF32 are at most twice as fast.";
    f.range = {each.first, each.last};
    f.only_note = true;  // The program may need the precision of FP32.
    f.fix_code = choose_fix(fp32_products_fixes,
                            framework.empty() ? in.find_framework({}, trace::layer::driver) : framework, {});
  }
}

}  // namespace sluice::metrics
