#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/writer/record_decoder/recorded_process.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"

namespace sluice::writer {

/// Writes checkpoints: the live sets of all processes at one time. Checkpoints must be frequent enough to find the live
/// blocks at a given time quickly, but stay a small part of the file. Not thread-safe.
class checkpoints {
 public:
  /// `min_events`: the minimum number of events between two checkpoints that no loss requires.
  checkpoints(trace::file_writer& file, const process_list& processes, const trace_clock& clock, std::size_t min_events)
      : file_(file), processes_(processes), clock_(clock), min_events_(min_events) {}

  /// Writes a checkpoint if enough events came since the last one. O(1) otherwise.
  void consider(trace::time_ns time) {
    if (file_.events() >= std::max(worthwhile_, last_ + min_events_)) write(time);
  }

  /// Requests a checkpoint, because the live set at `time` became inexact or exact again.
  void request(trace::time_ns time) { requested_ = std::max(requested_, time); }
  /// Writes at most one requested checkpoint. Call it once per turn: under overload, each ring reports a loss whenever
  /// it is emptied, and writing the live set for each report would cause the next loss.
  void consider_requested() {
    if (requested_ == INT64_MIN || file_.events() < worthwhile_) return;
    write(std::max(clock_.reached(), requested_));
  }

  /// Writes a checkpoint. O(live blocks).
  void write(trace::time_ns time);

 private:
  trace::file_writer& file_;
  const process_list& processes_;
  const trace_clock& clock_;
  std::size_t min_events_;
  trace::time_ns requested_ = INT64_MIN;  ///< The latest requested time; INT64_MIN: no checkpoint is requested.
  std::uint64_t last_ = 0;                ///< Number of events in the file after the last checkpoint.
  std::uint64_t worthwhile_ =
      0;  ///< Number of events from which the next checkpoint would be a small part of the file.
};

}  // namespace sluice::writer
