#pragma once

#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::index {

/// A synchronous call that allocates or frees driver memory: cuMemAlloc, cuMemFree, cuMemHostAlloc and others.
struct driver_call {
  trace::process_id process{};
  trace::thread_id thread{};
  trace::block_id block{};
  trace::string_id name{};  ///< The name of the call that allocated the block, even if this call frees it.
  trace::stack_id stack{};  ///< None for a free, because the stacks of frees are not recorded. The stack of the block
                            ///< then shows where the block was allocated.
  time_range call;
  bool frees = false;

  /// The time of the row that reports the call, by which a section holds it: allocations are reported at their end.
  [[nodiscard]] time_ns get_row_time() const { return frees ? call.begin : call.end; }
};

/// Collects synchronous driver calls, in any order. Not thread-safe.
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
  /// Returns the stack of a call. Returns none if the call has no stack, as in recordings before format 4.2. O(log
  /// calls).
  [[nodiscard]] trace::stack_id of(trace::event_id sync) const;

 private:
  struct entry {
    trace::event_id sync{};
    trace::stack_id stack{};
  };
  std::vector<entry> stacks_;  ///< Sorted by id after `settle`.
};

}  // namespace sluice::index
