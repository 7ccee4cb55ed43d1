#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "instrumentation/runtime/device/device_state.hpp"
#include "instrumentation/runtime/pool/live_sets.hpp"
#include "instrumentation/runtime/pool/pool_core.hpp"

// Connects threads and pools: a thread's fronts, and their release at thread exit.

namespace sluice::runtime::pooling {

/// The fronts of one thread in all pools.
struct thread_fronts {
  std::vector<std::pair<std::shared_ptr<pool_core>, front*>> all;
  static constinit thread_local bool ended;

  thread_fronts() = default;
  thread_fronts(const thread_fronts&) = delete;
  thread_fronts& operator=(const thread_fronts&) = delete;
  ~thread_fronts() {
    ended = true;  // Destructors of other objects may still free blocks, which then go directly to the heap.
    for (pool_stream_entry& entry : pool_streams_here) entry.forget();
    for (auto& [core, f] : all) core->leave(f);
  }

  /// Removes fronts of closed pools, which only this object still keeps alive.
  void forget_closed() noexcept {
    std::erase_if(all, [](const auto& entry) {
      const pool_core* core = entry.first.get();
      if (!core->closed_.load(std::memory_order_acquire)) return false;
      for (pool_stream_entry& here : pool_streams_here) {
        if (here.core == core) here.forget();
      }
      return true;
    });
  }
};
constinit thread_local bool thread_fronts::ended = false;

namespace {

thread_local thread_fronts of_this_thread;

}  // namespace

front* pool_core::front_here() {
  if (thread_fronts::ended) return nullptr;
  auto& mine = of_this_thread.all;
  for (auto& [core, f] : mine) {
    if (core.get() == this) return f;
  }
  of_this_thread.forget_closed();
  mine.reserve(mine.size() + 1);
  auto made = std::make_unique<front>();
  front* f = made.get();
  {
    const std::lock_guard lock(mutex_);
    fronts_.push_back(std::move(made));
  }
  mine.emplace_back(shared_from_this(), f);
  return f;
}

void pool_core::leave(front* f) noexcept {
  // Only this thread can wait for its own per-thread stream of the driver, if it uses that stream.
  constexpr backend::stream_handle per_thread{detail::driver_per_thread};
  if (streams().is_per_thread(per_thread)) retire(streams().identity_of(per_thread));
  const std::lock_guard lock(mutex_);
  for (const auto& l : f->pool_streams) drain(*l);
  const front_counts c = f->counts();
  gone_.used += c.used;
  gone_.requested += c.requested;
  gone_.blocks += c.blocks;
  gone_.peak += c.peak;
  std::erase_if(fronts_, [&](const auto& other) { return other.get() == f; });
}

}  // namespace sluice::runtime::pooling
