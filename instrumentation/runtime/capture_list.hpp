#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "instrumentation/runtime/graph.hpp"

namespace sluice::runtime {

/// Captures that this runtime began, by device and the driver's id. Internal. Their count lets everybody else pass with one load.
struct capture_list {
  std::mutex mutex;
  std::map<std::pair<const backend::device*, std::uint64_t>, std::shared_ptr<active_capture>> by_id;

  [[nodiscard]] static capture_list& get() {
    // Never destroyed: memory in static storage asks when it goes.
    static auto* const only = new capture_list;
    return *only;
  }
};

}  // namespace sluice::runtime
