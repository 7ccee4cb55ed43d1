#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace sluice::backend::simulated {

/// The scheduled work of a device that has not run yet, in the order of its end times. Work takes effect (its bytes
/// move) when simulated time passes its end. Not thread-safe: the device's lock guards it.
class work_queue {
 public:
  /// Adds work that ends at `end`. Work with equal end times runs in the order in which it was added.
  void add(std::int64_t end, std::function<void()> work);
  /// Runs and removes all work that ends by `time`.
  void run_until(std::int64_t time);

 private:
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> pending_;  // key: (end, sequence)
  std::uint64_t next_sequence_ = 0;
};

}  // namespace sluice::backend::simulated
