#include "instrumentation/runtime/kernel.hpp"

namespace sluice::runtime::kernels {

namespace {

using backend::kernel_arguments;
using backend::kernel_work;

struct affine_map {
  std::uint32_t multiplier = 1, increment = 0;

  // The map that applies `first`, then this map.
  [[nodiscard]] affine_map after(affine_map first) const {
    return {multiplier * first.multiplier, multiplier * first.increment + increment};
  }
};

// `rounds` applications of an affine map are one affine map. Computed by square-and-multiply.
affine_map repeated(affine_map map, std::uint32_t rounds) {
  affine_map result;
  for (; rounds != 0; rounds >>= 1, map = map.after(map)) {
    if (rounds & 1) result = map.after(result);
  }
  return result;
}

void run_affine(const launch_config& /*shape*/, const kernel_arguments& a) {
  auto* data = a.get<std::uint32_t*>(0);
  const auto count = a.get<std::uint64_t>(1);
  const affine_map map = repeated({a.get<std::uint32_t>(2), a.get<std::uint32_t>(3)}, a.get<std::uint32_t>(4));
  for (std::uint64_t i = 0; i < count; ++i) data[i] = map.multiplier * data[i] + map.increment;
}

kernel_work work_of_affine(const launch_config& /*shape*/, const kernel_arguments& a) {
  const auto count = a.get<std::uint64_t>(1);
  kernel_work work;
  work.touch(a.get<std::uint32_t*>(0), count * 4, true);
  work.bytes *= 2;  // read and written
  work.operations = count * a.get<std::uint32_t>(4) * 2;
  return work;
}

void run_add(const launch_config& /*shape*/, const kernel_arguments& a) {
  auto* out = a.get<std::uint32_t*>(0);
  const auto* x = a.get<const std::uint32_t*>(1);
  const auto* y = a.get<const std::uint32_t*>(2);
  const auto count = a.get<std::uint64_t>(3);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = x[i] + y[i];
}

kernel_work work_of_add(const launch_config& /*shape*/, const kernel_arguments& a) {
  const auto count = a.get<std::uint64_t>(3);
  kernel_work work;
  work.touch(a.get<const std::uint32_t*>(1), count * 4, false);
  work.touch(a.get<const std::uint32_t*>(2), count * 4, false);
  work.touch(a.get<std::uint32_t*>(0), count * 4, true);
  work.operations = count;
  return work;
}

}  // namespace

const kernel_definition affine_u32{"affine_u32", run_affine, work_of_affine};
const kernel_definition add_u32{"add_u32", run_add, work_of_add};

std::uint32_t affine(std::uint32_t value, std::uint32_t multiplier, std::uint32_t increment,
                     std::uint32_t rounds) noexcept {
  const affine_map map = repeated({multiplier, increment}, rounds);
  return map.multiplier * value + map.increment;
}

}  // namespace sluice::runtime::kernels
