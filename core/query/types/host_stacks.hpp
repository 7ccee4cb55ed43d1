#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/metrics/idle/host_use.hpp"
#include "core/query/types/result_types.hpp"

/// What host threads did in a time range, as a tree of call stacks: "what ran while the GPU waited".
namespace sluice::query {

/// A line of a tree that is no code, but what threads did in the code that calls it.
struct state_line {
  std::uint32_t line = 0;  ///< An index into `stack_view::lines`.
  trace::host_state state = trace::host_state::unknown;
};

struct host_stacks {
  /// The tree. In its metrics, `busy` is the time that threads spent, in ns, and `count` the number of samples. The line
  /// below the innermost line of code says what threads did there: "(running)", "(waiting: futex)".
  stack_view view;
  std::vector<state_line> states;          ///< The lines of `view` that are no code.
  std::vector<trace::device_id> devices;   ///< The devices that ran kernels, in order of their numbers.
  std::optional<trace::device_id> device;  ///< The device whose idle time counts; none if there are no devices.
  bool sampled = false;                    ///< The recording has samples of host threads.
  bool launches_known = false;             ///< A thread launched kernels in the range.
  time_ns idle = 0;                        ///< The time in the range in which `device` ran nothing.
};

/// Requests what host threads did in a range. Reads all samples, API calls and device work of the range.
struct host_stacks_query {
  /// `filter.device`: none, or a device that ran no kernel, means the first device that ran kernels.
  metrics::host_use_filter filter;
  metrics::stack_order order = metrics::stack_order::from_caller;
  bool fold = false;  ///< Hide the lines of libraries, except the innermost line of each stack.
  friend bool operator==(const host_stacks_query&, const host_stacks_query&) = default;
  using result_type = host_stacks;
};

}  // namespace sluice::query
