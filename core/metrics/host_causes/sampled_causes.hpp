#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "core/base/time/time_range.hpp"
#include "core/metrics/host_causes/host_reason.hpp"
#include "core/trace/model/model.hpp"

/// Decides what a stretch of idle time is due to, from the causes that the samples in it show. Times are in ns.
namespace sluice::metrics {

/// Why the host did not give a device work.
struct host_cause {
  host_reason reason = host_reason::unsampled;
  std::string library;     ///< As in `host_verdict`.
  std::uint64_t line = 0;  ///< The caller's id of the program's line; 0 if unknown.
  friend bool operator==(const host_cause&, const host_cause&) = default;
  friend bool operator<(const host_cause& a, const host_cause& b) {
    return std::tie(a.reason, a.library, a.line) < std::tie(b.reason, b.library, b.line);
  }
};

/// What samples say about a stretch of idle time.
struct sampled_verdict {
  host_cause cause;         ///< `unsampled` without samples.
  time_ns time = 0;         ///< The sampled time with the cause's reason and library; all of it if it is `mixed`.
  trace::stack_id stack{};  ///< The stack with the most time of those on the line with the most time.
};

/// Sums the samples of a stretch of idle time by cause. The cause of the stretch:
/// - The reason and library with the most sampled time win, with the line that has most of that time.
/// - They count if the library is in at least half of the sampled time, or the line is. If the cause has no library,
///   such as a system call without a stack, its reason must have half.
/// - Otherwise the cause is `mixed`.
/// Not thread-safe.
class sampled_causes {
 public:
  /// Adds sampled time; nothing if `time` is not positive. O(log causes).
  void add(const host_cause& cause, trace::stack_id stack, time_ns time);
  void clear();
  /// The time added since the last `clear`.
  [[nodiscard]] time_ns total() const { return total_; }
  /// O(causes).
  [[nodiscard]] sampled_verdict judge() const;

 private:
  struct sampled_time {
    time_ns time = 0;
    trace::stack_id stack{};  ///< The stack with the most time in one `add`.
    time_ns stack_time = 0;
  };
  /// Returns the verdict if the winner counts. There must be samples.
  [[nodiscard]] sampled_verdict find_winner() const;
  /// True if the winner's library or line has half of the time.
  [[nodiscard]] bool has_half(const host_cause& winner) const;

  std::map<host_cause, sampled_time> causes_;
  time_ns total_ = 0;
};

}  // namespace sluice::metrics
