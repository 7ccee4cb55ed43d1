#pragma once

#include <memory>
#include <string>
#include <vector>

#include "instrumentation/backend/device.hpp"

namespace sluice::backend {

/// Result of the search for CUDA devices.
struct cuda_devices {
  std::vector<std::shared_ptr<device>> devices;
  std::string why_none;    ///< one line, set when `devices` is empty
  int driver_version = 0;  ///< 1000 * major + 10 * minor, 0 without a driver
};

/// Opens the driver (libcuda.so.1) and lists its devices. Each device retains its primary context at first use. This
/// function never fails: without a driver or a device, or in a build without CUDA, the list is empty and `why_none`
/// gives the reason.
[[nodiscard]] cuda_devices open_cuda_devices();

/// The CUDA_VERSION of the headers used for the build; 0 if built without CUDA.
[[nodiscard]] int cuda_built_version() noexcept;

}  // namespace sluice::backend
