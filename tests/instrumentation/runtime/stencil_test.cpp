#include "instrumentation/runtime/stencil.hpp"

#include <algorithm>
#include <vector>

#include "instrumentation/runtime/transfer.hpp"
#include "tests/instrumentation/runtime/complains.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

namespace sluice::runtime {
namespace {

using stencil = on_each_device;
SLUICE_ON_EACH_DEVICE(stencil);

std::vector<std::uint32_t> scattered_words(std::size_t count) {
  std::vector<std::uint32_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint32_t>(i * 2654435761u + 7);
  return out;
}

std::uint32_t expected(const std::vector<std::uint32_t>& in, std::int64_t i, std::int64_t radius) {
  std::uint32_t sum = 0;
  for (std::int64_t j = i - radius; j <= i + radius; ++j) {
    sum += in[static_cast<std::size_t>(std::clamp<std::int64_t>(j, 0, static_cast<std::int64_t>(in.size()) - 1))];
  }
  return sum;
}

TEST_P(stencil, sums_neighbours_through_shared_memory_with_any_radius_and_length) {
  for (const std::size_t count : {1u, 255u, 256u, 257u, 5'000u, 700'001u}) {
    for (const std::uint32_t radius : {0u, 1u, 17u, 300u, largest_stencil_radius}) {
      const auto in = scattered_words(count);
      const auto there = to_device(std::span(in));
      const auto staged = empty_like(there), direct = empty_like(there);
      launch(kernels::stencil_u32, stencil_shape(count, radius), current_stream(), staged.data(),
             static_cast<const std::uint32_t*>(there.data()), std::uint64_t{count}, radius);
      launch(kernels::stencil_direct_u32, launch_config::for_size(count), current_stream(), direct.data(),
             static_cast<const std::uint32_t*>(there.data()), std::uint64_t{count}, radius);
      const auto out = to_vector(staged);
      for (std::size_t i = 0; i < count; i += std::max<std::size_t>(1, count / 97)) {
        ASSERT_EQ(out[i], expected(in, static_cast<std::int64_t>(i), radius)) << i << " of " << count << ", " << radius;
      }
      ASSERT_EQ(out.back(), expected(in, static_cast<std::int64_t>(count) - 1, radius));
      ASSERT_EQ(to_vector(direct), out);
    }
  }
}

TEST_P(stencil, needs_the_shared_memory_that_its_shape_asks_for) {
  EXPECT_EQ(stencil_shape(1000, 10).shared_bytes, 2u * (256 + 20) * 4);
  EXPECT_LE(stencil_shape(1000, largest_stencil_radius).shared_bytes, 48u * 1024);
  complains("fits into shared memory", [] { (void)stencil_shape(1000, largest_stencil_radius + 1); });
  if (!simulated()) return;  // a real device would stay in an error state
  const device_array<std::uint32_t, 1> a({1000}), b({1000});
  launch_config too_little = stencil_shape(1000, 10);
  too_little.shared_bytes -= 4;
  complains("illegal address", [&] {
    launch(kernels::stencil_u32, too_little, current_stream(), a.data(), static_cast<const std::uint32_t*>(b.data()),
           std::uint64_t{1000}, 10u);
  });
}

}  // namespace
}  // namespace sluice::runtime
