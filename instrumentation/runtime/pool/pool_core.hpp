#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/trace/model/model.hpp"
#include "instrumentation/runtime/pool/pool_arena.hpp"
#include "instrumentation/runtime/pool/pool_front.hpp"
#include "instrumentation/runtime/pool/pool_growth.hpp"
#include "instrumentation/runtime/pool/pool_heap.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"

// The implementation of a pool: the heap, the threads' fronts, and how blocks move between them. Internal.
// A thread's front keeps its pool_core alive, so pools and threads may end in any order.

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

/// A pool: its heap, and the threads' fronts. Numbers named `stream` are `stream_ref::identity` values.
class pool_core final : public std::enable_shared_from_this<pool_core> {
 public:
  pool_core(const device_ref& device, memory_space space, std::unique_ptr<growth> source, pool_options options);

  // --- a hit (an allocation or free inside the thread's front): takes no lock and accesses no memory that other
  // threads write

  /// The pool_stream (a front's part for one stream) that the calling thread used last for this hash. It may belong to
  /// another stream with the same hash. Null if there is none, or if the host can access the pool's memory.
  [[nodiscard]] SLUICE_INLINE pool_stream* pool_stream_by_hash(unsigned hash) const noexcept {
    const pool_stream_entry& here = pool_streams_here[hash ^ hash_];
    if (here.core != this) [[unlikely]]
      return nullptr;
    if (here.place == nullptr) __builtin_unreachable();
    return here.place;
  }
  [[nodiscard]] SLUICE_INLINE pool_stream* own_pool_stream(std::uint64_t stream) const noexcept {
    return pool_stream_by_hash(stream_ref::hash_of(stream));
  }

  /// Takes a block for `bytes` > 0 from `own`, the thread's pool_stream. Null if no block fits or `own` belongs to
  /// another stream.
  [[nodiscard]] SLUICE_INLINE block* take_from_front(pool_stream* own, std::uint64_t stream,
                                                     std::uint64_t bytes) noexcept {
    if (own == nullptr) [[unlikely]]
      return nullptr;
    pool_stream& l = *own;
    front& f = *l.owner;
    std::uint64_t before = 0;
    if (!f.enter(before)) [[unlikely]]
      return nullptr;
    pool_stream::bin& bin = l.bins[bin_for(bytes)];
    block* b = bin.head;
    const bool fits = l.is_of(stream) && b != nullptr && b->bytes >= bytes;
    if (fits) [[likely]] {
      const std::uint64_t size = b->bytes;
      bin.head = b->next;
      ++bin.room;
      l.room_bytes += size;
      f.count_given(size, bytes);
      b->requested = bytes;
      b->state.store(block_state::used, std::memory_order_relaxed);
    }
    f.leave(before);
    return fits ? b : nullptr;
  }

  /// Puts a used block that no graph holds, and that was freed on `stream`, into `own`, the calling
  /// thread's pool_stream. Returns false if there is no space or `own` belongs to another stream.
  [[nodiscard]] SLUICE_INLINE bool keep(pool_stream* own, std::uint64_t stream, block* b) noexcept {
    const std::size_t at = b->bin;
    if (own == nullptr || at >= pool_stream_classes) [[unlikely]]
      return false;
    pool_stream& l = *own;
    front& f = *l.owner;
    std::uint64_t before = 0;
    if (!f.enter(before)) [[unlikely]]
      return false;
    pool_stream::bin& bin = l.bins[at];
    const bool room = l.is_of(stream) && bin.room != 0 && b->bytes <= l.room_bytes;
    if (room) [[likely]] {
      f.count_returned(b->bytes, b->requested);
      push(l, bin, b);
    }
    f.leave(before);
    return room;
  }

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

  /// Allocates `bytes` > 0 after `take_from_front` failed. Null if out of memory. Throws error if the device fails.
  [[nodiscard]] block* allocate(const stream_ref& stream, std::uint64_t bytes);
  /// Frees a used block on `stream` after `keep` has refused it.
  void give_back(std::uint64_t stream, block* b) noexcept;

  /// Allocates on a stream that is being captured.
  [[nodiscard]] block* allocate_captured(active_capture& capture, const stream_ref& stream, std::uint64_t bytes);
  /// Frees a block in a capture, or (if `capture` is null) a block that a graph held when the caller checked.
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

  // --- recordings

  /// Writes the pool and its used blocks into the recording.
  void announce() noexcept;
  void define() noexcept;
  /// All used blocks at one moment; nullopt if the limit was reached first. Throws std::bad_alloc.
  [[nodiscard]] std::optional<pool_live_set> live_set(const look_limit& limit);
  /// Records an allocation. Called by the allocating thread before any other thread can
  /// know the address. `begin` is the time at which the call began; 0: the same as its end.
  void note_allocated(const stream_ref& stream, block& b, std::uint64_t begin) noexcept;
  /// Records a hit in the pool_stream `own`. A hit is shorter than the clock can
  /// measure, so its start and end share one timestamp. Returns the block's address.
  void* note_taken_from_front(const pool_stream& own, const stream_ref& stream, block& b) noexcept;
  /// Records a free of `b` at `now`, before the pool changes. `own`: the thread's pool_stream; `on`: its stream.
  void note_freed(const pool_stream& own, std::uint64_t on, const stream_ref& stream, const block& b,
                  std::uint64_t now) noexcept;
  /// Records a free as a complete `free_record`, for threads without a pool_stream that the recording knows.
  void note_freed_in_full(const stream_ref& stream, const block& b, std::uint64_t now) const noexcept;
  void note_failed(const stream_ref& stream, std::uint64_t bytes) noexcept;
  /// Reports an attempt to free something that is not a block of this pool.
  void refuse_free(const void* address) noexcept;

