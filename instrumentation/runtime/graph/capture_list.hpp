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

/// The list of captures begun by this runtime, keyed by device and the driver's capture id. If there are none, a check
/// costs one load.
struct capture_list {
  std::mutex mutex;
  std::map<std::pair<const backend::device*, std::uint64_t>, std::shared_ptr<active_capture>> by_id;

  /// Locked exclusively while a capture begins and is counted, or is announced; locked shared by `captures_held_off`.
  std::shared_mutex beginning;
  std::atomic<int> announced{0};  ///< announced captures that have not ended; each may begin at any time on any stream

  [[nodiscard]] static capture_list& get() {
    // The list is never destroyed, because buffers in static storage use it when they are freed.
    static auto* const only = new capture_list;
    return *only;
  }
};

/// While an object of this class exists, no graph_capture and no announced capture can begin, so uncaptured streams can
/// be queried and waited for. Threads that want to begin a capture wait meanwhile, so keep the object only briefly. A
/// thread must not have two of these objects, because the second could wait for a thread that waits for the first
/// (deadlock).
class captures_held_off {
 public:
  captures_held_off() : held_(capture_list::get().beginning) {}

 private:
  std::shared_lock<std::shared_mutex> held_;
};

}  // namespace sluice::runtime
