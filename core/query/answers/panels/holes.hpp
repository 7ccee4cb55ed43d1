#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Free space inside segments over time, sampled: how fragmentation comes and goes.
namespace sluice::query {

/// The segments of one layer at one moment, as the memory map counts them.
struct segment_holes {
  std::uint64_t bytes = 0;         ///< Of all segments.
  std::uint64_t free = 0;          ///< The part without a block.
  std::uint64_t largest_hole = 0;  ///< The longest free run of addresses within one segment.
};

struct hole_sample {
  trace::time_ns time = 0;
  std::array<segment_holes, trace::layer_count> layers{};  ///< By the layer of the segments.
};

struct hole_curve {
  analysis::time_range range;
  std::vector<hole_sample> samples;  ///< In order of time; while the answer is incomplete, the first ones.
};

/// Asks for the holes at `samples` moments spread evenly over the range. O(samples * blocks live then).
struct holes_question {
  analysis::time_range range;
  std::optional<trace::device_id> device{};
  std::uint32_t samples = 96;  ///< At most `most_samples`.
  friend bool operator==(const holes_question&, const holes_question&) = default;
  using answer_type = hole_curve;

  static constexpr std::uint32_t most_samples = 1024;
};

}  // namespace sluice::query
