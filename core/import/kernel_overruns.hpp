#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "core/trace/model/model.hpp"

namespace sluice::importing {

/// Detects kernels whose end was not recorded. Kernels of a stream run one after another, so the end of a kernel is
/// wrong if three later kernels of its stream start and end inside it. One later kernel is not enough, because it may
/// overlap the end of the previous kernel. Ignores kernels of graphs. Not thread-safe.
class kernel_overruns {
 public:
  static constexpr std::string_view words =
      "kernels with impossible durations, which contain several later kernels of their stream";

  /// Adds a kernel. The kernels of a stream must be added in approximate order of time. O(1).
  void add(const trace::kernel_event& kernel_row) {
    constexpr std::uint64_t several = 3;
    if (kernel_row.graph_node != 0 || kernel_row.end == trace::unknown_time ||
        kernel_row.stream == trace::stream_id::none)
      return;
    longest& known = by_stream_[raw(kernel_row.stream)];
    if (kernel_row.time > known.begin && kernel_row.end < known.end) {
      if (++known.inside == several) ++found_;
    } else if (kernel_row.end > known.end) {
      known = {kernel_row.time, kernel_row.end, 0};
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
