#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "instrumentation/collector/hot.hpp"
#include "instrumentation/runtime/pool_heap.hpp"

// A thread's own part of a pool: free blocks that it may take and leave without a lock and without writing to a line that
// another thread writes. Internal.
//
// Who holds the pool's mutex may claim fronts, to drain them or to read them all at one moment. The owner announces itself by
// a plain store and looks for a claim; the one who claims makes that order hold for both by a barrier in every running
// thread of the process (membarrier(2)), so that only the rare side pays for it: the asymmetric form of Dekker's exclusion,
// as in biased locks. Where the kernel has no such barrier the owner pays with a fenced exchange.

namespace sluice::runtime {
class look_limit;
}

namespace sluice::runtime::pooling {

class pool_core;
struct front;

/// Blocks of up to this many bytes are rounded to their class, and every block of a lane's list fits. Larger ones are not
/// rounded, and the first in the list is looked at.
inline constexpr std::uint64_t largest_rounded = std::uint64_t{1} << 20;
/// Larger blocks go straight to the heap.
inline constexpr std::uint64_t largest_kept = std::uint64_t{256} << 20;
inline constexpr std::size_t lane_classes = class_of(largest_kept / granule) + 1;

/// How many free blocks of a class a lane keeps: 512 KiB of them, but at least 4 and at most 64.
[[nodiscard]] constexpr std::uint32_t most_kept(std::uint64_t bytes) noexcept {
  const std::uint64_t count = (std::uint64_t{512} << 10) / bytes;
  return static_cast<std::uint32_t>(count < 4 ? 4 : count > 64 ? 64 : count);
}

/// What a recording calls a stream, and the pool on it.
struct lane_names {
  std::uint32_t generation = 0;  ///< the recording that has these, by number; 0: none
  std::uint64_t stream = 0, pool = 0;
  std::uint64_t lane = 0;  ///< key of the `lane_record` that the thread has sent; 0: it could not
};

/// What a front keeps of one stream.
struct lane {
  struct bin {
    block* head = nullptr;
    std::uint32_t count = 0;
    std::uint32_t refill = 1;  ///< how many the heap gives at the next miss; doubles
  };

  front* owner = nullptr;
  std::atomic<std::uint64_t> stream{0};  ///< changes under a claim, or by the owner with the pool's mutex held
  bool in_use = false;                   ///< false: its stream is gone, and another may have it
  std::uint64_t kept_bytes = 0;

  lane_names names;  ///< the owner's alone

  [[nodiscard]] SLUICE_INLINE bool is_of(std::uint64_t s) const noexcept {
    return stream.load(std::memory_order_relaxed) == s;
  }

  std::array<bin, lane_classes> bins{};
};

/// Counts of one thread's own. Sums over all fronts mean something; of a thread that frees what others allocated they are
/// negative.
struct front_counts {
  std::int64_t used = 0, requested = 0, blocks = 0;
  std::int64_t peak = 0;  ///< the most that `used` was
};

/// One thread's lanes of one pool. Cache lines of its own.
struct alignas(128) front {
  std::atomic<std::uint64_t> sequence{0};  ///< odd while its owner is in a hit
  std::atomic<bool> claimed{false};
  std::atomic<std::int64_t> used{0}, requested{0}, blocks{0}, peak{0};

  std::vector<std::unique_ptr<lane>> lanes;  ///< changed and walked under the pool's mutex

  /// The owner begins a hit; `before` is for `leave`. False: the front is claimed, and nothing may be touched. Odd stays odd: in a
  /// signal handler that interrupted a hit and ends the program.
  [[nodiscard]] SLUICE_INLINE bool enter(std::uint64_t& before) noexcept;
  SLUICE_INLINE void leave(std::uint64_t before) noexcept { sequence.store(before + 2, std::memory_order_release); }
  /// Within a hit, or with the pool's mutex held: a block has gone to a caller, or has come back.
  SLUICE_INLINE void count(std::int64_t bytes, std::int64_t asked, std::int64_t sign) noexcept {
    const std::int64_t now = used.load(std::memory_order_relaxed) + sign * bytes;
    used.store(now, std::memory_order_relaxed);
    requested.store(requested.load(std::memory_order_relaxed) + sign * asked, std::memory_order_relaxed);
    blocks.store(blocks.load(std::memory_order_relaxed) + sign, std::memory_order_relaxed);
    if (sign > 0 && now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
  }
  [[nodiscard]] front_counts counts() const noexcept {
    return {used.load(std::memory_order_relaxed), requested.load(std::memory_order_relaxed),
            blocks.load(std::memory_order_relaxed), peak.load(std::memory_order_relaxed)};
  }
};

/// The kernel has a barrier for all threads; decided once, before the first front.
extern const bool barrier_for_all;

SLUICE_INLINE bool front::enter(std::uint64_t& before) noexcept {
  before = sequence.load(std::memory_order_relaxed);
  const std::uint64_t entered = 2 * before + 1;  // Odd and larger, whatever it was, in one instruction.
  if (barrier_for_all) [[likely]] {
    sequence.store(entered, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    sequence.exchange(entered, std::memory_order_seq_cst);
  }
  if (claimed.load(std::memory_order_acquire)) [[unlikely]] {
    leave(before);
    return false;
  }
  // What is written from here on is not seen before the odd sequence.
  std::atomic_thread_fence(std::memory_order_release);
  return true;
}

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

/// The lanes that the calling thread used last, by pool and stream. One that is here may belong to another stream by now.
struct lane_entry {
  const pool_core* core = nullptr;
  lane* place = nullptr;
};
inline constexpr std::size_t lanes_remembered = 8;
SLUICE_THREAD_LOCAL inline lane_entry lanes_here[lanes_remembered]{};

[[nodiscard]] SLUICE_INLINE lane_entry& lane_here(const pool_core* core, std::uint64_t stream) noexcept {
  // A multiplication mixes handles that differ in a few bits only (Fibonacci hashing, Knuth vol. 3, 6.4).
  const std::uint64_t mixed = (stream ^ reinterpret_cast<std::uintptr_t>(core)) * 0x9E3779B97F4A7C15u;
  return lanes_here[mixed >> 61];
}

}  // namespace sluice::runtime::pooling
