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

/// A device: cheap to copy, keeps the device alive. Equal when it is the same device.
class device_ref {
 public:
  /// Wraps a backend's device; for tests and for devices with a configuration of their own.
  explicit device_ref(std::shared_ptr<backend::device> device);

  /// Position in `devices()`, or -1 for a device made by hand.
  [[nodiscard]] int id() const noexcept;
  [[nodiscard]] std::string_view name() const noexcept { return description().name; }
  [[nodiscard]] bool simulated() const noexcept;
  [[nodiscard]] const backend::device_description& description() const noexcept { return backend().description(); }
  /// Free and total bytes, of whoever uses the device. Throws error.
  [[nodiscard]] memory_info memory() const;
  /// Waits for all work on all streams. Throws error, also for a kernel that failed earlier.
  void sync() const;
  /// Where an address lives, as this device sees it.
  [[nodiscard]] memory_space memory_space_of(const void* address) const noexcept;

  [[nodiscard]] backend::device& backend() const noexcept;
  [[nodiscard]] const std::shared_ptr<device_state>& state() const noexcept { return state_; }

  friend bool operator==(const device_ref& a, const device_ref& b) noexcept { return a.state_ == b.state_; }

 private:
  friend class device_registry;
  explicit device_ref(std::shared_ptr<device_state> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<device_state> state_;
};

/// True if there is a CUDA device that this process can use. Never throws.
[[nodiscard]] bool is_available() noexcept;
/// Why `is_available()` is false, in one line; empty when it is true.
[[nodiscard]] const std::string& why_unavailable();

/// The CUDA devices; without any, the simulated device alone.
[[nodiscard]] const std::vector<device_ref>& devices();
/// This process's simulated device; made at first use, also where CUDA devices exist.
[[nodiscard]] device_ref simulated_device();

/// The calling thread's device: what `set_device` or the innermost `device_guard` chose, else the first of `devices()`.
[[nodiscard]] device_ref current_device();
/// Chooses the calling thread's device for good; `device_guard` restores, this does not. It is the driver's current device, too, as
/// other libraries and kernels of the program's own see it; what they choose themselves (by cudaSetDevice) changes nothing here.
/// Throws error, and changes nothing, if the device has no context to give.
void set_device(const device_ref& device);

/// Makes a device the calling thread's own for a scope, and the driver's current one with it. Must end on the thread that it began
/// on.
class device_guard {
 public:
  /// Throws as `set_device` does.
  explicit device_guard(const device_ref& device);
  ~device_guard();
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  device_ref device_;
  void* context_before_;
  std::shared_ptr<device_state> before_;
};

// Three versions, each as 1000 * major + 10 * minor. They may differ: a program that was built with one toolkit may have the
// CUDA runtime of another in its process, over a driver that knows a third.

/// The CUDA runtime (libcudart) that this process has loaded or linked, whoever did; 0 without any. This runtime needs none.
[[nodiscard]] int runtime_version() noexcept;
/// The CUDA version this program was built with, as 1000 * major + 10 * minor; 0 if built without CUDA.
[[nodiscard]] int built_version() noexcept;
/// The highest CUDA version the installed driver supports, likewise; 0 without a driver.
[[nodiscard]] int driver_version() noexcept;

}  // namespace sluice::runtime
