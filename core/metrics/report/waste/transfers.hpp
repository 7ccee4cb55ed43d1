#pragma once

#include <cstdint>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Copies between host and device, grouped by possible causes of slowness. Sizes are in bytes, times in ns.
namespace sluice::metrics {

/// The copies of one direction and kind of host memory that one call stack requested.
struct copy_group {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  trace::memory_kind host_side = trace::memory_kind::unknown;
  trace::stack_id stack{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  time_ns busy = 0;   ///< Sum of the copies' durations.
  time_ns alone = 0;  ///< The part of `busy` in which no kernel ran.
  /// Sum of the times from the call to the start of the copy. Earlier work on the stream and staging of pageable memory
  /// cause this delay.
  time_ns queued = 0;
  std::uint64_t small = 0;  ///< Number of copies smaller than `small_copy` bytes.
  std::uint64_t small_bytes = 0;
  /// The time from the start of the first copy to the end of the last, summed over runs of small copies.
  time_ns small_spread = 0;
  std::uint64_t on_kernels_stream = 0;  ///< Number of copies on streams that also run kernels.
  time_ns first = 0;                    ///< Start of the first copy.
  time_ns last = 0;                     ///< Start of the last copy.
  /// The number of eighths of the device's kernel time that contain copies; 1 if only the setup copies.
  std::uint64_t spread = 0;
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;

  static constexpr std::uint64_t small_copy = std::uint64_t{64} << 10U;
};

}  // namespace sluice::metrics
