#include <map>
#include <mutex>
#include <utility>

#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/state/device_state.hpp"

// The resources that are used by default.

namespace sluice::runtime {

namespace {

// The resources of this thread's scopes, innermost last.
thread_local std::vector<resource_ptr> scoped;

resource_ptr chosen_resource(const device_ref& device, bool pinned) {
  for (auto at = scoped.rbegin(); at != scoped.rend(); ++at) {
    if ((*at)->device() == device && ((*at)->space() == memory_space::pinned) == pinned) return *at;
  }
  return device.state()->resource(pinned);
}

// The initial resource of a device. Created on demand and not cached in the device, because the resource holds a
// reference to the device (a cycle).
resource_ptr first_resource(const device_ref& device, bool pinned) {
  if (pinned) return std::make_shared<pinned_memory_resource>(device);
  return std::make_shared<device_memory_resource>(device);
}

resource_ptr current(const device_ref& device, bool pinned) {
  resource_ptr resource = chosen_resource(device, pinned);
  return resource ? resource : first_resource(device, pinned);
}

resource_ptr replace(const device_ref& device, bool pinned, resource_ptr resource) {
  if (resource && (!(resource->device() == device) || (resource->space() == memory_space::pinned) != pinned)) {
    throw error({status::invalid_value, 0, pinned ? "set_current_pinned_resource" : "set_current_resource",
                 resource->device() == device ? "the resource allocates another kind of memory"
                                              : "the resource belongs to another device"});
  }
  resource_ptr before = device.state()->set_resource(pinned, std::move(resource));
  return before ? before : first_resource(device, pinned);
}

/// The default pools of all devices. Never destroyed, because buffers in static storage may be destroyed later.
struct default_pools {
  std::mutex mutex;
  std::map<std::pair<device_state*, bool>, std::shared_ptr<pool_memory_resource>> pools;

  static default_pools& get() {
    static auto* const whole = new default_pools;
    return *whole;
  }
};

std::shared_ptr<pool_memory_resource> default_pool(const device_ref& device, bool pinned) {
  default_pools& pools = default_pools::get();
  const std::lock_guard lock(pools.mutex);
  auto& pool = pools.pools[{device.state().get(), pinned}];
  if (!pool && pinned)
    pool = std::make_shared<pinned_pool_resource>(device, pool_options{.name = "default pinned pool"});
  if (!pool) {
    pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device),
                                                  pool_options{.name = "default pool"});
  }
  return pool;
}

}  // namespace

resource_ptr current_resource(const device_ref& device) { return current(device, false); }
resource_ptr set_current_resource(const device_ref& device, resource_ptr resource) {
  return replace(device, false, std::move(resource));
}

resource_ptr current_pinned_resource(const device_ref& device) { return current(device, true); }
resource_ptr set_current_pinned_resource(const device_ref& device, resource_ptr resource) {
  return replace(device, true, std::move(resource));
}

scoped_resource::scoped_resource(resource_ptr resource) {
  if (!resource) throw error({status::invalid_value, 0, "scoped_resource", "the resource is null"});
  scoped.push_back(std::move(resource));
}

scoped_resource::~scoped_resource() { scoped.pop_back(); }

std::shared_ptr<pool_memory_resource> default_resource(const device_ref& device) { return default_pool(device, false); }
std::shared_ptr<pool_memory_resource> default_pinned_resource(const device_ref& device) {
  return default_pool(device, true);
}

}  // namespace sluice::runtime
