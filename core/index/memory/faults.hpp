#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// GPU faults, as the recorder tells of them: a message whose attributes name the error ("gpu fault"), the call that first saw it and
/// its stream ("seen by"), and the launches that came last before ("launched before", each with its stream).
namespace sluice::analysis {

struct fault_launch {
  time_ns time = 0;           ///< Entry of the call.
  trace::string_id kernel{};  ///< None if it is not known.
  trace::stream_id stream{};
};

struct gpu_fault {
  trace::event_id event{};  ///< The message.
  time_ns time = 0;         ///< Entry of the call that first saw it: the fault itself came before.
  trace::process_id process{};
  trace::thread_id thread{};
  std::int64_t error = 0;
  trace::string_id call{};
  trace::stream_id stream{};           ///< Of the call; none if it has none.
  std::vector<fault_launch> launches;  ///< The latest first.
  std::uint64_t calls_after = 0;       ///< Calls of the process that failed with such an error, the first included.
};

/// Takes rows in any order.
class fault_index {
 public:
  void add(const trace::attribute_event& row, const trace::tables& tables);
  void add(const trace::api_call_event& row);
  void add(const trace::alloc_failed_event& row);

  /// In order of time.
  [[nodiscard]] std::vector<gpu_fault> faults() const;

 private:
  std::unordered_map<std::uint64_t, gpu_fault> by_event_;
  std::unordered_map<std::uint64_t, std::uint64_t> failed_;  ///< By process.
};

}  // namespace sluice::analysis
