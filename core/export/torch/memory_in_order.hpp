#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "core/export/export.hpp"

/// Gives allocations and frees in order of time. Each free has the facts of the block that it frees.
namespace sluice::exports {

/// The birth or the death of a block.
struct block_change {
  time_ns time = 0;
  std::uint64_t order = 0;
  bool born = false;
  bool before = false;  ///< The block was there before the recording.
  trace::block_id block{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::device_id device{};  ///< None for host memory, even if pinned.
  trace::pool_id pool{};
  trace::process_id process{};
  trace::thread_id thread{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// Calls `visit` for all changes before the end of the range (totals at its start need the earlier ones). Ignores frees
/// of unknown blocks and second births or deaths. Holds the live blocks. Errors: those of reading and `visit`.
[[nodiscard]] result<void> memory_in_order(job& what, const std::function<result<void>(const block_change&)>& visit);

}  // namespace sluice::exports
