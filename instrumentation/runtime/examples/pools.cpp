// Pools and other resources: statistics, limits, trim, adaptors, callback resources, and the current resource.
#include <fmt/format.h>

#include "instrumentation/runtime/adaptors.hpp"
#include "instrumentation/runtime/async_pool_resource.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/callback_memory_resource.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/tags.hpp"

using namespace sluice::runtime;

namespace {

constexpr std::size_t mib = 1u << 20;
int wrong = 0;

void expect(bool holds, const char* subject) {
  fmt::print("{} {}\n", holds ? "ok   " : "WRONG", subject);
  wrong += holds ? 0 : 1;
}

resource_ptr from_driver() { return std::make_shared<device_memory_resource>(); }

void a_pool_says_what_it_holds(const stream_ref& on) {
  pool_memory_resource pool(from_driver(), {.limit_bytes = 64 * mib, .growth_bytes = 8 * mib, .name = "example"});
  const scoped_tag tag("example");
  void* block = pool.allocate(on, 3 * mib);
  const pool_stats held = pool.stats();
  fmt::print("      {} used of {} reserved, fragmentation {:.0f} %\n", held.used, held.reserved,
             100 * held.fragmentation());
  expect(held.used == 3 * mib, "statistics count the allocated bytes");
  try {
    (void)pool.allocate(on, 100 * mib);
  } catch (const out_of_memory& e) {
    expect(e.largest_free_block() == held.largest_free, e.what());
  }
  pool.set_limit(128 * mib);
  pool.deallocate(on, block, 3 * mib);
  expect(pool.trim() == held.reserved, "trim returns unused memory");
}

void the_drivers_pool(const stream_ref& on) {
  async_pool_resource pool(current_device(), {.release_threshold = 16 * mib});
  pool.deallocate(on, pool.allocate(on, mib), mib);
  on.sync();
  expect(pool.stats().used_high >= mib, "a driver pool reports its peaks");
  pool.trim();
  async_buffer last;
  {
    const stream other;
    last = async_buffer(mib, other);
  }
  last.reset();
  expect(last.empty(), "a buffer keeps its stream alive and is freed on it");
}

void adaptors_and_functions(const stream_ref& on) {
  const auto pool = default_resource();
  const auto counted = std::make_shared<statistics_resource_adaptor>(std::make_shared<callback_memory_resource>(
      pool->device(), memory_space::device,
      [&](std::size_t bytes, const stream_ref& s) { return pool->allocate(s, bytes); },
      [&](void* address, std::size_t bytes, const stream_ref& s) { pool->deallocate(s, address, bytes); }));
  {
    const scoped_resource here(counted);
    const device_buffer buffer(mib, on);
    expect(counted->statistics().bytes.current == mib, "buffers of a scope come from its resource");
  }
  const auto before = set_current_resource(current_device(), counted);
  expect(current_resource() == counted, "the resource of the device is the one that was set");
  set_current_resource(current_device(), before);
  vtable_memory_resource table(pool->device(), memory_space::device, export_resource(pool));
  table.deallocate(on, table.allocate(on, mib), mib);
  bool asked = false;
  failure_callback_resource_adaptor helped(
      std::make_shared<limiting_resource_adaptor>(pool, mib),
      [&](const out_of_memory&) { return std::exchange(asked, true) ? false : true; });
  try {
    (void)helped.allocate(on, 2 * mib);
  } catch (const out_of_memory&) {
    expect(asked, "callbacks run before out_of_memory is thrown");
  }
}

void pinned_memory(const stream_ref& on) {
  const auto pinned = std::make_shared<pinned_pool_resource>();
  const auto before = set_current_pinned_resource(current_device(), pinned);
  const auto resource = current_pinned_resource();
  void* block = resource->allocate(on, mib);
  expect(pinned->stats().used == mib, "a pool of pinned memory counts its bytes");
  resource->deallocate(on, block, mib);
  set_current_pinned_resource(current_device(), before);
  void* other = default_pinned_resource()->allocate(on, mib);
  default_pinned_resource()->deallocate(on, other, mib);
}

}  // namespace

int main() {
  const stream s;
  a_pool_says_what_it_holds(s);
  the_drivers_pool(s);
  adaptors_and_functions(s);
  pinned_memory(s);
  return wrong;
}
