#pragma once

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/protocol.hpp"
#include "instrumentation/ring/ring.hpp"

/// What the producer keeps in a recorded process. Private to producer.cpp, producer_rings.cpp and producer_emit.hpp.
namespace sluice::collector::detail {

/// Where rings go, as `start` was told.
struct connection {
  door to{};
  clock_kind clock = clock_kind::tsc;
  std::size_t ring_bytes = 0;
  std::int64_t rank = -1;
};

inline constexpr std::size_t text_slots = std::size_t{1} << 16;
inline constexpr std::size_t stack_slots = std::size_t{1} << 17;

/// Everything that the child of a fork must forget, in a mapping that the kernel wipes in a child (MADV_WIPEONFORK):
/// that holds for a raw clone too, and checking it costs the one load that `emit` does anyway.
struct forgetful {
  std::atomic<std::uint32_t> epoch;  ///< Number of the connection in force. 0: none, or we are a new child.
  std::atomic<std::uint32_t> lock;  ///< Guards `connection` and the unmapping of rings; never held across a system call
                                    ///< that can wait.
  std::atomic<std::uint64_t> ringless_events;  ///< Lost by threads that had no ring, before there was an account.
  std::atomic<std::uint64_t> ringless_memory_events;
  /// Where such losses are counted once there is a ring: a second view of the first one's header, which stays mapped. Null: none yet.
  std::atomic<ring_header*> account;
  alignas(64) std::atomic<std::uint64_t> texts[text_slots];    ///< Keys this process has sent; 0: free.
  alignas(64) std::atomic<std::uint64_t> stacks[stack_slots];  ///< The same of stacks and frames.
};

enum class slot_state : std::uint32_t { empty, changing, owned, idle };

/// One ring of this process. `state` says who may touch the rest: the owner while `owned`, the one who set it while
/// `changing`, nobody while `idle`.
struct alignas(64) ring_slot {
  ring_producer ring;  ///< First: what each record needs of it is one line.
  std::atomic<slot_state> state{slot_state::empty};
  std::atomic<std::uint32_t> epoch{0};
  std::size_t mapped_bytes = 0;
  std::uint64_t tid = 0;  ///< The thread that the ring's records belong to, as the reader knows it; 0: none yet.
  char name[16] = {};
};
inline constexpr std::size_t maximum_rings = 4096;

/// A thread's own state; constant-initialised, so that touching it first costs nothing.
struct thread_state {
  std::uint32_t epoch = no_epoch;  ///< The connection `slot` belongs to and is introduced in; or `in_emit`.
  std::uint32_t lineage = 0;       ///< The process `slot` belongs to: grows with each fork.
  ring_slot* slot = nullptr;
  std::uint32_t wait = 0;  ///< Records to drop before trying again to make a ring.
  bool ended = false;      ///< The thread's own destructor has run.

  static constexpr std::uint32_t no_epoch = ~std::uint32_t{0};
  static constexpr std::uint32_t in_emit = no_epoch - 1;  ///< A record is being written: a signal handler must not.
};

/// Leaves errno as it was.
class errno_keeper {
 public:
  errno_keeper() : saved_(errno) {}
  ~errno_keeper() { errno = saved_; }
  errno_keeper(const errno_keeper&) = delete;
  errno_keeper& operator=(const errno_keeper&) = delete;

 private:
  int saved_;
};

/// No signal handler runs on this thread meanwhile.
class signals_held {
 public:
  signals_held() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved_);
  }
  ~signals_held() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  signals_held(const signals_held&) = delete;
  signals_held& operator=(const signals_held&) = delete;

 private:
  sigset_t saved_;
};

/// A lock for what happens once a thread or a connection; in `forgetful`, so that a child finds it open.
class region_lock {
 public:
  explicit region_lock(forgetful& region) noexcept;
  ~region_lock();
  region_lock(const region_lock&) = delete;
  region_lock& operator=(const region_lock&) = delete;

 private:
  forgetful& region_;
};

enum class ring_made : std::uint8_t { yes, later, writer_gone };

/// Makes a ring and sends it to the writer. `slot` is ours and empty (`changing`). `why` is set unless it is made. Changes errno.
[[nodiscard]] ring_made make_ring(ring_slot& slot, const connection& to, no_ring_reason& why) noexcept;

/// A second view of `ring`'s header at `view` (null: at any place), which outlives the ring's own mapping; null if there is no memory.
[[nodiscard]] void* view_account(ring_header* ring, void* view) noexcept;

/// Leaves a note for a writer that no ring of this process reaches, in place of an earlier one. Needs no descriptor.
void leave_note(const connection& to, no_ring_reason why, std::uint64_t events, std::uint64_t memory_events) noexcept;
/// There is a ring after all, which counts what the note said.
void take_note_back(const connection& to) noexcept;

/// Returns the ring's memory. `slot` is ours (`changing`).
void unmap_ring(ring_slot& slot) noexcept;

/// Knocks at the writer's door, which makes it drain at once. False if nobody is there any more. Never waits: some 10 us.
bool wake_writer(const connection& to) noexcept;

/// Tells the reader whose records follow, if it does not know yet. False: no room.
bool introduce_thread(ring_slot& slot) noexcept;

[[nodiscard]] std::uint64_t hash_text(const char* text, std::size_t length) noexcept;

/// Never 0. Four at a time, so that a word does not wait for the one before it: 0.8 ns a word.
[[nodiscard]] std::uint64_t hash_words(const std::uint64_t* words, std::size_t count, std::uint64_t seed) noexcept;

/// The key of a pool_stream: what its record says.
[[nodiscard]] std::uint64_t pool_stream_key(const pool_stream_record& pool_stream) noexcept;

}  // namespace sluice::collector::detail
