#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/metrics/idle/idle_gaps.hpp"
#include "core/metrics/idle/recent_samples.hpp"

/// The idle time of a device by cause, as a lane of the timeline draws it. Times are in ns.
namespace sluice::metrics {

/// A part of a gap, or several small parts that share a pixel.
struct idle_span {
  time_range span;
  gap_cause cause{};        ///< The cause of most of the time.
  std::uint32_t parts = 1;  ///< The number of parts.
  time_ns idle = 0;         ///< Their time; less than the length of `span` if the device worked in between.
  idle_part longest;        ///< The longest of these parts with this cause.
  work_times host{};        ///< What `longest.thread` did in `longest.ran`, as far as that is sampled.
};

/// Merges parts that are shorter than a pixel. At most three spans a pixel remain, usually one. Not thread-safe.
class idle_span_merger {
 public:
  /// `range` is cut into `width` pixels; at least one.
  idle_span_merger(time_range range, std::uint32_t width);

  /// Adds a part. Parts are in order of time and do not overlap; what is outside of the range is cut off. `samples`
  /// must have those of the part. O(log samples + samples in the part).
  void add(const idle_part& part, const recent_samples& samples);
  /// The spans in order of time.
  [[nodiscard]] std::vector<idle_span> get_spans() const;

 private:
  struct cause_sum {
    time_ns time = 0;
    time_ns longest_time = 0;
    idle_part longest;
    work_times host;
  };
  /// The small parts of one pixel.
  struct pixel {
    std::int64_t number = -1;
    time_range span;
    std::uint32_t parts = 0;
    time_ns idle = 0;
    std::array<cause_sum, gap_cause_count> causes{};
  };
  void flush(std::vector<idle_span>& to) const;
  [[nodiscard]] std::int64_t get_pixel(time_ns time) const;

  time_range range_;
  double ns_per_pixel_ = 1;
  pixel open_;
  std::vector<idle_span> spans_;
};

}  // namespace sluice::metrics
