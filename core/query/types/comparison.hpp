#pragma once

#include <memory>
#include <optional>

#include "core/base/time/time_range.hpp"
#include "core/metrics/comparison/comparison.hpp"
#include "core/trace/file/reader.hpp"

/// Compares two recordings, two ranges, two devices, or two processes. A view first requests each side from the engine
/// of that side's recording, then the comparison of both sides from either engine.
namespace sluice::query {

/// Requests one side of a comparison. If `range` is the whole recording and `process` is none, the result is taken from
/// the stored metrics.
struct compared_side_query {
  time_range range;
  std::optional<trace::device_id> device{};  ///< Only this device; none: all devices.
  /// Only this process, such as a rank, even if it shares its device with others; none: all processes. If set, the
  /// events must be read again.
  trace::process_id process{};
  friend bool operator==(const compared_side_query&, const compared_side_query&) = default;
  using result_type = metrics::compared_side;
};

/// One side of a comparison, and the recording that the ids in it refer to.
struct side_of_recording {
  std::shared_ptr<const metrics::compared_side> side;
  std::shared_ptr<const trace::snapshot> trace;
  friend bool operator==(const side_of_recording&, const side_of_recording&) = default;
};

/// Requests the comparison of two sides; `side` and `trace` of both must be set. Reads no events. O(frames of all
/// stacks).
struct comparison_query {
  side_of_recording before;
  side_of_recording after;
  metrics::comparison_options options{};
  friend bool operator==(const comparison_query& a, const comparison_query& b) {
    return a.before == b.before && a.after == b.after && a.options.devices == b.options.devices &&
           a.options.libraries == b.options.libraries;
  }
  using result_type = metrics::comparison;
};

}  // namespace sluice::query
