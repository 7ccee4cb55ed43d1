#pragma once

#include <cstdint>

#include "core/trace/file/reader.hpp"

/// Makes times non-negative. Perfetto drops events with negative times, in Chrome's format too.
namespace sluice::exports {

class from_zero {
 public:
  explicit from_zero(const trace::snapshot& of)
      : shift_(of.begin() < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(of.begin()) : 0) {}

  /// The trace's time 0 after the shift.
  [[nodiscard]] std::uint64_t origin() const { return shift_; }
  /// Adds to `time` what the trace begins before its time 0. Times even earlier, as of old blocks, become 0.
  [[nodiscard]] std::uint64_t operator()(trace::time_ns time) const {
    const std::uint64_t moved = static_cast<std::uint64_t>(time) + shift_;
    return moved >> 63U != 0 ? 0 : moved;
  }

 private:
  std::uint64_t shift_ = 0;
};

}  // namespace sluice::exports
