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

/// What a program asked PyTorch's allocator for, in order.
namespace sluice::replay {

struct recorded_events;

enum class request_kind : std::uint8_t {
  allocate,
  free,
  empty_cache,  ///< torch.cuda.empty_cache: give back all segments that are free.
};

struct request {
  std::uint64_t bytes = 0;  ///< To allocate. Allocators round it up.
  /// The number of the block, from 0 on; for `empty_cache` a position in `allocator_requests::kept_arenas`.
  std::uint32_t block = 0;
  std::uint16_t arena =
      0;  ///< Blocks of one arena can reuse each other's memory: a stream of the GPU, or a graph's pool.
  request_kind what = request_kind::allocate;
};

/// What an allocator had from the driver.
struct reserved_memory {
  std::uint64_t peak_reserved = 0;  ///< Bytes.
  std::uint64_t peak_segments = 0;
  std::uint64_t driver_calls = 0;  ///< Segments taken and given back.
};

/// What the recording says that the program's own allocator did.
struct recorded_allocator : reserved_memory {
  bool segments_known = false;  ///< False: the recording has no segments, and nothing can be compared.
  bool mapped = false;          ///< Segments were mapped piece by piece: expandable_segments:True.
  /// Without the segments in which no block began: no request explains them, so a model is compared with this.
  reserved_memory with_blocks;
  std::uint64_t empty_segments = 0;  ///< How many there are of these.
  std::uint64_t empty_bytes = 0;     ///< Their bytes, together.
};

/// The requests to the allocator of one device in one process.
struct allocator_requests {
  trace::process_id process{};
  trace::device_id device{};
  std::vector<request> requests;
  std::vector<trace::time_ns> times;  ///< When each request was made.
  std::vector<trace::block_id> ids;   ///< The recorded block of each block number.
  /// Block numbers are below this. They count the allocator's blocks in the order of `memory_use::blocks()`.
  std::uint32_t blocks = 0;
  std::uint32_t arenas = 1;  ///< Arena numbers are below this.
  /// For `empty_cache`: the arenas that keep their memory, because a CUDA graph may still use it.
  std::vector<std::vector<std::uint16_t>> kept_arenas;
  /// Arenas that keep their memory even if the device is full.
  std::vector<bool> private_arenas;
  /// Addresses of recorded segments, each with the block that it was taken for, in order. Ties are broken by address.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> segment_addresses;
  std::uint64_t limit = 0;         ///< Bytes that may be reserved; 0: not known.
  bool limit_inferred = false;     ///< The limit is not the device's memory: retries in the recording show it.
  std::uint64_t device_bytes = 0;  ///< The device's memory; 0: not known.
  recorded_allocator recorded;
  // What `put_moments` sets, for policies that empty the cache. In order of time.
  std::vector<trace::time_ns> step_begins;  ///< When the steps of the process begin.
  std::vector<trace::time_ns> failures;     ///< When an allocation of the process on this device failed.
};

/// The requests to one allocator. O(blocks * log blocks), more if many streams of the GPU allocate in turn.
[[nodiscard]] allocator_requests requests_of(const recorded_events& of, const trace::tables& tables);

/// The requests to each allocator in the recording, ordered by process and device: framework blocks in device memory.
/// Call after `settle`.
[[nodiscard]] std::vector<allocator_requests> requests_of(const analysis::memory_use& memory,
                                                          const trace::tables& tables);

/// The policies that are replayed if none is asked for: `default_policies`, and to empty the cache in each step or before a
/// failure, where it is known when that is.
[[nodiscard]] std::vector<policy> policies_for(std::span<const allocator_requests> of);

/// Sets when steps begin and when allocations failed. `failed`: the failures that reached the program, in order of time.
/// O(steps + requests * failures).
void put_moments(std::span<allocator_requests> into, const std::map<trace::process_id, analysis::step_list>& steps,
                 std::span<const trace::alloc_failed_event> failed);

}  // namespace sluice::replay
