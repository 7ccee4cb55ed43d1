#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "core/export/export.hpp"

/// Visits allocations and frees in order of time. Each free has the attributes of the block that it frees.
namespace sluice::exports {

/// An allocation or a free of a block.
struct block_change {
  time_ns time = 0;
  std::uint64_t order = 0;
  bool born = false;
  bool before = false;  ///< True if the block was allocated before the recording.
  trace::block_id block{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::device_id device{};  ///< None for host memory, including pinned memory.
  trace::pool_id pool{};
  trace::process_id process{};
  trace::thread_id thread{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// Calls `visit` for all changes before the end of the range, including those before its start, which are needed to
/// compute totals. Ignores frees of unknown blocks, and a second allocation or free of the same block. Holds the live
/// blocks in memory. Errors: those of reading and of `visit`.
[[nodiscard]] result<void> memory_in_order(job& export_job,
                                           const std::function<result<void>(const block_change&)>& visit);

}  // namespace sluice::exports
