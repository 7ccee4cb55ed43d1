#pragma once

#include <cstdint>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Call stacks whose memory only grows. Sizes are in bytes, times in ns.
namespace sluice::metrics {

/// Blocks of one call stack that were allocated throughout the run and are still live at the end.
struct growing_group {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::process_id process{};
  trace::stack_id stack{};
  trace::string_id name{};
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  time_ns first = 0;  ///< Allocation time of the first of these blocks.
  time_ns last = 0;   ///< Allocation time of the last of these blocks.
  trace::block_id newest{};
};

}  // namespace sluice::metrics
