#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "core/trace/model/model.hpp"
#include "instrumentation/runtime/device.hpp"
#include "instrumentation/runtime/pool/pool_fronts.hpp"
#include "instrumentation/runtime/pool/pool_heap.hpp"
#include "instrumentation/runtime/recording/live_sets.hpp"

// The records of a pool. This header is internal. A pool_stream is what a thread caches of the pool for one stream
// (pool_front.hpp). The properties that its blocks share (pool, stream, device) are sent once, so the record of an
// allocation from this cache (a hit) has only the address and the sizes. Used bytes follow from the blocks, so the
// pool's state is recorded only on growth and large changes.

namespace sluice::runtime::pooling {

/// Writes the records of one pool. Any thread may call the functions, except where a comment says otherwise.
class pool_records {
 public:
  /// `key`: the pool's key in recordings. `name`, `heap` and `fronts` must outlive this object.
  pool_records(const device_ref& device, memory_space space, std::uint64_t key, const std::string& name,
               const pool_heap& heap, const pool_fronts& fronts)
      : device_(device),
        space_(space),
        ordinal_(device.description().ordinal),
        key_(key),
        name_(name),
        heap_(heap),
        fronts_(fronts) {}

  /// Introduces the pool (its key and name) to the recording.
  void define() const noexcept;
  /// Records an allocation. Called by the allocating thread before any other thread can know the address. `begin` is
  /// the time at which the call began; 0: the same as its end.
  void note_allocated(const stream_ref& stream, block& b, std::uint64_t begin) const noexcept;
  /// Records a hit in the pool_stream `own`. A hit is shorter than the clock can measure, so its start and end share
  /// one timestamp. Returns the block's address.
  void* note_taken_from_front(const pool_stream& own, const stream_ref& stream, block& b) const noexcept;
  /// Records a free of `b` at `now`, before the pool changes. `own`: the thread's pool_stream for `stream`; `on`: the
  /// identity of `stream`, which the caller has looked up already.
  void note_freed(const pool_stream& own, std::uint64_t on, const stream_ref& stream, const block& b,
                  std::uint64_t now) const noexcept;
  /// Records a free as a complete `free_record`, for threads without a pool_stream that the recording knows.
  void note_freed_in_full(const stream_ref& stream, const block& b, std::uint64_t now) const noexcept;
  /// Records an allocation of `bytes` that failed because the device is out of memory.
  void note_failed(const stream_ref& stream, std::uint64_t bytes) const noexcept;
  /// Warns that `bytes` of free memory are not reused, because the pool could not wait for the stream that used them.
  void note_withheld(std::uint64_t bytes) const noexcept;
  /// Counts and reports an attempt to free something that is not a block of this pool.
  void refuse_free(const void* address) noexcept;
  [[nodiscard]] std::uint64_t refused_frees() const noexcept { return refused_frees_.load(std::memory_order_relaxed); }

  // --- the functions below need the pool's mutex to be held

  /// Records reserved and used bytes.
  void record_state(trace::pool_operation operation) noexcept;
  /// After a miss: records the state if used bytes changed by 1/64 of the pool since the last time.
  void record_state_if_changed() noexcept;
  /// Writes the pool and its used blocks into the recording.
  void announce() noexcept;
  /// All used blocks at one moment; nullopt if the limit was reached first. Throws std::bad_alloc.
  [[nodiscard]] std::optional<pool_live_set> live_set(const look_limit& limit) const;

 private:
  void note_taken_in_full(const pool_stream& own, const stream_ref& stream, block& b) const noexcept;
  /// The names of the stream, and of the pool on it, in the current recording.
  [[nodiscard]] pool_stream_names names(const stream_ref& stream) const noexcept;
  /// Looks up the names. With `introduce`, also sends the pool_stream's properties to the recording; the caller sets
  /// this only if the thread keeps the pool_stream, so that they are sent once. If sending fails, the next
  /// call tries again.
  void find_names(const stream_ref& stream, bool introduce, pool_stream_names& found) const noexcept;

  device_ref device_;
  memory_space space_;
  std::uint32_t ordinal_;
  std::uint64_t key_;
  const std::string& name_;
  const pool_heap& heap_;
  const pool_fronts& fronts_;
  std::uint64_t recorded_used_ = 0;  ///< used bytes when the state was last recorded
  std::atomic<std::uint64_t> refused_frees_{0};
};

}  // namespace sluice::runtime::pooling
