#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

/// The durations of the events of one kind or name.
namespace sluice::query {

/// The events with durations in [from, to), one bar of a histogram.
struct duration_bar {
  trace::time_ns from = 0;
  trace::time_ns to = 0;
  std::uint64_t count = 0;
  trace::event_id longest{};  ///< The longest event; of several equally long ones, that with the lowest id.
  time_range span;            ///< The time span of `longest`.
};

/// The event that a `duration_step` found.
struct duration_step_to {
  trace::event_id event{};
  time_range span;
};

/// The durations of all events that overlap a range. Each event counts with its whole duration, including the part
/// outside of the range. Counts, sums and extremes are exact; the median and the 99th percentile are exact to 1 in
/// 2048.
struct duration_histogram {
  time_range range;
  trace::row_type kind{};                                  ///< As requested, or that of the event `like`.
  trace::string_id name{};                                 ///< For kernels, calls and ranges; none: all names.
  trace::direction direction = trace::direction::unknown;  ///< For copies; unknown: all.
  /// The bars of a logarithmic scale with four bars per doubling, from the first to the last bar that has an event.
  std::vector<duration_bar> bars;
  std::uint64_t count = 0;       ///< The number of events in all bars.
  std::uint64_t unfinished = 0;  ///< Events without an end, which are in no bar.
  trace::time_ns total = 0;      ///< The sum of the durations, in ns.
  trace::time_ns shortest = 0;
  trace::time_ns longest = 0;
  trace::time_ns median = 0;             ///< At most half of the events are shorter.
  trace::time_ns percentile99 = 0;       ///< 99 of 100 events are not longer.
  std::optional<duration_step_to> next;  ///< The event that `durations_query::step` requests, if there is one.
};

/// Requests the next event in order of time, after a given event, that has a duration in [from, to). After the last
/// event, continues with the first.
struct duration_step {
  trace::time_ns from = 0;
  trace::time_ns to = 0;
  trace::time_ns after = 0;  ///< The start of the given event.
  trace::event_id event{};   ///< The id of the given event.
  friend bool operator==(const duration_step&, const duration_step&) = default;
};

/// Requests the durations of events. Reads the file without an index: O(events of `kind`).
struct durations_query {
  time_range range;
  /// kernel, transfer, memset, api_call, host_range, sync or file_io.
  trace::row_type kind = trace::row_type::kernel;
  trace::string_id name{};
  /// If set, replaces `kind` and `name`: requests events of the same kind as this event that have the same name or, if
  /// they are copies, the same direction.
  trace::event_id like{};
  std::optional<duration_step> step{};
  friend bool operator==(const durations_query&, const durations_query&) = default;
  using result_type = duration_histogram;
};

}  // namespace sluice::query
