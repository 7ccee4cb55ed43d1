#pragma once

#include <memory>
#include <optional>

#include "core/figures/comparison/comparison.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/file/reader.hpp"

/// Comparison of two recordings, two ranges, two devices, or two processes. A view first asks each recording for its side, then either
/// of them for the comparison of both.
namespace sluice::query {

/// Asks for what a comparison needs of `range`: from the stored figures if it is the whole recording and all processes.
struct compared_side_question {
  analysis::time_range range;
  std::optional<trace::device_id> device{};  ///< Only this device.
  /// Only this process, as for a rank, also where it shares its device; none: all. Reads the events again.
  trace::process_id process{};
  friend bool operator==(const compared_side_question&, const compared_side_question&) = default;
  using answer_type = analysis::compared_side;
};

/// A side, and the recording whose ids it uses.
struct side_of_recording {
  std::shared_ptr<const analysis::compared_side> side;
  std::shared_ptr<const trace::snapshot> trace;
  friend bool operator==(const side_of_recording&, const side_of_recording&) = default;
};

/// Asks what differs between two sides; `side` and `trace` of both are set. Reads no events. O(frames of all stacks).
struct comparison_question {
  side_of_recording before;
  side_of_recording after;
  analysis::comparison_options how{};
  friend bool operator==(const comparison_question& a, const comparison_question& b) {
    return a.before == b.before && a.after == b.after && a.how.devices == b.how.devices &&
           a.how.libraries == b.how.libraries;
  }
  using answer_type = analysis::comparison;
};

}  // namespace sluice::query
