// While a pool grows or shrinks, the functions that it calls may use pools, including the same pool.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "instrumentation/backend/simulated/device/device.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/callback_memory_resource.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::runtime {
namespace {

TEST(pool_call_backs, use_pools_as_ever) {
  constexpr std::size_t bytes = 2 * mib;
  const device_ref device(backend::make_simulated_device());
  const auto direct = std::make_shared<device_memory_resource>(device);
  std::function<void()> call_back;
  const auto upstream = std::make_shared<callback_memory_resource>(
      device, memory_space::device,
      [&](std::size_t size, const stream_ref& s) {
        if (call_back) call_back();
        return direct->allocate(s, size);
      },
      [&](void* address, std::size_t size, const stream_ref& s) {
        if (call_back) call_back();
        direct->deallocate(s, address, size);
      });
  const stream s(device);
  auto below = std::make_shared<pool_memory_resource>(upstream, pool_options{.front_bytes = 1});
  pool_memory_resource& first = *below;
  auto above = std::make_shared<pool_memory_resource>(std::move(below), pool_options{.front_bytes = 1});
  device_buffer of_first(bytes, s, std::shared_ptr<pool_memory_resource>(above, &first)), of_above(bytes, s, above);
  call_back = [&] {
    of_first.reset();
    of_above.reset();
    const stream gone(device);
    const pool_memory_resource other(direct);
  };
  void* const large = above->allocate(s, 64 * bytes);
  EXPECT_EQ(above->stats().used_blocks, 1u);
  EXPECT_EQ(first.stats().used_blocks, above->stats().segments);
  above->deallocate(s, large, 64 * bytes);
  above.reset();  // This also destroys the upstream, which calls back.
}

}  // namespace
}  // namespace sluice::runtime
