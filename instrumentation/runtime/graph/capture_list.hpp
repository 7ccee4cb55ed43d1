#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "instrumentation/runtime/graph.hpp"

namespace sluice::runtime {

/// Captures that this runtime began, by device and the driver's id. Internal. Their count lets everybody else pass with one load.
struct capture_list {
  std::mutex mutex;
  std::map<std::pair<const backend::device*, std::uint64_t>, std::shared_ptr<active_capture>> by_id;

  /// Held exclusively while a capture begins and is counted, or is announced; shared by `captures_held_off`.
  std::shared_mutex beginning;
  std::atomic<int> announced{0};  ///< that have not ended: each may begin at any moment, on whichever stream

  [[nodiscard]] static capture_list& get() {
    // Never destroyed: memory in static storage asks when it goes.
    static auto* const only = new capture_list;
    return *only;
  }
};

/// While it lives, no capture begins that this runtime begins or is told of: what is not captured may be asked about and waited for.
/// Threads that are about to begin one wait: not for what may take long, unless nothing else will do. One a thread at a time: who
/// asks for a second would wait for a thread that waits for the first.
class captures_held_off {
 public:
  captures_held_off() : held_(capture_list::get().beginning) {}

 private:
  std::shared_lock<std::shared_mutex> held_;
};

}  // namespace sluice::runtime
