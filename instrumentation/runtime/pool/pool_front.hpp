#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "instrumentation/ring/hot.hpp"
#include "instrumentation/runtime/pool/pool_heap.hpp"
#include "instrumentation/runtime/stream.hpp"

// A front is a thread's own part of a pool. It holds free blocks that the thread takes and returns without a lock and
// without writing to cache lines that other threads write. This header is internal.
//
// The holder of the pool's mutex may claim fronts, to empty them or to read all of them at one
// moment. The owner of a front announces itself by a plain store and then checks for a claim; the
// claimer issues a barrier in all running threads of the process (membarrier(2)). So each side sees
// the other's store, and only the rarely running side pays for that. This is the asymmetric form of
// Dekker's exclusion, as in biased locks. If the kernel lacks that barrier, the owner uses a fence.

namespace sluice::runtime::pooling {

class pool_fronts;
struct front;

/// Sizes up to this many bytes are rounded up to their size class, so every block in a pool_stream's
/// list fits. Larger sizes are not rounded; for them, only the first block of the list is tried.
inline constexpr std::uint64_t largest_rounded = std::uint64_t{1} << 20;
/// Larger blocks go directly to the heap.
inline constexpr std::uint64_t largest_kept = std::uint64_t{256} << 20;
inline constexpr std::size_t pool_stream_classes = get_size_class(largest_kept / granule) + 1;

/// The number of free blocks of one size that a pool_stream keeps: 512 KiB in total, but at least 4 and at most 64.
[[nodiscard]] constexpr std::uint32_t max_kept(std::uint64_t bytes) noexcept {
  const std::uint64_t count = (std::uint64_t{512} << 10) / bytes;
  return static_cast<std::uint32_t>(count < 4 ? 4 : count > 64 ? 64 : count);
}

/// The result of `max_kept` for each size class.
inline constexpr auto max_of_class = [] {
  std::array<std::uint8_t, pool_stream_classes> most{};
  for (std::uint64_t granules = 1; granules <= largest_kept / granule;) {
    most[get_size_class(granules)] = static_cast<std::uint8_t>(max_kept(granules * granule));
    granules = round_to_class(granules + 1);
  }
  return most;
}();

/// The names of a stream, and of the pool on it, in a recording.
struct pool_stream_names {
  std::uint32_t generation = 0;  ///< number of the recording that these names belong to; 0: none
  std::uint64_t stream = 0, pool = 0;
  std::uint64_t pool_stream = 0;  ///< key of the `pool_stream_record` that the thread sent; 0: not sent
};

/// The part of a front for one stream.
struct pool_stream {
  struct bin {
    block* head = nullptr;
    std::uint32_t room = 0;    ///< number of blocks that still fit
    std::uint32_t refill = 1;  ///< number of blocks to fetch from the heap at the next miss; doubles
  };

  pool_stream(front& its_front, std::uint64_t max_bytes) noexcept : owner(&its_front), room_bytes(max_bytes) {
    for (std::size_t at = 0; at < pool_stream_classes; ++at) bins[at].room = max_of_class[at];
  }

  front* owner;
  std::atomic<std::uint64_t> stream{0};  ///< written under a claim, or by the owner with the pool's mutex held
  bool in_use = false;                   ///< false if its stream was destroyed: another stream may use this object
  std::uint64_t room_bytes;              ///< bytes that still fit

  pool_stream_names names;  ///< used only by the owner

  [[nodiscard]] SLUICE_INLINE bool is_of(std::uint64_t s) const noexcept {
    return stream.load(std::memory_order_relaxed) == s;
  }

  std::array<bin, pool_stream_classes + 1> bins{};  ///< the extra bin always stays empty
};

/// True if the kernel has a barrier for all threads (membarrier). Determined once, before the first front is created.
extern const bool barrier_for_all;

/// The bin for a block of `bytes` > 0. Sizes that are not kept return `pool_stream_classes`, the bin that stays empty.
[[nodiscard]] constexpr std::size_t bin_for(std::uint64_t bytes) noexcept {
  const std::uint64_t last = (bytes - 1) / granule;
  if (bytes <= largest_rounded) [[likely]]
    return class_that_holds(last + 1);
  return bytes <= largest_kept ? get_size_class(last + 1) : pool_stream_classes;
}

/// Counts of one thread. Only sums over all fronts are meaningful, because a thread that frees blocks of other threads
/// has negative counts.
struct front_counts {
  std::int64_t used = 0, requested = 0, blocks = 0;
  std::int64_t peak = 0;  ///< highest value of `used`
};

/// The pool_streams of one thread in one pool. A front has cache lines of its own.
struct alignas(128) front {
  /// Reasons why the owner must take the slow path.
  enum obstacle : std::uint8_t { none = 0, claimed = 1, needs_fence = 2 };

