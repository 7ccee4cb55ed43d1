#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/import/nsys/reader.hpp"
#include "core/trace/model/ids.hpp"

/// What is wrong with rows of an Nsight Systems export, and when its events are. Private to core/import.
namespace sluice::importing {

class nsys_checks {
 public:
  /// Looks at a table's begins, the first that it is given: times are on one clock, so that all are near them. `column`: of the begins.
  void learn(const nsys_rows& rows, std::size_t column);

  /// Whether an event can have been at that time; otherwise it is counted.
  [[nodiscard]] bool happened(trace::time_ns time);
  /// The same of work that a device did: what was never finished is said to have been at 0.
  [[nodiscard]] bool ran(trace::time_ns begin, trace::time_ns end);
  /// An event was at that time. `begin` is the earliest of them, 0 without any.
  void note(trace::time_ns time) { begin_ = std::min(time, begin_.value_or(time)); }
  [[nodiscard]] trace::time_ns begin() const { return begin_.value_or(0); }

  /// `end`, if it can be the end of what began at `begin`. Without one it is `unknown_time`; `must_end`: and counted.
  [[nodiscard]] trace::time_ns end_of(trace::time_ns begin, trace::time_ns end, bool must_end);

  void fault(const std::string& what) { ++faults_[what]; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& faults() const { return faults_; }

 private:
  std::optional<trace::time_ns> usual_;
  std::optional<trace::time_ns> begin_;
  std::map<std::string, std::uint64_t> faults_;
};

}  // namespace sluice::importing
