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

// A thread's own part of a pool: free blocks that it may take and leave without a lock and without writing to a line that
// another thread writes. Internal.
//
// Who holds the pool's mutex may claim fronts, to drain them or to read them all at one moment. The owner announces itself by
// a plain store and looks for a claim; the one who claims makes that order hold for both by a barrier in every running
// thread of the process (membarrier(2)), so that only the rare side pays for it: the asymmetric form of Dekker's exclusion,
// as in biased locks. Where the kernel has no such barrier the owner pays with a fence.

namespace sluice::runtime::pooling {

class pool_core;
struct front;

/// Blocks of up to this many bytes are rounded to their class, and every block of a pool_stream's list fits. Larger ones are not
/// rounded, and the first in the list is looked at.
inline constexpr std::uint64_t largest_rounded = std::uint64_t{1} << 20;
/// Larger blocks go straight to the heap.
inline constexpr std::uint64_t largest_kept = std::uint64_t{256} << 20;
inline constexpr std::size_t pool_stream_classes = class_of(largest_kept / granule) + 1;

/// How many free blocks of a class a pool_stream keeps: 512 KiB of them, but at least 4 and at most 64.
[[nodiscard]] constexpr std::uint32_t most_kept(std::uint64_t bytes) noexcept {
  const std::uint64_t count = (std::uint64_t{512} << 10) / bytes;
  return static_cast<std::uint32_t>(count < 4 ? 4 : count > 64 ? 64 : count);
}

/// The same by class.
inline constexpr auto most_of_class = [] {
  std::array<std::uint8_t, pool_stream_classes> most{};
  for (std::uint64_t granules = 1; granules <= largest_kept / granule;) {
    most[class_of(granules)] = static_cast<std::uint8_t>(most_kept(granules * granule));
    granules = round_to_class(granules + 1);
  }
  return most;
}();

/// What a recording calls a stream, and the pool on it.
struct pool_stream_names {
  std::uint32_t generation = 0;  ///< the recording that has these, by number; 0: none
  std::uint64_t stream = 0, pool = 0;
  std::uint64_t pool_stream = 0;  ///< key of the `pool_stream_record` that the thread has sent; 0: it could not
};

/// What a front keeps of one stream.
struct pool_stream {
  struct bin {
    block* head = nullptr;
    std::uint32_t room = 0;    ///< for so many more
    std::uint32_t refill = 1;  ///< how many the heap gives at the next miss; doubles
  };

  pool_stream(front& of, std::uint64_t most_bytes) noexcept : owner(&of), room_bytes(most_bytes) {
    for (std::size_t at = 0; at < pool_stream_classes; ++at) bins[at].room = most_of_class[at];
  }

  front* owner;
  std::atomic<std::uint64_t> stream{0};  ///< changes under a claim, or by the owner with the pool's mutex held
  bool in_use = false;                   ///< false: its stream is gone, and another may have it
  std::uint64_t room_bytes;              ///< for blocks of so many more

  pool_stream_names names;  ///< the owner's alone

  [[nodiscard]] SLUICE_INLINE bool is_of(std::uint64_t s) const noexcept {
    return stream.load(std::memory_order_relaxed) == s;
  }

  std::array<bin, pool_stream_classes + 1> bins{};  ///< and one that stays empty
};

/// The kernel has a barrier for all threads; decided once, before the first front.
extern const bool barrier_for_all;

/// The bin of a pool_stream in which a block for `bytes` > 0 would be; `pool_stream_classes`, which stays empty, where none is kept.
[[nodiscard]] constexpr std::size_t bin_for(std::uint64_t bytes) noexcept {
  const std::uint64_t last = (bytes - 1) / granule;
  if (bytes <= largest_rounded) [[likely]]
    return class_that_holds(last + 1);
  return bytes <= largest_kept ? class_of(last + 1) : pool_stream_classes;
}

/// Counts of one thread's own. Sums over all fronts mean something; of a thread that frees what others allocated they are
/// negative.
struct front_counts {
  std::int64_t used = 0, requested = 0, blocks = 0;
  std::int64_t peak = 0;  ///< the most that `used` was
};

/// One thread's pool_streams of one pool. Cache lines of its own.
struct alignas(128) front {
  /// Why the owner cannot just go ahead.
  enum obstacle : std::uint8_t { none = 0, claimed = 1, needs_fence = 2 };

