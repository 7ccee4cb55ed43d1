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
  /// Learns the usual time of events from begins in the column `column`. Only the first table with begins counts.
  void learn(const nsys_rows& rows, std::size_t column);

  /// True if an event can have been at `time`: within a year of the usual time. Otherwise counts a fault.
  [[nodiscard]] bool happened(trace::time_ns time);
  /// True if device work has times. Otherwise (0 and 0: the work was never finished) counts a fault.
  [[nodiscard]] bool ran(trace::time_ns begin, trace::time_ns end);
  /// Adds the time of an event. `begin` returns the earliest such time, 0 without any.
  void note(trace::time_ns time) { begin_ = std::min(time, begin_.value_or(time)); }
  [[nodiscard]] trace::time_ns begin() const { return begin_.value_or(0); }

  /// Returns `end`, or unknown_time if it is impossible (a fault). `must_end`: a missing end is a fault, too.
  [[nodiscard]] trace::time_ns end_of(trace::time_ns begin, trace::time_ns end, bool must_end);

  void fault(const std::string& what) { ++faults_[what]; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& faults() const { return faults_; }

 private:
  std::optional<trace::time_ns> usual_;
  std::optional<trace::time_ns> begin_;
  std::map<std::string, std::uint64_t> faults_;
};

}  // namespace sluice::importing
