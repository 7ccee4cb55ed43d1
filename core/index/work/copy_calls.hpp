#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::index {

/// The properties of a copy that identify the call that requested it.
struct copy_record {
  trace::event_id event{};
  trace::event_id call{};
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  time_ns begin = 0;
  time_ns end = 0;  ///< `latest_time` if the copy never ended.
  std::uint64_t bytes = 0;
  time_ns enqueued = 0;  ///< When the call was entered; `begin` if that is unknown.
  trace::stream_id stream{};
  trace::process_id process{};
  trace::memory_kind host_side = trace::memory_kind::unknown;  ///< See `get_host_side`.
  std::uint64_t host_address = 0;
  std::uint64_t copies = 1;  ///< The number of copies that share this record.
  bool asynchronous = false;
};

/// Collects copies, and the stacks of API calls, in any order. Not thread-safe.
class copy_calls {
 public:
  void add(const std::vector<trace::transfer_event>& rows);
  void add(const std::vector<trace::api_call_event>& rows);
  void settle();

  [[nodiscard]] std::span<const copy_record> copies() const { return copies_; }
  /// Returns the stack of an API call; none if the call has no stack. `settle` must be called first. O(log calls).
  [[nodiscard]] trace::stack_id find_stack(trace::event_id call) const;

 private:
  struct call {
    trace::event_id id{};
    trace::stack_id stack{};
  };
  std::vector<copy_record> copies_;
  std::vector<call> calls_;  ///< Sorted by id after `settle`.
  bool sorted_ = true;
};

}  // namespace sluice::index
