#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "core/trace/model/model.hpp"

namespace sluice::importing {

/// Finds kernels whose end was not recorded: three later kernels of their stream begin and end inside them. (One kernel
/// may overlap the end of the one before it, so that is no sign.) Ignores kernels of graphs. Not thread-safe.
class kernel_overruns {
 public:
  static constexpr std::string_view words =
      "kernels that run on while others of their stream begin and end: their durations cannot be right";

  /// Adds a kernel. Call about in order of time for each stream. O(1).
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
  /// The kernel of a stream that ends last, and how many later ones lie inside it.
  struct longest {
    trace::time_ns begin = 0, end = INT64_MIN;
    std::uint64_t inside = 0;
  };
  std::unordered_map<std::uint64_t, longest> by_stream_;
  std::uint64_t found_ = 0;
};

}  // namespace sluice::importing
