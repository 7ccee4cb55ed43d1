#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/import/nsys/reader.hpp"
#include "core/trace/model/ids.hpp"

/// Checks the times in rows of an Nsight Systems export, and finds its first event. Private to core/import.
namespace sluice::importing {

class nsys_checks {
 public:
  /// Determines the usual time of events from the start times in `column`. Only the first call that has start times has
  /// an effect.
  void learn(const nsys_rows& rows, std::size_t column);

  /// Returns true if `time` is plausible for an event: within a year of the usual time. Otherwise counts a fault.
  [[nodiscard]] bool happened(trace::time_ns time);
  /// Returns true if device work has times. Otherwise counts a fault. Both times are 0 if the work did not finish.
  [[nodiscard]] bool ran(trace::time_ns begin, trace::time_ns end);
  /// Notes the time of an event. `begin` returns the earliest time noted, or 0 if there is none.
  void note(trace::time_ns time) { begin_ = std::min(time, begin_.value_or(time)); }
  [[nodiscard]] trace::time_ns begin() const { return begin_.value_or(0); }

  /// Returns `end`, or unknown_time if `end` is impossible, which counts as a fault. `must_end`: a missing end counts
  /// as a fault, too.
  [[nodiscard]] trace::time_ns get_end(trace::time_ns begin, trace::time_ns end, bool must_end);

  void fault(const std::string& subject) { ++faults_[subject]; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& faults() const { return faults_; }

 private:
  std::optional<trace::time_ns> usual_;
  std::optional<trace::time_ns> begin_;
  std::map<std::string, std::uint64_t> faults_;
};

}  // namespace sluice::importing