  std::atomic<std::uint64_t> sequence{0};  ///< odd while the owner takes or returns a block (a hit)
  std::atomic<std::uint8_t> obstacles{barrier_for_all ? none : needs_fence};
  std::atomic<std::int64_t> used{0}, requested{0}, blocks{0}, peak{0};

  std::vector<std::unique_ptr<pool_stream>> pool_streams;  ///< modified and iterated only under the pool's mutex

  /// The owner calls this to begin a hit and later passes `before` to `leave`. Returns false if the front is claimed;
  /// the owner must not access the front then.
  [[nodiscard]] SLUICE_INLINE bool enter(std::uint64_t& before) noexcept {
    before = sequence.load(std::memory_order_relaxed);
    sequence.store(2 * before + 1, std::memory_order_relaxed);  // Odd, and larger than before, in one instruction.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (obstacles.load(std::memory_order_acquire) != none) [[unlikely]] {
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (is_claimed()) return leave(before), false;
    }
    // Later writes must not become visible before the odd sequence.
    std::atomic_thread_fence(std::memory_order_release);
    return true;
  }
  SLUICE_INLINE void leave(std::uint64_t before) noexcept { sequence.store(before + 2, std::memory_order_release); }
  /// Counts an allocated block. Call inside a hit, or with the pool's mutex held.
  SLUICE_INLINE void count_given(std::uint64_t bytes, std::uint64_t asked) noexcept {
    ring::add_alone(used, static_cast<std::int64_t>(bytes));
    ring::add_alone(requested, static_cast<std::int64_t>(asked));
    ring::add_alone(blocks, 1);
    const std::int64_t now = used.load(std::memory_order_relaxed);
    if (now > peak.load(std::memory_order_relaxed)) [[unlikely]]
      peak.store(now, std::memory_order_relaxed);
  }
  /// Counts a freed block. Call inside a hit, or with the pool's mutex held.
  SLUICE_INLINE void count_returned(std::uint64_t bytes, std::uint64_t asked) noexcept {
    ring::take_alone(used, static_cast<std::int64_t>(bytes));
    ring::take_alone(requested, static_cast<std::int64_t>(asked));
    ring::take_alone(blocks, 1);
  }
  [[nodiscard]] front_counts counts() const noexcept {
    return {used.load(std::memory_order_relaxed), requested.load(std::memory_order_relaxed),
            blocks.load(std::memory_order_relaxed), peak.load(std::memory_order_relaxed)};
  }

  [[nodiscard]] bool is_claimed() const noexcept { return (obstacles.load(std::memory_order_acquire) & claimed) != 0; }
  /// Call with the pool's mutex held.
  void set_claimed(bool it, std::memory_order order) noexcept {
    const unsigned others = obstacles.load(std::memory_order_relaxed) & ~unsigned{claimed};
    obstacles.store(static_cast<std::uint8_t>(it ? others | claimed : others), order);
  }
};

/// Claims fronts, which keeps their owners out, during its lifetime. The pool's mutex must be held throughout.
class claim {
 public:
  explicit claim(std::span<const std::unique_ptr<front>> fronts) noexcept;
  /// Waits for the owners to leave their fronts, at most until the limit is reached.
  claim(std::span<const std::unique_ptr<front>> fronts, const look_limit& limit) noexcept;
  ~claim();
  claim(const claim&) = delete;
  claim& operator=(const claim&) = delete;

  /// False if the limit was reached before all owners had left their fronts.
  [[nodiscard]] bool held() const noexcept { return held_; }

 private:
  template <class GiveUp>
  [[nodiscard]] bool take(GiveUp&& give_up) noexcept;

  std::span<const std::unique_ptr<front>> fronts_;
  bool held_;
};

/// Adds up the counts of all fronts in `sum`. Returns true if the counts are from one moment, because no owner began or
/// ended a hit meanwhile. The pool's mutex must be held.
[[nodiscard]] bool collect(std::span<const std::unique_ptr<front>> fronts, front_counts& sum) noexcept;

/// The pool_streams that the calling thread used last, in a table indexed by
/// stream hash and pool hash. An entry may belong to another stream by now.
struct pool_stream_entry {
  const pool_fronts* pool = nullptr;  ///< the fronts of the pool; null: the entry is empty
  pool_stream* found = nullptr;       ///< belongs to `pool`; valid only if `pool` is not null

  void set(const pool_fronts* owner, pool_stream& l) noexcept {
    found = &l;
    pool = owner;
  }
  void forget() noexcept { pool = nullptr; }
};
inline constexpr std::size_t pool_streams_remembered = stream_ref::hashes;
SLUICE_THREAD_LOCAL inline pool_stream_entry pool_streams_here[pool_streams_remembered]{};

}  // namespace sluice::runtime::pooling
