#include "instrumentation/runtime/stencil.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "instrumentation/runtime/error.hpp"

namespace sluice::runtime {

namespace {

using backend::kernel_arguments;
using backend::kernel_work;

constexpr std::uint32_t threads = 256;
// Enough to fill any device. A block can only prefetch if there are more tiles than blocks.
constexpr std::uint64_t max_blocks = 1024;

std::uint64_t staging_bytes(std::uint32_t block, std::uint32_t radius) {
  return 2 * (std::uint64_t{block} + 2 * std::uint64_t{radius}) * sizeof(std::uint32_t);
}

// Uses a running sum: O(count), independent of the radius.
void run_stencil(const launch_config& /*shape*/, const kernel_arguments& a) {
  auto* out = a.get<std::uint32_t*>(0);
  const auto* in = a.get<const std::uint32_t*>(1);
  const auto count = static_cast<std::int64_t>(a.get<std::uint64_t>(2));
  const auto radius = static_cast<std::int64_t>(a.get<std::uint32_t>(3));
  const auto at = [&](std::int64_t i) { return in[std::clamp<std::int64_t>(i, 0, count - 1)]; };
  if (count == 0) return;
  std::uint32_t sum = 0;
  for (std::int64_t j = -radius; j <= radius; ++j) sum += at(j);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = sum;
    sum += at(i + radius + 1) - at(i - radius);
  }
}

kernel_work touched(const kernel_arguments& a) {
  const auto count = a.get<std::uint64_t>(2);
  kernel_work work;
  work.touch(a.get<const std::uint32_t*>(1), count * 4, false);
  work.touch(a.get<std::uint32_t*>(0), count * 4, true);
  work.operations = count * (2 * std::uint64_t{a.get<std::uint32_t>(3)} + 1);
  return work;
}

kernel_work work_of_staged(const launch_config& shape, const kernel_arguments& a) {
  kernel_work work = touched(a);
  // With too little shared memory the kernel would fault on a real device; touching null does the same here.
  if (shape.shared_bytes < staging_bytes(shape.block[0], a.get<std::uint32_t>(3))) work.touch(nullptr, 1, true);
  return work;
}

kernel_work work_of_direct(const launch_config& /*shape*/, const kernel_arguments& a) {
  kernel_work work = touched(a);
  work.bytes += a.get<std::uint64_t>(2) * 4 * 2 * std::uint64_t{a.get<std::uint32_t>(3)};
  return work;
}

}  // namespace

const kernel_definition kernels::stencil_u32{"stencil_u32", run_stencil, work_of_staged};
const kernel_definition kernels::stencil_direct_u32{"stencil_direct_u32", run_stencil, work_of_direct};

launch_config stencil_shape(std::uint64_t count, std::uint32_t radius) {
  if (radius > largest_stencil_radius) {
    throw error(
        {status::invalid_value, 0, "stencil_shape",
         fmt::format("radius {}: the largest that fits into shared memory is {}", radius, largest_stencil_radius)});
  }
  launch_config shape = launch_config::for_size(count, threads);
  shape.grid[0] = static_cast<std::uint32_t>(std::min<std::uint64_t>((count + threads - 1) / threads, max_blocks));
  shape.grid[0] = std::max(shape.grid[0], 1u);
  shape.shared_bytes = static_cast<std::uint32_t>(staging_bytes(threads, radius));
  return shape;
}

}  // namespace sluice::runtime
