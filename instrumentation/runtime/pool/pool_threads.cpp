#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "instrumentation/runtime/device/device_state.hpp"
#include "instrumentation/runtime/pool/live_sets.hpp"
#include "instrumentation/runtime/pool/pool_core.hpp"
#include "instrumentation/runtime/pool/pool_inside.hpp"

// Threads and pools: a thread's fronts, and how it leaves them at its end.

namespace sluice::runtime::pooling {

namespace {
constinit thread_local inside* innermost = nullptr;
constinit thread_local bool cut_off = false;
}  // namespace

/// The fronts of one thread, of all pools.
struct thread_fronts {
  union {
    std::vector<std::pair<std::shared_ptr<pool_core>, front*>> all;  ///< left alone where the thread is cut off
  };
  static constinit thread_local bool ended;
  static constinit thread_local const thread_fronts* present;  ///< null: not made yet, or ended

  thread_fronts() : all() { present = this; }
  thread_fronts(const thread_fronts&) = delete;
  thread_fronts& operator=(const thread_fronts&) = delete;
  ~thread_fronts() {
    ended = true;  // Destructors of other objects may still free: straight to the heap.
    for (lane_entry& entry : lanes_here) entry.forget();
    present = nullptr;
    cut_off = cut_off || innermost != nullptr || in_a_hit();
    if (cut_off) return;
    for (auto& [core, f] : all) core->leave(f);
    std::destroy_at(&all);
  }

  /// And so it is in a signal handler: nothing is called from there.
  [[nodiscard]] bool in_a_hit() const noexcept {
    return std::any_of(all.begin(), all.end(), [](const auto& entry) {
      return entry.second->sequence.load(std::memory_order_relaxed) % 2 != 0;
    });
  }

  /// Pools that are gone were kept for their fronts alone.
  void forget_closed() noexcept {
    std::erase_if(all, [](const auto& entry) {
      const pool_core* core = entry.first.get();
      if (!core->closed_.load(std::memory_order_acquire)) return false;
      for (lane_entry& here : lanes_here) {
        if (here.core == core) here.forget();
      }
      return true;
    });
  }
};
constinit thread_local bool thread_fronts::ended = false;
constinit thread_local const thread_fronts* thread_fronts::present = nullptr;

namespace {

thread_local thread_fronts of_this_thread;

void come_in(inside& here) noexcept {
  // Whoever is inside has fronts, and be it none: their end is where it shows that the program ends.
  if (!thread_fronts::ended) (void)of_this_thread.all.size();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  innermost = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// A thread that is at its fronts excludes all: the last of these looks at none that change.
bool waits_for_itself(const std::mutex& needed) noexcept {
  for (const inside* at = innermost; at != nullptr; at = at->outer()) {
    if (at->excludes(needed)) return true;
  }
  return thread_fronts::present != nullptr && thread_fronts::present->in_a_hit();
}

}  // namespace

bool is_cut_off() noexcept { return cut_off; }

bool is_cut_off(const std::mutex& needed) noexcept {
  cut_off = cut_off || waits_for_itself(needed);
  return cut_off;
}

bool holds(const std::mutex& mutex) noexcept {
  for (const inside* at = innermost; at != nullptr; at = at->outer()) {
    if (at->holds(mutex)) return true;
  }
  return false;
}

inside::inside() noexcept : outer_(innermost) { come_in(*this); }

inside::inside(const std::mutex& mutex, guards what) noexcept : mutex_(&mutex), what_(what), outer_(innermost) {
  come_in(*this);
}

inside::~inside() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  innermost = outer_;
}

inside& inside::of(const std::mutex& mutex) noexcept {
  inside* at = innermost;
  while (at->mutex_ != &mutex) at = at->outer_;
  return *at;
}

pool_lock::pool_lock(std::mutex& mutex, const look_limit& limit, guards what)
    : here_(mutex, what), lock_(limit.lock(mutex)) {
  here_.set_holds(lock_.owns_lock());
}

front* pool_core::front_here() {
  if (thread_fronts::ended) return nullptr;
  const inside here;
  auto& mine = of_this_thread.all;
  for (auto& [core, f] : mine) {
    if (core.get() == this) return f;
  }
  of_this_thread.forget_closed();
  mine.reserve(mine.size() + 1);
  auto made = std::make_unique<front>();
  front* f = made.get();
  {
    const pool_lock lock(mutex_);
    fronts_.push_back(std::move(made));
  }
  mine.emplace_back(shared_from_this(), f);
  return f;
}

void pool_core::leave(front* f) noexcept {
  // Nobody else can ask about the thread's own stream of the driver's, should it have one.
  constexpr backend::stream_handle per_thread{detail::driver_per_thread};
  if (streams().is_per_thread(per_thread)) retire(streams().identity_of(per_thread));
  const pool_lock lock(mutex_);
  for (const auto& l : f->lanes) drain(*l);
  const front_counts c = f->counts();
  gone_.used += c.used;
  gone_.requested += c.requested;
  gone_.blocks += c.blocks;
  gone_.peak += c.peak;
  std::erase_if(fronts_, [&](const auto& other) { return other.get() == f; });
}

}  // namespace sluice::runtime::pooling
