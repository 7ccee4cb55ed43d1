#pragma once

#include <cstdint>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Tensors that are held in two data types. Sizes are in bytes.
namespace sluice::metrics {

/// The pairs of original and copy that the same two call stacks allocated and that are live at the peak.
struct held_twice {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  time_ns peak_time = 0;
  std::uint64_t peak_bytes = 0;
  trace::stack_id stack{};       ///< The stack of the originals.
  trace::stack_id copy_stack{};  ///< The stack of the copies.
  std::uint64_t blocks = 0;      ///< The number of pairs.
  std::uint64_t bytes = 0;       ///< Total size of the originals.
  std::uint64_t copy_bytes = 0;
  trace::block_id largest{};  ///< The largest of the copies.
  std::uint64_t largest_bytes = 0;
};

}  // namespace sluice::metrics
