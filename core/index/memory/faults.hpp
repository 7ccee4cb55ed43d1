#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// GPU faults as the recorder reports them: a message whose attributes give the error ("gpu fault"), the call that
/// first saw it and its stream ("seen by"), and the last launches before it ("launched before", each with its stream).
namespace sluice::analysis {

struct fault_launch {
  time_ns time = 0;           ///< Entry of the launching call.
  trace::string_id kernel{};  ///< None if unknown.
  trace::stream_id stream{};
};

struct gpu_fault {
  trace::event_id event{};  ///< The message's event.
  time_ns time = 0;         ///< Entry of the call that first saw it. The fault itself happened earlier.
  trace::process_id process{};
  trace::thread_id thread{};
  std::int64_t error = 0;
  trace::string_id call{};
  trace::stream_id stream{};           ///< The call's stream; none if it has none.
  std::vector<fault_launch> launches;  ///< The latest first.
  std::uint64_t calls_after = 0;       ///< All calls of the process that failed with a GPU fault, including the first.
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
  std::unordered_map<std::uint64_t, std::uint64_t> failed_;  ///< Failed calls by process.
};

}  // namespace sluice::analysis