  std::atomic<std::uint64_t> sequence{0};  ///< odd while its owner is in a hit
  std::atomic<std::uint8_t> obstacles{barrier_for_all ? none : needs_fence};
  std::atomic<std::int64_t> used{0}, requested{0}, blocks{0}, peak{0};

  std::vector<std::unique_ptr<pool_stream>> pool_streams;  ///< changed and walked under the pool's mutex

  /// The owner begins a hit; `before` is for `leave`. False: the front is claimed, and nothing may be touched.
  [[nodiscard]] SLUICE_INLINE bool enter(std::uint64_t& before) noexcept {
    before = sequence.load(std::memory_order_relaxed);
    sequence.store(2 * before + 1, std::memory_order_relaxed);  // Odd and larger, whatever it was, in one instruction.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (obstacles.load(std::memory_order_acquire) != none) [[unlikely]] {
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (is_claimed()) return leave(before), false;
    }
    // What is written from here on is not seen before the odd sequence.
    std::atomic_thread_fence(std::memory_order_release);
    return true;
  }
  SLUICE_INLINE void leave(std::uint64_t before) noexcept { sequence.store(before + 2, std::memory_order_release); }
  /// Within a hit, or with the pool's mutex held: a block has gone to a caller.
  SLUICE_INLINE void count_given(std::uint64_t bytes, std::uint64_t asked) noexcept {
    collector::add_alone(used, static_cast<std::int64_t>(bytes));
    collector::add_alone(requested, static_cast<std::int64_t>(asked));
    collector::add_alone(blocks, 1);
    const std::int64_t now = used.load(std::memory_order_relaxed);
    if (now > peak.load(std::memory_order_relaxed)) [[unlikely]]
      peak.store(now, std::memory_order_relaxed);
  }
  /// The same: one has come back.
  SLUICE_INLINE void count_returned(std::uint64_t bytes, std::uint64_t asked) noexcept {
    collector::take_alone(used, static_cast<std::int64_t>(bytes));
    collector::take_alone(requested, static_cast<std::int64_t>(asked));
    collector::take_alone(blocks, 1);
  }
  [[nodiscard]] front_counts counts() const noexcept {
    return {used.load(std::memory_order_relaxed), requested.load(std::memory_order_relaxed),
            blocks.load(std::memory_order_relaxed), peak.load(std::memory_order_relaxed)};
  }

  [[nodiscard]] bool is_claimed() const noexcept { return (obstacles.load(std::memory_order_acquire) & claimed) != 0; }
  /// Who holds the pool's mutex says so.
  void set_claimed(bool it, std::memory_order order) noexcept {
    const unsigned others = obstacles.load(std::memory_order_relaxed) & ~unsigned{claimed};
    obstacles.store(static_cast<std::uint8_t>(it ? others | claimed : others), order);
  }
};

/// Holds fronts for as long as it lives. Their pool's mutex is held all the while.
class claim {
 public:
  explicit claim(std::span<const std::unique_ptr<front>> fronts) noexcept;
  /// As long as the limit allows to wait for their owners.
  claim(std::span<const std::unique_ptr<front>> fronts, const look_limit& limit) noexcept;
  ~claim();
  claim(const claim&) = delete;
  claim& operator=(const claim&) = delete;

  /// False: some owner did not leave its front in time.
  [[nodiscard]] bool held() const noexcept { return held_; }

 private:
  template <class GiveUp>
  [[nodiscard]] bool take(GiveUp&& give_up) noexcept;

  std::span<const std::unique_ptr<front>> fronts_;
  bool held_;
};

/// The sum over all fronts at one moment, if no owner was in a hit meanwhile: read twice, and the same both times. The pool's
/// mutex is held.
[[nodiscard]] bool collect(std::span<const std::unique_ptr<front>> fronts, front_counts& sum) noexcept;

/// The pool_streams that the calling thread used last, by pool and stream: one of the stream's hash and the pool's. It may belong to another
/// stream by now.
struct pool_stream_entry {
  const pool_core* core = nullptr;
  pool_stream* place = nullptr;  ///< `core`'s, if that is not null

  void set(const pool_core* of, pool_stream& l) noexcept {
    place = &l;
    core = of;
  }
  void forget() noexcept { core = nullptr; }
};
inline constexpr std::size_t pool_streams_remembered = stream_ref::hashes;
SLUICE_THREAD_LOCAL inline pool_stream_entry pool_streams_here[pool_streams_remembered]{};

}  // namespace sluice::runtime::pooling
