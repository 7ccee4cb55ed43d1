#pragma once

#include <cstdint>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/touches.hpp"
#include "core/trace/model/model.hpp"

/// Writes to a block that is then overwritten completely before anything reads it. Sizes are in bytes.
namespace sluice::metrics {

/// The dead writes to blocks that one call stack allocated.
struct dead_write_group {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::stack_id stack{};  ///< The stack that allocated the blocks.
  index::access_kind first =
      /// The kind of the write whose data is never read: a clear, an upload or another copy.
      index::access_kind::clear;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< Total bytes written in vain.
  time_range longest;       ///< For the largest block, the time from the dead write to the write that replaced it.
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
};

}  // namespace sluice::metrics
