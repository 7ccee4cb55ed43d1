#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Samples of the free space (holes) inside segments over time, which show how fragmentation develops.
namespace sluice::query {

/// Totals over the segments of one layer at one time. Segments are those of the memory map.
struct segment_holes {
  std::uint64_t bytes = 0;         ///< The total size of the segments.
  std::uint64_t free = 0;          ///< The part of `bytes` that is in no block.
  std::uint64_t largest_hole = 0;  ///< The longest free run of addresses within one segment.
};

struct hole_sample {
  trace::time_ns time = 0;
  std::array<segment_holes, trace::layer_count> layers{};  ///< Indexed by the layer of the segments.
};

struct hole_curve {
  time_range range;
  std::vector<hole_sample> samples;  ///< Sorted by time. An incomplete result has only the first samples.
};

/// Requests the holes at `samples` times spread evenly over the range. O(samples * blocks live at one time).
struct holes_query {
  time_range range;
  std::optional<trace::device_id> device{};
  std::uint32_t samples = 96;  ///< At most `max_samples`.
  friend bool operator==(const holes_query&, const holes_query&) = default;
  using result_type = hole_curve;

  static constexpr std::uint32_t max_samples = 1024;
};

}  // namespace sluice::query
