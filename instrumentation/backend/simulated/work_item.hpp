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

/// The part of the device that does it.
enum class engine : std::uint8_t { none, to_device, to_host, within, compute };

/// One piece of device work: what a stream is given, and what a node of a graph does.
struct work_item {
  const char* call = "";  ///< the driver's name for asking for it
  engine on = engine::none;
  std::int64_t duration = 0;
  std::vector<kernel_touch> managed{};  ///< what must be on the device: brought there first, or while it runs
  bool faults_inside = false;
  bool pageable = false;  ///< the driver stages it: the host waits
  const void* source = nullptr;
  const void* destination = nullptr;
  std::uint64_t bytes = 0;
  std::vector<const void*> names{};  ///< addresses that it reads or writes, for a graph's definition
  const kernel_definition* kernel = nullptr;
  std::function<void()> run{};
  /// Writes the record of the work: when and on which stream it ran, and as which node of a graph (0: none).
  std::function<void(const driver_log::call&, span, std::uint64_t stream, std::uint64_t node)> log{};
};

}  // namespace sluice::backend::simulated
