#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "instrumentation/runtime/pool/pool_front.hpp"
#include "instrumentation/runtime/pool/pool_heap.hpp"

// The fronts of all threads in one pool, and how blocks move between them and the heap. This header is internal.

namespace sluice::runtime::pooling {

/// The threads' fronts of a pool. Numbers named `stream` are `stream_ref::identity` values.
class pool_fronts {
 public:
  /// `front_bytes`: the most bytes that a front keeps for one stream. `number`: a number of the pool, which spreads the
  /// pools over the table of each thread.
  pool_fronts(pool_heap& heap, std::uint64_t front_bytes, std::uint64_t number) noexcept
      : heap_(heap), front_bytes_(front_bytes), hash_(static_cast<unsigned>(number % pool_streams_remembered)) {}
  pool_fronts(const pool_fronts&) = delete;
  pool_fronts& operator=(const pool_fronts&) = delete;

  // --- a hit (an allocation or free inside the thread's front): takes no lock and accesses no memory that other
  // threads write

  /// The pool_stream (a front's part for one stream) that the calling thread used last for this hash. It may belong to
  /// another stream with the same hash. Null if there is none, or if the host can access the pool's memory.
  [[nodiscard]] SLUICE_INLINE pool_stream* pool_stream_by_hash(unsigned hash) const noexcept {
    const pool_stream_entry& here = pool_streams_here[hash ^ hash_];
    if (here.pool != this) [[unlikely]]
      return nullptr;
    if (here.found == nullptr) __builtin_unreachable();
    return here.found;
  }
  [[nodiscard]] SLUICE_INLINE pool_stream* own_pool_stream(std::uint64_t stream) const noexcept {
    return pool_stream_by_hash(stream_ref::compute_hash(stream));
  }

  /// Takes a block for `bytes` > 0 from `own`, the thread's pool_stream. Null if no block fits or `own` belongs to
  /// another stream.
  [[nodiscard]] SLUICE_INLINE static block* take(pool_stream* own, std::uint64_t stream, std::uint64_t bytes) noexcept {
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

  /// Puts a used block that no graph holds, and that was freed on `stream`, into `own`, the calling thread's
  /// pool_stream. Returns false if there is no space or `own` belongs to another stream.
  [[nodiscard]] SLUICE_INLINE static bool keep(pool_stream* own, std::uint64_t stream, block* b) noexcept {
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

  // --- the functions below need the pool's mutex to be held

  void add(std::unique_ptr<front> f) { fronts_.push_back(std::move(f)); }
  /// Returns the blocks of a front to the heap, and deletes the front.
  void remove(const front* f) noexcept;
  /// The fronts, to be claimed.
  [[nodiscard]] std::span<const std::unique_ptr<front>> fronts() const noexcept { return fronts_; }

  /// The front's pool_stream for this stream, created if it does not exist. Throws std::bad_alloc.
  [[nodiscard]] pool_stream& open(front& f, std::uint64_t stream);
  /// Fetches extra blocks after repeated misses in this list, so that the thread misses less often.
  void refill(pool_stream& l, std::uint64_t bytes, zone& source);
  /// Puts a freed block into the front of the calling thread; makes space if its list is full. Returns false if the
  /// block does not fit. Throws std::bad_alloc.
  [[nodiscard]] bool keep_after_flush(front& f, std::uint64_t stream, block* b);
  /// Returns the blocks of all fronts to the heap.
  void drain() noexcept;
  /// Returns all fronts' blocks of this stream to the heap, because the stream is being destroyed.
  void forget_stream(std::uint64_t stream) noexcept;

  /// Counts an allocated (`sign` 1) or freed (`sign` -1) block for this front, or for threads that have ended if `f` is
  /// null.
  void count(front* f, const block& b, std::int64_t sign) noexcept;
  /// The counts of all threads at one moment.
  [[nodiscard]] front_counts counts() const noexcept;
  /// The used bytes of all threads. Other threads run meanwhile, so the sum is approximate: not from a single moment.
  [[nodiscard]] std::uint64_t used_about() const noexcept;
  void reset_peaks() noexcept;

 private:
  SLUICE_INLINE static void push(pool_stream& l, pool_stream::bin& bin, block* b) noexcept {
    b->state.store(block_state::cached, std::memory_order_relaxed);
    b->next = bin.head;
    bin.head = b;
    --bin.room;
    l.room_bytes -= b->bytes;
  }
  void drain(pool_stream& l) noexcept;
  void flush_half(pool_stream& l, std::size_t bin) noexcept;

  pool_heap& heap_;
  std::uint64_t front_bytes_;
  unsigned hash_;  ///< below `pool_streams_remembered`
  std::vector<std::unique_ptr<front>> fronts_;
  front_counts gone_;  ///< summed counts of threads that have ended
};

}  // namespace sluice::runtime::pooling
