#pragma once

#include <span>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::analysis {

/// A call that allocates or frees memory of the driver, synchronously: cuMemAlloc, cuMemFree, cuMemHostAlloc, ...
struct driver_call {
  trace::process_id process{};
  trace::thread_id thread{};
  trace::block_id block{};
  trace::string_id name{};  ///< Of the allocating call, also for a free.
  trace::stack_id stack{};  ///< None for a free: the recorder has none. That of its block says who allocated.
  time_range call;
  bool frees = false;
};

/// Collects these calls, in any order. Not thread-safe.
class driver_calls {
 public:
  void add(const trace::alloc_event& row);
  void add(const trace::free_event& row);
  [[nodiscard]] std::span<const driver_call> calls() const { return calls_; }

 private:
  std::vector<driver_call> calls_;
};

/// Collects the stacks of calls that wait for a device.
class wait_stacks {
 public:
  void add(const trace::sync_event& row) {
    if (row.stack != trace::stack_id::none) stacks_.push_back({row.id, row.stack});
  }
  void settle();
  /// None if the call has no stack, as in recordings before format 4.2. O(log calls).
  [[nodiscard]] trace::stack_id of(trace::event_id sync) const;

 private:
  struct entry {
    trace::event_id sync{};
    trace::stack_id stack{};
  };
  std::vector<entry> stacks_;  ///< Sorted by id after `settle`.
};

}  // namespace sluice::analysis
