#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/backend/kernel.hpp"

namespace sluice::backend::simulated {

/// When a piece of work runs, on the simulated clock.
struct span {
  std::int64_t begin = 0, end = 0;
};

/// The engine of the device that does the work.
enum class engine : std::uint8_t { none, to_device, to_host, within, compute };

/// One piece of device work: enqueued on a stream, or the content of a graph node.
struct work_item {
  const char* call = "";  ///< the driver function that requests the work
  engine on = engine::none;
  std::int64_t duration = 0;
  std::vector<kernel_touch> managed{};  ///< ranges that are moved to the device, before or while the work runs
  bool faults_inside = false;
  bool pageable = false;  ///< staged through the driver's buffers: the host waits
  const void* source = nullptr;
  const void* destination = nullptr;
  std::uint64_t bytes = 0;
  std::vector<const void*> names{};  ///< addresses that the work reads or writes, for a graph's definition
  const kernel_definition* kernel = nullptr;
  std::function<void()> run{};
  /// Writes the record of the work: its call, its times, its stream, and its graph node (0 if none).
  std::function<void(const driver_log::call&, span, std::uint64_t stream, std::uint64_t node)> log{};
};

}  // namespace sluice::backend::simulated
