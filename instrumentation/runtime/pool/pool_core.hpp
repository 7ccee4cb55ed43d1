#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "core/trace/model/model.hpp"
#include "instrumentation/runtime/pool/pool_arena.hpp"
#include "instrumentation/runtime/pool/pool_fronts.hpp"
#include "instrumentation/runtime/pool/pool_growth.hpp"
#include "instrumentation/runtime/pool/pool_heap.hpp"
#include "instrumentation/runtime/pool/pool_records.hpp"
#include "instrumentation/runtime/pool/pool_zones.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"

// The implementation of a pool: how an allocation that misses the thread's front finds a block, and how the pool grows
// and shrinks. This header is internal. A thread's front keeps its pool_core alive, so pools and threads may end in any
// order.

namespace sluice::backend {
class simulated_clock;
}

namespace sluice::runtime {
class active_capture;
}

namespace sluice::runtime::pooling {

/// The size of the block for `bytes` of memory. If rounding up overflows, a size larger than any memory. O(1).
[[nodiscard]] constexpr std::uint64_t size_for(std::uint64_t bytes) noexcept {
  const std::uint64_t rounded = pool_heap::round_up(bytes);
  return rounded <= largest_rounded ? round_to_class(rounded / granule) * granule : rounded;
}

/// A pool. Its mutex guards the heap, the zones and the arenas, and all of the fronts except hits. Numbers named
/// `stream` are `stream_ref::identity` values.
class pool_core final : public std::enable_shared_from_this<pool_core> {
 public:
  pool_core(const device_ref& device, memory_space space, std::unique_ptr<growth> source, pool_options options);

  /// The threads' fronts, for hits.
  [[nodiscard]] SLUICE_INLINE const pool_fronts& fronts() const noexcept { return fronts_; }
  [[nodiscard]] SLUICE_INLINE pool_records& records() noexcept { return records_; }

  /// The allocated block at this address, or null. Takes the lock only if the lock-free search finds nothing.
  [[nodiscard]] SLUICE_INLINE block* used_block(const void* address) noexcept {
    block* b = heap_.find(reinterpret_cast<std::uint64_t>(address));
    if (b == nullptr) [[unlikely]]
      b = look_again(address);
    return b != nullptr && b->is_callers() ? b : nullptr;
  }
  /// Finds an allocated block that no graph holds, with one probe of the hash table. If null, call `used_block`.
  [[nodiscard]] SLUICE_INLINE block* used_block_at_once(const void* address) const noexcept {
    block* b = heap_.find_at_once(reinterpret_cast<std::uint64_t>(address));
    return b != nullptr && b->state.load(std::memory_order_acquire) == block_state::used ? b : nullptr;
  }

  // --- the functions below take the mutex

  /// Allocates `bytes` > 0 after a miss in the front. Null if out of memory. Throws error if the device fails.
  [[nodiscard]] block* allocate(const stream_ref& stream, std::uint64_t bytes);
  /// Frees a used block on `stream` after the front has refused it.
  void give_back(std::uint64_t stream, block* b) noexcept;

  /// Allocates on a stream that is being captured.
  [[nodiscard]] block* allocate_captured(active_capture& capture, const stream_ref& stream, std::uint64_t bytes);
  /// Frees a block in `capture`. If `capture` is null, frees a block that belonged to a graph when the caller looked;
  /// the graph may have been destroyed since.
  void give_back_captured(const std::shared_ptr<active_capture>& capture, std::uint64_t stream, block* b) noexcept;

  [[nodiscard]] pool_stats stats();
  void reset_peaks() noexcept;
  std::uint64_t trim(std::uint64_t keep_bytes);
  void set_limit(std::uint64_t bytes) noexcept;
  /// Takes memory for `bytes` from upstream in advance. Returns false if there is not enough memory. Throws error if
  /// the device fails.
  [[nodiscard]] bool reserve(std::uint64_t bytes);
  void retire(std::uint64_t stream) noexcept;
  /// Frees a used block that the device may still use. The block is not reused until the pool has waited for the
  /// device.
  void withhold(block* b) noexcept;
  /// Waits for the streams that use freed blocks, then returns all free memory. The pool must not be used afterwards.
  void close() noexcept;
  /// Removes the front of the calling thread, which is ending.
  void leave(front* f) noexcept;

  /// Writes the pool and its used blocks into the recording.
  void announce() noexcept;
  /// All used blocks at one moment; nullopt if the limit was reached first. Throws std::bad_alloc.
  [[nodiscard]] std::optional<pool_live_set> live_set(const look_limit& limit);

  [[nodiscard]] const pool_options& options() const noexcept { return options_; }
  /// The clock of a simulated device; null for other devices.
  [[nodiscard]] backend::simulated_clock* clock() const noexcept { return clock_; }
  [[nodiscard]] bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire); }

 private:
  /// The calling thread's front; null while the thread is ending.
  [[nodiscard]] front* front_here();
  [[nodiscard]] block* look_again(const void* address) noexcept;
  void release_arena(std::uint64_t capture) noexcept;

  // The functions below need the mutex to be held.
  [[nodiscard]] capture_arena& get_arena(active_capture& capture);
  void hand_out(front* f, block& b, std::uint64_t bytes) noexcept;
  void finish_closing() noexcept;
  [[nodiscard]] block* find(const stream_ref& stream, std::uint64_t bytes);
  [[nodiscard]] block* find_idle(std::uint64_t bytes);
  [[nodiscard]] block* find_by_waiting(std::uint64_t bytes, zone& own);
  [[nodiscard]] bool grow(std::uint64_t bytes, const zone& own);
  [[nodiscard]] block* take_grown(std::uint64_t bytes, zone& own);
  [[nodiscard]] backend::device_result<segment> grow_between(std::uint64_t least, std::uint64_t wanted,
                                                             std::uint64_t at);
  /// Returns segments to upstream; releases the mutex meanwhile if that may call back into the pool.
  std::uint64_t release(std::uint64_t keep_bytes, trace::pool_operation operation) noexcept;
  [[nodiscard]] pool_stats stats_from(const front_counts& counts) const noexcept;

  device_ref device_;
  /// True if the host can access the memory. The host writes immediately, without regard to streams, so a block
  /// is reused only when all work on it is done. Fronts do not check that, so they keep nothing in such a pool.
  bool host_reachable_;
  pool_options options_;
  backend::simulated_clock* clock_;
  std::uint64_t trace_key_;

  std::mutex mutex_;
  std::atomic<bool> closed_{false};
  std::uint64_t growing_ = 0;  ///< bytes being requested from upstream by threads that have released the mutex
  std::shared_ptr<growth> source_;
  pool_heap heap_;
  pool_fronts fronts_;
  capture_arenas arenas_;
  pool_zones zones_;
  pool_records records_;
  std::uint64_t peak_taken_ = 0, peak_reserved_ = 0;
};

}  // namespace sluice::runtime::pooling
