#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

/// How long the events of one kind, or of one name, take.
namespace sluice::query {

/// Events whose durations lie in [from, to).
struct duration_bar {
  trace::time_ns from = 0;
  trace::time_ns to = 0;
  std::uint64_t count = 0;
  trace::event_id longest{};  ///< The event that takes longest; of equals the one with the lowest id.
  analysis::time_range span;  ///< Of that event.
};

/// An event to step to.
struct duration_step_to {
  trace::event_id event{};
  analysis::time_range span;
};

/// The durations of all events that overlap a range. Each counts with its whole duration. Counts, sums and extremes are
/// exact; the median and the 99th percentile are exact to 1 in 2048.
struct duration_histogram {
  analysis::time_range range;
  trace::row_type kind{};                                  ///< As asked, or that of the event.
  trace::string_id name{};                                 ///< Of kernels, calls and ranges; none: of every name.
  trace::direction direction = trace::direction::unknown;  ///< Of copies; unknown: of all directions.
  /// On a logarithmic scale: four bars for each doubling. From the first bar with an event to the last one.
  std::vector<duration_bar> bars;
  std::uint64_t count = 0;       ///< In all bars.
  std::uint64_t unfinished = 0;  ///< Events without an end. They are in no bar.
  trace::time_ns total = 0;      ///< Sum of the durations in ns.
  trace::time_ns shortest = 0;
  trace::time_ns longest = 0;
  trace::time_ns median = 0;             ///< At most half of the events take less.
  trace::time_ns percentile99 = 0;       ///< 99 of 100 events take no longer.
  std::optional<duration_step_to> next;  ///< If it was asked for and there is one.
};

/// Asks for the event after another one, in order of time, whose duration lies in [from, to); after the last one follows
/// the first.
struct duration_step {
  trace::time_ns from = 0;
  trace::time_ns to = 0;
  trace::time_ns after = 0;  ///< The begin of the other event,
  trace::event_id event{};   ///< and its id.
  friend bool operator==(const duration_step&, const duration_step&) = default;
};

/// Asks how long events take. Reads the file without an index: O(events of the kind).
struct durations_question {
  analysis::time_range range;
  /// kernel, transfer, memset, api_call, host_range, sync or file_io.
  trace::row_type kind = trace::row_type::kernel;
  trace::string_id name{};
  /// If set, the question is about the events of this event's kind that have its name, or if copies its direction.
  trace::event_id like{};
  std::optional<duration_step> step{};
  friend bool operator==(const durations_question&, const durations_question&) = default;
  using answer_type = duration_histogram;
};

}  // namespace sluice::query
