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

/// The state of the producer, the part of a recorded process that writes records into rings. Only producer.cpp,
/// producer_rings.cpp and producer_emit.hpp use this header.
namespace sluice::ring::detail {

/// The destination of rings, set by `start`.
struct connection {
  writer_address to{};
  clock_kind clock = clock_kind::tsc;
  std::size_t ring_bytes = 0;
  std::int64_t rank = -1;
};

inline constexpr std::size_t text_slots = std::size_t{1} << 16;
inline constexpr std::size_t stack_slots = std::size_t{1} << 17;

/// State that a forked child must forget. It is in a mapping that the kernel clears in the child (MADV_WIPEONFORK). The
/// kernel does so for a raw clone too, and the check whether the state was cleared costs only the load that `emit`
/// needs anyway.
struct fork_wiped_state {
  std::atomic<std::uint32_t> epoch;  ///< Number of the current connection; 0: no connection, or a new child.
  std::atomic<std::uint32_t> lock;   ///< Guards `connection` and the unmapping of rings. Never held during a system
                                     ///< call that can block.
  std::atomic<std::uint64_t> ringless_events;  ///< Events lost by threads without a ring, before `account` was set.
  std::atomic<std::uint64_t> ringless_memory_events;
  /// Counts losses of ringless threads: a second, permanent mapping of the first ring's header; null until there is a
  /// ring.
  std::atomic<ring_header*> account;
  alignas(64) std::atomic<std::uint64_t> texts[text_slots];    ///< Keys of texts this process has sent; 0: free.
  alignas(64) std::atomic<std::uint64_t> stacks[stack_slots];  ///< Keys of stacks and frames it has sent; 0: free.
};

enum class slot_state : std::uint32_t { empty, changing, owned, idle };

/// One ring of this process. `state` determines which thread may access the other members. `owned`:
/// the owning thread. `changing`: the thread that set this state. `idle`: no thread.
struct alignas(64) ring_slot {
  ring_producer ring;  ///< First, so that the members that each record needs share one cache line.
  std::atomic<slot_state> state{slot_state::empty};
  std::atomic<std::uint32_t> epoch{0};
  std::size_t mapped_bytes = 0;
  std::uint64_t tid = 0;     ///< Thread that the reader assigns the records to; 0: none yet.
  bool of_recorder = false;  ///< True if the reader knows that the thread belongs to the recorder.
  char name[16] = {};
};
inline constexpr std::size_t maximum_rings = 4096;

/// State of one thread. Constant-initialized, so the first access costs nothing extra.
struct thread_state {
  std::uint32_t epoch = no_epoch;  ///< Connection to which `slot` belongs; or `in_emit`.
  std::uint32_t lineage = 0;       ///< Process to which `slot` belongs: incremented at each fork.
  ring_slot* slot = nullptr;
  std::uint32_t wait = 0;  ///< Number of records to drop before trying again to make a ring.
  bool ended = false;      ///< True after the thread's destructor has run.

  static constexpr std::uint32_t no_epoch = ~std::uint32_t{0};
  static constexpr std::uint32_t in_emit = no_epoch - 1;  ///< A record is being written: signal handlers write none.
};

/// Restores errno at the end of the scope.
class errno_keeper {
 public:
  errno_keeper() : saved_(errno) {}
  ~errno_keeper() { errno = saved_; }
  errno_keeper(const errno_keeper&) = delete;
  errno_keeper& operator=(const errno_keeper&) = delete;

 private:
  int saved_;
};

/// Blocks all signals on this thread for a scope.
class signals_held {
 public:
  signals_held() {
    sigset_t whole;
    sigfillset(&whole);
    pthread_sigmask(SIG_SETMASK, &whole, &saved_);
  }
  ~signals_held() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  signals_held(const signals_held&) = delete;
  signals_held& operator=(const signals_held&) = delete;

 private:
  sigset_t saved_;
};

/// A lock for rare operations (once per thread or connection). It uses a word in `fork_wiped_state`, so a forked child
/// finds it unlocked.
class region_lock {
 public:
  explicit region_lock(fork_wiped_state& region) noexcept;
  ~region_lock();
  region_lock(const region_lock&) = delete;
  region_lock& operator=(const region_lock&) = delete;

 private:
  fork_wiped_state& region_;
};

enum class ring_made : std::uint8_t { yes, later, writer_gone };

/// Makes a ring and sends it to the writer. `slot` must be empty and `changing`. Sets `why` on failure. Changes errno.
[[nodiscard]] ring_made make_ring(ring_slot& slot, const connection& to, no_ring_reason& why) noexcept;

/// Maps `ring`'s header a second time, at `view` (null: at any address). This mapping outlives the ring's own. Returns
/// null if there is no memory.
[[nodiscard]] void* view_account(ring_header* ring, void* view) noexcept;

/// Leaves a note (see `note_prefix`) for the writer, because no ring can reach the writer. Replaces an earlier note.
/// Opens no file descriptor.
void leave_note(const connection& to, no_ring_reason why, std::uint64_t events, std::uint64_t memory_events) noexcept;
/// Removes the note, because a ring now reports the losses in the note.
void take_note_back(const connection& to) noexcept;

/// Unmaps the ring's memory. `slot` must be `changing`.
void unmap_ring(ring_slot& slot) noexcept;

/// Makes the writer drain the rings immediately, by connecting to it. Returns false if the writer is gone. Takes about
/// 10 us and does not wait for the writer.
bool wake_writer(const connection& to) noexcept;

/// Writes a `thread_record` if the thread or its name differs from the ring's last `thread_record`. Returns false if
/// there is no space.
bool introduce_thread(ring_slot& slot) noexcept;

/// The place where `key` is stored once it has been sent. Null if the table has no free place near the key's hash; the
/// key is then sent at every use.
template <std::size_t size>
[[nodiscard]] std::atomic<std::uint64_t>* get_place(std::atomic<std::uint64_t> (&sent)[size],
                                                    std::uint64_t key) noexcept {
  constexpr std::size_t probes = 16;
  for (std::size_t i = 0; i < probes; ++i) {
    std::atomic<std::uint64_t>& place = sent[(key + i) % size];
    const std::uint64_t found = place.load(std::memory_order_relaxed);
    if (found == 0 || found == key) return &place;
  }
  return nullptr;
}

/// Stores a key. Call only after the key's record was sent, because other threads then rely on the record. Two threads
/// may both send the same record.
inline void note_sent(std::atomic<std::uint64_t>* place, std::uint64_t key) noexcept {
  std::uint64_t free_place = 0;
  if (place != nullptr) place->compare_exchange_strong(free_place, key, std::memory_order_relaxed);
}

[[nodiscard]] std::uint64_t hash_text(const char* text, std::size_t length) noexcept;

/// A hash that is never 0. Processes four words in parallel, so that the multiplications do not wait for each other:
/// 0.8 ns per word.
[[nodiscard]] std::uint64_t hash_words(const std::uint64_t* words, std::size_t count, std::uint64_t seed) noexcept;

/// The key of a pool_stream: a hash of its record.
[[nodiscard]] std::uint64_t pool_stream_key(const pool_stream_record& pool_stream) noexcept;

}  // namespace sluice::ring::detail
