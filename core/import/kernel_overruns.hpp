#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "core/trace/model/model.hpp"

namespace sluice::importing {

/// Detects kernels whose end was not recorded: three later kernels of the same stream start and end inside such a
/// kernel. One later kernel is not enough, because it may overlap the end of the previous kernel. Ignores kernels of
/// graphs. Not thread-safe.
class kernel_overruns {
 public:
  static constexpr std::string_view words =
      "kernels that contain several later ones of their stream: their durations cannot be right";

  /// Adds a kernel. The kernels of a stream must be added in approximate order of time. O(1).
  void add(const trace::kernel_event& made) {
    constexpr std::uint64_t several = 3;
    if (made.graph_node != 0 || made.end == trace::unknown_time || made.stream == trace::stream_id::none) return;
    longest& known = by_stream_[raw(made.stream)];
    if (made.time > known.begin && made.end < known.end) {
      if (++known.inside == several) ++found_;
    } else if (made.end > known.end) {
      known = {made.time, made.end, 0};
    }
  }
  [[nodiscard]] std::uint64_t found() const { return found_; }

 private:
  /// The kernel with the latest end on a stream, and the number of later kernels inside it.
  struct longest {
    trace::time_ns begin = 0, end = INT64_MIN;
    std::uint64_t inside = 0;
  };
  std::unordered_map<std::uint64_t, longest> by_stream_;
  std::uint64_t found_ = 0;
};

}  // namespace sluice::importing
