#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "core/export/export.hpp"

/// Allocations and frees in order of time; each free carries the facts of the block that it frees.
namespace sluice::exports {

/// A block as it is born or dies.
struct block_change {
  time_ns time = 0;
  std::uint64_t order = 0;
  bool born = false;
  bool before = false;  ///< The block was there before the recording.
  trace::block_id block{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::device_id device{};  ///< None for host memory, pinned or not.
  trace::pool_id pool{};
  trace::process_id process{};
  trace::thread_id thread{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// All changes of what was asked for up to the end of its range, also those before it: totals at its beginning need them. Deaths of
/// unknown blocks, second births and second deaths are left out. Holds the live blocks. Errors: those of reading, and of `visit`.
[[nodiscard]] result<void> memory_in_order(job& what, const std::function<result<void>(const block_change&)>& visit);

}  // namespace sluice::exports
