#pragma once

#include <cstdint>

#include "core/trace/file/reader.hpp"

/// Shifts the times of an export so that none is negative, because Perfetto drops events with negative times, even in
/// Chrome's format.
namespace sluice::exports {

class from_zero {
 public:
  explicit from_zero(const trace::snapshot& recording)
      : shift_(recording.begin() < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(recording.begin()) : 0) {}

  /// The shifted time of the trace's time 0.
  [[nodiscard]] std::uint64_t origin() const { return shift_; }
  /// Returns `time`, shifted so that the start of a trace that starts before its time 0 becomes 0. Times before the
  /// start of the trace, such as those of old blocks, also become 0.
  [[nodiscard]] std::uint64_t operator()(trace::time_ns time) const {
    const std::uint64_t moved = static_cast<std::uint64_t>(time) + shift_;
    return moved >> 63U != 0 ? 0 : moved;
  }

 private:
  std::uint64_t shift_ = 0;
};

}  // namespace sluice::exports
