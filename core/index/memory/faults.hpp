#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// GPU faults. The recorder reports a fault as a message with attributes: the error ("gpu fault"), the call that first
/// returned the error and its stream ("seen by"), and the last launches before that call with their streams ("launched
/// before").
namespace sluice::index {

/// A kernel launch before a fault.
struct fault_launch {
  time_ns time = 0;           ///< When the launching call was entered.
  trace::string_id kernel{};  ///< None if unknown.
  trace::stream_id stream{};
};

/// A GPU fault, and what is known about its cause.
struct gpu_fault {
  trace::event_id event{};  ///< The message's event.
  time_ns time = 0;         ///< When the call that first returned the error was entered. The fault itself happened
                            ///< earlier.
  trace::process_id process{};
  trace::thread_id thread{};
  std::int64_t error = 0;
  trace::string_id call{};
  trace::stream_id stream{};           ///< The stream of that call; none if the call has no stream.
  std::vector<fault_launch> launches;  ///< Latest first.
  std::uint64_t calls_after = 0;       ///< The number of calls of the process that failed with a GPU fault, including
                                       ///< the first such call.
};

/// Collects GPU faults. Rows may be added in any order.
class fault_index {
 public:
  void add(const trace::attribute_event& row, const trace::tables& tables);
  void add(const trace::api_call_event& row);
  void add(const trace::alloc_failed_event& row);

  /// Returns the faults in order of time.
  [[nodiscard]] std::vector<gpu_fault> faults() const;

 private:
  std::unordered_map<std::uint64_t, gpu_fault> by_event_;
  std::unordered_map<std::uint64_t, std::uint64_t> failed_;  ///< The number of failed calls, keyed by process.
};

}  // namespace sluice::index
