#pragma once

#include <map>

#include "instrumentation/backend/simulated/state/timeline.hpp"
#include "instrumentation/backend/simulated/state/work_item.hpp"

namespace sluice::backend::simulated {

/// The schedules of the device's engines: two copy engines for the link, one for copies within the device, and one
/// compute queue for each stream priority. Not thread-safe: the device's lock guards them.
class engines {
 public:
  /// The schedule of an engine; null for `engine::none`. Only the compute engine depends on the priority.
  [[nodiscard]] timeline* find(engine which, int priority = 0);

 private:
  timeline to_device_, to_host_, within_;
  std::map<int, timeline> compute_;  // by priority
};

}  // namespace sluice::backend::simulated
