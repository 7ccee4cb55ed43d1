#include "instrumentation/runtime/device.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "instrumentation/backend/cuda/open.hpp"
#include "instrumentation/backend/simulated/device/device.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "instrumentation/runtime/recording/live_sets.hpp"
#include "instrumentation/runtime/state/device_state.hpp"

namespace sluice::runtime {

/// The devices of the process, enumerated once.
class device_registry {
 public:
  static const device_registry& get() {
    // Never destroyed, because streams and buffers in static storage may be destroyed later.
    static const device_registry* const registry = new device_registry;
    return *registry;
  }

  [[nodiscard]] static device_ref make(std::shared_ptr<backend::device> device, int id) {
    return device_ref(std::make_shared<device_state>(std::move(device), id));
  }
  [[nodiscard]] static device_ref wrap(std::shared_ptr<device_state> state) { return device_ref(std::move(state)); }

  std::vector<device_ref> devices;
  std::string why_no_cuda;
  int driver = 0;

 private:
  device_registry() {
    backend::cuda_devices found = backend::open_cuda_devices();
    why_no_cuda = std::move(found.why_none);
    driver = found.driver_version;
    for (auto& device : found.devices) devices.push_back(make(std::move(device), static_cast<int>(devices.size())));
    if (!devices.empty()) join_recording(devices);
    if (devices.empty()) devices.push_back(simulated_device());
  }
};

namespace {

thread_local std::shared_ptr<device_state> chosen;

/// All existing device states.
struct device_states {
  static device_states& get() {
    static auto* const states = new device_states;  // Outlives devices in static storage.
    return *states;
  }
  std::mutex mutex;
  std::vector<device_state*> all;
};

}  // namespace

device_state::device_state(std::shared_ptr<backend::device> device, int id) : device_(std::move(device)), id_(id) {
  const std::lock_guard lock(device_states::get().mutex);
  device_states::get().all.push_back(this);
}

device_state::~device_state() {
  const std::lock_guard lock(device_states::get().mutex);
  std::erase(device_states::get().all, this);
}

void device_state::forget(device_observer* observer) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(observers_, observer);
}

void device_state::retire(backend::stream_handle stream) noexcept {
  const std::lock_guard lock(mutex_);
  notify_all([&](device_observer* observer) { observer->retire(stream); });
}

bool device_state::list_live(std::vector<pool_live_set>& to, const look_limit& limit) {
  const std::unique_lock lock = limit.lock(mutex_);
  const auto list = [&](device_observer* observer) { return observer->list_live(to, limit); };
  return static_cast<bool>(lock) && std::all_of(observers_.begin(), observers_.end(), list);
}

std::vector<std::shared_ptr<device_state>> device_state::all() {
  std::vector<std::shared_ptr<device_state>> found;
  const std::lock_guard lock(device_states::get().mutex);
  found.reserve(device_states::get().all.size());  // Released states lock this mutex, so nothing may throw below.
  for (device_state* state : device_states::get().all) {
    if (auto held = state->weak_from_this().lock()) found.push_back(std::move(held));
  }
  return found;
}

device_ref::device_ref(std::shared_ptr<backend::device> device)
    : state_(std::make_shared<device_state>(std::move(device), -1)) {}

int device_ref::id() const noexcept { return state_->id(); }

bool device_ref::simulated() const noexcept { return description().kind == backend::backend_kind::simulated; }

memory_info device_ref::memory() const { return value_or_throw(backend().memory()); }

void device_ref::sync() const { value_or_throw(backend().synchronize()); }

memory_space device_ref::find_memory_space(const void* address) const noexcept { return backend().get_space(address); }

backend::device& device_ref::backend() const noexcept { return state_->device(); }

bool is_available() noexcept { return device_registry::get().why_no_cuda.empty(); }

const std::string& why_unavailable() { return device_registry::get().why_no_cuda; }

const std::vector<device_ref>& devices() { return device_registry::get().devices; }

device_ref simulated_device() {
  static const device_ref* const device = new device_ref(device_registry::make(backend::make_simulated_device(), 0));
  return *device;
}

device_ref current_device() { return chosen ? device_registry::wrap(chosen) : devices().front(); }

void set_device(const device_ref& device) {
  (void)value_or_throw(device.backend().make_current());
  chosen = device.state();
}

device_guard::device_guard(const device_ref& device)
    : device_(device), context_before_(value_or_throw(device.backend().make_current())), before_(chosen) {
  chosen = device.state();
}

device_guard::~device_guard() {
  chosen = before_;
  device_.backend().restore_current(context_before_);
}

int runtime_version() noexcept {
  using version_function = int(int*);
  int version = 0;
  // First look in the program's global symbols, then in libraries loaded privately (as Python does).
  if (auto* subject = reinterpret_cast<version_function*>(dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion"))) {
    return subject(&version) == 0 ? version : 0;
  }
  for (const char* soname : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
    void* library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    if (!library) continue;
    auto* target = reinterpret_cast<version_function*>(dlsym(library, "cudaRuntimeGetVersion"));
    if (target && target(&version) != 0) version = 0;
    dlclose(library);
    if (version != 0) break;
  }
  return version;
}

int built_version() noexcept { return backend::cuda_built_version(); }

int driver_version() noexcept { return device_registry::get().driver; }

}  // namespace sluice::runtime
