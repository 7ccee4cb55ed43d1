#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/metrics/idle/idle_gaps.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/model/tables.hpp"

/// Compares why a device was idle in two recordings, or in two time ranges of one recording. Times are in ns.
namespace sluice::metrics {

/// The idle time of a device that has one cause, before and after.
struct idle_cause_change {
  gap_cause cause{};
  /// What the host did. Set only if `cause` is `host` and the host was sampled on both sides.
  std::optional<host_reason> reason;
  std::string library;       ///< As in `host_cause`.
  symbols::frame_line line;  ///< The program's line, from `after` if it has the cause; default-constructed if unknown.
  time_ns before = 0, after = 0;

  [[nodiscard]] time_ns change() const { return after - before; }
  friend bool operator==(const idle_cause_change&, const idle_cause_change&) = default;
};

/// The idle time of one side, and the names in its recording. Both must outlive the call.
struct named_idle {
  const device_idle& idle;
  const trace::tables& tables;
};

/// Compares the causes of the idle time of a device, largest change first. The times of each side add up to its idle
/// time. Causes are the same if their reason, library and line are equal; lines that only moved count as equal
/// (`line_moves`). O(causes).
[[nodiscard]] std::vector<idle_cause_change> compare_idle(const named_idle& before, const named_idle& after);

/// Returns the cause with the largest change among those that changed in the same direction as the sum; null if none
/// changed.
[[nodiscard]] const idle_cause_change* find_main_change(const std::vector<idle_cause_change>& changes);

/// Returns "went away", "shrank", "grew", "new" or "same".
[[nodiscard]] std::string_view describe_trend(const idle_cause_change& change);

/// Returns the cause, such as "the host compiles CUDA C++ (NVRTC)" or "synchronization".
[[nodiscard]] std::string describe_cause(const idle_cause_change& change);

/// Returns the cause with the line, such as "the host compiles CUDA C++ (NVRTC), at model.py:64 (forward)".
[[nodiscard]] std::string describe_cause_and_line(const idle_cause_change& change);

/// Returns a difference, such as "-9.40 s"; "same" if there is none.
[[nodiscard]] std::string format_time_change(time_ns before, time_ns after);

}  // namespace sluice::metrics