  [[nodiscard]] const pool_options& options() const noexcept { return options_; }
  /// The clock of a simulated device; null for other devices.
  [[nodiscard]] backend::simulated_clock* clock() const noexcept { return clock_; }

 private:
  SLUICE_INLINE static void push(pool_stream& l, pool_stream::bin& bin, block* b) noexcept {
    b->state.store(block_state::cached, std::memory_order_relaxed);
    b->next = bin.head;
    bin.head = b;
    --bin.room;
    l.room_bytes -= b->bytes;
  }

  [[nodiscard]] const device_state& streams() const noexcept { return *device_.state(); }

  static constexpr std::uint64_t no_stream = ~std::uint64_t{0};

  // Fronts.
  /// The calling thread's front; null while the thread is ending.
  [[nodiscard]] front* front_here();
  [[nodiscard]] pool_stream& pool_stream_of(front& f, std::uint64_t stream);
  void leave(front* f) noexcept;
  void drain(pool_stream& l) noexcept;
  void drain_fronts() noexcept;
  void refill(pool_stream& l, std::uint64_t bytes, zone& from);
  void flush_half(pool_stream& l, std::size_t bin) noexcept;
  friend struct thread_fronts;

  [[nodiscard]] block* look_again(const void* address) noexcept;

  // Captures.
  /// True if the stream cannot be queried or waited for now. The result cannot change while a `captures_held_off`
  /// exists.
  [[nodiscard]] bool is_out_of_reach(std::uint64_t stream) const noexcept;
  [[nodiscard]] capture_arena& arena_of(active_capture& capture);
  void release_arena(std::uint64_t capture) noexcept;
  static void hold_for(block& b, zone& to) noexcept;
  void retag(zone& from, zone& to) noexcept;

  // The functions below need the mutex to be held.
  /// Blocks whose streams ended but could not be waited for.
  [[nodiscard]] zone& withheld() noexcept { return heap_.zone_of(no_stream); }
  void note_withheld(std::uint64_t bytes) const noexcept;
  void hand_out(front* f, block& b, std::uint64_t bytes) noexcept;
  void finish_closing() noexcept;
  [[nodiscard]] zone& zone_or_wait(std::uint64_t stream) noexcept;
  [[nodiscard]] block* find(const stream_ref& stream, std::uint64_t bytes);
  [[nodiscard]] block* find_idle(std::uint64_t bytes);
  [[nodiscard]] block* find_by_waiting(std::uint64_t bytes, zone& own);
  void clean_idle_streams();
  /// An event after all work now enqueued on the stream. Null if the stream is out of reach or the device has failed.
  [[nodiscard]] backend::event_handle event_behind(std::uint64_t stream) noexcept;
  [[nodiscard]] bool wait_for(std::uint64_t stream) noexcept;
  void wait_without_mutex(const std::vector<zone*>& zones) noexcept;
  /// Waits for all streams with free blocks; then every stream may use the blocks. Unlocks during most of the wait.
  void wait_for_streams() noexcept;
  [[nodiscard]] bool grow(std::uint64_t bytes, const zone& own);
  [[nodiscard]] block* take_grown(std::uint64_t bytes, zone& own);
  [[nodiscard]] backend::device_result<segment> grow_between(std::uint64_t least, std::uint64_t wanted,
                                                             std::uint64_t at);
  void steal(const stream_ref& stream);
  struct without_mutex;
  /// Returns segments to upstream; releases the mutex meanwhile if that may call back into the pool.
  std::uint64_t release(std::uint64_t keep_bytes, trace::pool_operation operation) noexcept;
  void count(front* f, const block& b, std::int64_t sign) noexcept;
  void note_taken_in_full(const pool_stream& own, const stream_ref& stream, block& b) noexcept;
  [[nodiscard]] std::uint64_t used_about() const noexcept;
  [[nodiscard]] pool_stats stats_from(const front_counts& counts) const noexcept;
  void state(trace::pool_operation operation) const noexcept;
  void sample() const noexcept;

  /// The names of the stream, and of the pool on it, in the current recording.
  [[nodiscard]] pool_stream_names names(const stream_ref& stream) const noexcept;
  void find_names(const stream_ref& stream, bool introduce, pool_stream_names& found) const noexcept;

  device_ref device_;
  memory_space space_;
  /// True if the host can access the memory. The host writes immediately, without regard to streams, so a block
  /// is reused only when all work on it is done. Fronts do not check that, so they keep nothing in such a pool.
  bool host_reachable_;
  pool_options options_;
  std::uint64_t front_bytes_;
  backend::simulated_clock* clock_;
  std::uint64_t trace_key_;
  std::uint32_t ordinal_;
  unsigned hash_;  ///< below `pool_streams_remembered`

  std::mutex mutex_;
  std::atomic<bool> closed_{false};
  std::uint64_t growing_ = 0;  ///< bytes being requested from upstream by threads that have released the mutex
  std::shared_ptr<growth> source_;
  pool_heap heap_;
  std::vector<std::unique_ptr<front>> fronts_;
  front_counts gone_;                                               // summed counts of threads that have ended
  std::map<std::uint64_t, std::unique_ptr<capture_arena>> arenas_;  // by capture id
  std::uint64_t peak_taken_ = 0, peak_reserved_ = 0;
  mutable std::uint64_t recorded_used_ = 0;
  std::atomic<std::uint64_t> refused_frees_{0};
};

}  // namespace sluice::runtime::pooling
