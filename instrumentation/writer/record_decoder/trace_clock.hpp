#pragma once

#include <algorithm>
#include <cstdint>

#include "core/trace/model/model.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/record_decoder/record_context.hpp"
#include "instrumentation/writer/rings/clock_line.hpp"

namespace sluice::writer {

/// Converts times of records to times of the trace, in ns since the start of the recording. The records of a simulated
/// recording already have such times. Not thread-safe.
class trace_clock {
 public:
  /// `start`: the clocks at time 0 of the trace.
  trace_clock(const clock_anchor& start, bool simulated)
      : origin_(simulated ? 0 : start.monotonic), simulated_(simulated) {
    clocks_.add(start);
  }

  [[nodiscard]] bool is_simulated() const { return simulated_; }

  /// Sets the present. Call it once per turn.
  void advance(const clock_anchor& present) {
    clocks_.add(present);
    present_ = present.monotonic - origin_;
  }
  /// Call with the time of each record when it is processed.
  void reach(trace::time_ns time) { reached_ = std::max(reached_, time); }

  /// The time passed to the last `advance`.
  [[nodiscard]] trace::time_ns present() const { return present_; }
  /// The latest time of a processed record.
  [[nodiscard]] trace::time_ns reached() const { return reached_; }
  /// The present; in a simulated recording, the latest time of a processed record.
  [[nodiscard]] trace::time_ns now() const { return simulated_ ? reached_ : present_; }

  /// True if the file needs a row with the present clocks: once per second, never in a simulated recording.
  [[nodiscard]] bool needs_anchor() const {
    constexpr trace::time_ns second = 1'000'000'000;
    return !simulated_ && present_ - last_anchor_ >= second;
  }
  /// Returns a row with the clocks at `present`. Call it when `needs_anchor` is true.
  [[nodiscard]] trace::clock_anchor_event take_anchor(const clock_anchor& present) {
    trace::clock_anchor_event anchor;
    anchor.time = last_anchor_ = present.monotonic - origin_;
    anchor.tsc = present.tsc;
    anchor.monotonic = present.monotonic;
    anchor.realtime = present.realtime;
    return anchor;
  }

  /// Converts a time that a clock of the kind `clock` has measured. Replaces an implausible time by the present.
  [[nodiscard]] trace::time_ns convert(ring::clock_kind clock, std::uint32_t flags, std::uint64_t raw) const {
    const bool ticks = clock == ring::clock_kind::tsc && (flags & ring::flag_monotonic) == 0;
    return simulated_ ? bounded(raw) : plausible(convert_unchecked(raw, ticks));
  }
  [[nodiscard]] trace::time_ns convert(const record_context& c, std::uint64_t raw) const {
    return convert(c.clock, c.flags, raw);
  }
  /// Converts an end time as `convert` does; 0 gives `unknown_time`.
  [[nodiscard]] trace::time_ns convert_end(const record_context& c, std::uint64_t raw) const {
    return raw == 0 ? trace::unknown_time : convert(c, raw);
  }

  /// Converts a time, plausible or not. `ticks`: true if `raw` is a value of the time-stamp counter; false if `raw` is
  /// in ns of CLOCK_MONOTONIC.
  [[nodiscard]] trace::time_ns convert_unchecked(std::uint64_t raw, bool ticks) const {
    return (ticks ? clocks_.to_monotonic(raw) : bounded(raw)) - origin_;
  }
  /// Returns `time`, or the present if `time` is more than an hour ahead. Device times may be slightly ahead.
  [[nodiscard]] trace::time_ns plausible(trace::time_ns time) const {
    constexpr trace::time_ns plausible_future = 3'600'000'000'000;
    return time > present_ + plausible_future && !simulated_ ? present_ : time;
  }

 private:
  [[nodiscard]] static trace::time_ns bounded(std::uint64_t raw) {
    return static_cast<trace::time_ns>(std::min<std::uint64_t>(raw, INT64_MAX / 2));
  }

  clock_line clocks_;
  std::int64_t origin_;  ///< CLOCK_MONOTONIC in ns at time 0; 0 in a simulated recording.
  bool simulated_;
  trace::time_ns present_ = 0;
  trace::time_ns reached_ = 0;
  trace::time_ns last_anchor_ = 0;  ///< The time of the last anchor in the file.
};

}  // namespace sluice::writer
