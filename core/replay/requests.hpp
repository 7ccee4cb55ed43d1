#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/index/work/steps.hpp"
#include "core/replay/policy.hpp"
#include "core/trace/model/tables.hpp"

/// The requests that a program made to PyTorch's allocator, in order.
namespace sluice::replay {

struct recorded_events;

enum class request_kind : std::uint8_t {
  allocate,
  free,
  empty_cache,  ///< A call of torch.cuda.empty_cache, which releases all free segments.
};

struct request {
  std::uint64_t bytes = 0;  ///< The size to allocate, before the allocator's rounding.
  /// The block's number, from 0; for `empty_cache`, a position in `allocator_requests::kept_arenas`.
  std::uint32_t block = 0;
  std::uint16_t arena = 0;  ///< A GPU stream, or the pool of a CUDA graph. Blocks of one arena can reuse each other's
                            ///< memory.
  request_kind kind = request_kind::allocate;
};

/// The memory that an allocator took from the driver.
struct reserved_memory {
  std::uint64_t peak_reserved = 0;  ///< In bytes.
  std::uint64_t peak_segments = 0;
  std::uint64_t driver_calls = 0;  ///< The number of segments taken and released.
};

/// The recorded behavior of the program's own allocator.
struct recorded_allocator : reserved_memory {
  bool segments_known = false;  ///< False if the recording has no segments with which models could be compared.
  bool mapped = false;          ///< True if segments were mapped piece by piece: expandable_segments:True.
  /// The same memory without the segments in which no block was allocated. No request explains these segments, so
  /// models are compared with this memory.
  reserved_memory with_blocks;
  std::uint64_t empty_segments = 0;  ///< The number of segments in which no block was allocated.
  std::uint64_t empty_bytes = 0;     ///< The total size of these segments.
};

/// The requests to one allocator, which serves one device in one process.
struct allocator_requests {
  trace::process_id process{};
  trace::device_id device{};
  std::vector<request> requests;
  std::vector<trace::time_ns> times;  ///< The time of each request.
  std::vector<trace::block_id> ids;   ///< The id of each recorded block, indexed by block number.
  /// Block numbers are below this number. Blocks of the allocator are numbered in the order of `memory_use::blocks()`.
  std::uint32_t blocks = 0;
  std::uint32_t arenas = 1;  ///< Arena numbers are below this number.
  /// For each `empty_cache`, the arenas that keep their memory, because a CUDA graph may still use that memory.
  std::vector<std::vector<std::uint16_t>> kept_arenas;
  /// For each arena, whether it keeps its memory even if the device is full.
  std::vector<bool> private_arenas;
  /// The addresses of recorded segments, in order, each with the number of the block for which the segment was taken.
  /// Used to break ties.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> segment_addresses;
  std::uint64_t limit = 0;         ///< The maximum that may be reserved, in bytes; 0: unknown.
  bool limit_inferred = false;     ///< True if the limit was inferred from recorded retries, and is not just the size
                                   ///< of the device's memory.
  std::uint64_t device_bytes = 0;  ///< The size of the device's memory, in bytes; 0: unknown.
  recorded_allocator recorded;
  // Set by `put_moments`, for policies that empty the cache. In order of time.
  std::vector<trace::time_ns> step_begins;  ///< When each step of the process begins.
  std::vector<trace::time_ns> failures;     ///< When an allocation by the process failed on this device.
};

/// Returns the requests to one allocator. O(blocks * log blocks), or more if many GPU streams allocate in turn.
[[nodiscard]] allocator_requests collect_requests(const recorded_events& events, const trace::tables& tables);

/// Returns the requests for framework blocks in device memory, for each allocator in the recording, ordered by process
/// and device. `memory` must be settled.
[[nodiscard]] std::vector<allocator_requests> collect_requests(const index::memory_use& memory,
                                                               const trace::tables& tables);

/// Returns the policies that are replayed by default: `default_policies`, plus emptying the cache in each step, or
/// before a failure, if the times of steps or failures are known.
[[nodiscard]] std::vector<policy> policies_for(std::span<const allocator_requests> items);

/// Sets when steps begin and when allocations failed. `failed`: the failures that reached the program, in order of
/// time. O(steps + requests * failures).
void put_moments(std::span<allocator_requests> into, const std::map<trace::process_id, index::step_list>& steps,
                 std::span<const trace::alloc_failed_event> failed);

}  // namespace sluice::replay
