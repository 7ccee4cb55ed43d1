#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "instrumentation/backend/device.hpp"
#include "instrumentation/runtime/error.hpp"

namespace sluice::runtime {

using backend::memory_info;
using backend::memory_space;

class device_state;

/// A handle to a device (a GPU or the simulated device). It is cheap to copy and shares ownership. Two handles are
/// equal if they refer to the same device.
class device_ref {
 public:
  /// Wraps a backend device. This constructor is for tests and for devices with a custom configuration.
  explicit device_ref(std::shared_ptr<backend::device> device);

  /// Index in `devices()`; -1 for a device created by the constructor above.
  [[nodiscard]] int id() const noexcept;
  [[nodiscard]] std::string_view name() const noexcept { return description().name; }
  /// True if this is a simulated device.
  [[nodiscard]] bool simulated() const noexcept;
  [[nodiscard]] const backend::device_description& description() const noexcept { return backend().description(); }
  /// Free and total bytes of the device. Memory used by other processes counts as used. Throws error on failure.
  [[nodiscard]] memory_info memory() const;
  /// Waits for all work on all streams. Throws error if the wait fails or a kernel failed earlier.
  void sync() const;
  /// The kind of memory at an address, as seen by this device.
  [[nodiscard]] memory_space find_memory_space(const void* address) const noexcept;

  /// The backend that implements this device. Its calls return `device_result`s and do not throw.
  [[nodiscard]] backend::device& backend() const noexcept;
  /// The state shared by all handles to this device. Internal.
  [[nodiscard]] const std::shared_ptr<device_state>& state() const noexcept { return state_; }

  friend bool operator==(const device_ref& a, const device_ref& b) noexcept { return a.state_ == b.state_; }

 private:
  friend class device_registry;
  explicit device_ref(std::shared_ptr<device_state> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<device_state> state_;
};

/// True if this process can use at least one CUDA device. Never throws.
[[nodiscard]] bool is_available() noexcept;
/// The reason why `is_available()` is false, in one line; empty if it is true.
[[nodiscard]] const std::string& why_unavailable();

/// All CUDA devices; if there are none, only the simulated device.
[[nodiscard]] const std::vector<device_ref>& devices();
/// The process's simulated device. Created on first use, even on machines with CUDA devices.
[[nodiscard]] device_ref simulated_device();

/// The calling thread's device: set by the innermost `device_guard` or by `set_device`, else the first of `devices()`.
[[nodiscard]] device_ref current_device();
/// Sets the calling thread's device until the next call (use `device_guard` for a scope), and makes it the
/// driver's current device, which other libraries and your own kernels use. However, cudaSetDevice does not change
/// the runtime's current device. Throws error, and changes nothing, if the device cannot provide a context.
void set_device(const device_ref& device);

/// Sets the calling thread's device, and the driver's current device, for a scope. The guard must be destroyed on the
/// thread that created it.
class device_guard {
 public:
  /// Throws the same errors as `set_device`.
  explicit device_guard(const device_ref& device);
  ~device_guard();
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  device_ref device_;
  void* context_before_;
  std::shared_ptr<device_state> before_;
};

// The next three functions return version numbers, each 1000 * major + 10 * minor. They may differ, because a program
// built with one CUDA toolkit may load another version of the CUDA runtime, and run on a driver of a third version.

/// Version of the CUDA runtime (libcudart) in this process; 0 if none is loaded. Sluice itself does not need libcudart.
[[nodiscard]] int runtime_version() noexcept;
/// The CUDA version that this program was built with; 0 if it was built without CUDA.
[[nodiscard]] int built_version() noexcept;
/// The highest CUDA version that the installed driver supports; 0 without a driver.
[[nodiscard]] int driver_version() noexcept;

}  // namespace sluice::runtime
