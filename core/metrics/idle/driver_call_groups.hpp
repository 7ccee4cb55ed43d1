#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Driver calls that allocate or free memory, grouped by stack. Times are in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// The driver calls that allocate memory, or the driver calls that free it, grouped by the stack that allocates.
struct driver_call_group {
  trace::string_id call{};  ///< The call that allocated the memory.
  trace::stack_id stack{};
  trace::memory_kind kind = trace::memory_kind::unknown;
  bool frees = false;  ///< True if the group consists of the calls that free the memory.
  trace::process_id process{};
  std::uint64_t count = 0;
  time_ns total = 0;  ///< Time inside the calls.
  time_ns first = 0;
  time_ns last = 0;
};

class driver_call_groups {
 public:
  /// Adds the calls that begin in `here`. O(calls * log groups).
  void add(const index::event_store& store, time_range here);
  /// Returns all groups, sorted by `total`, longest first.
  [[nodiscard]] std::vector<driver_call_group> get_groups() const;

 private:
  std::map<std::tuple<trace::stack_id, trace::string_id, bool>, driver_call_group> groups_;
};

}  // namespace sluice::metrics
