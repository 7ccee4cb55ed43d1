#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "instrumentation/runtime/pool/pool_core.hpp"
#include "instrumentation/runtime/recording/live_sets.hpp"
#include "instrumentation/runtime/state/device_state.hpp"

// Connects threads and pools: a thread's fronts, and their release at thread exit.

namespace sluice::runtime::pooling {

/// The fronts of one thread in all pools.
struct thread_fronts {
  std::vector<std::pair<std::shared_ptr<pool_core>, front*>> fronts;
  static constinit thread_local bool ended;

  thread_fronts() = default;
  thread_fronts(const thread_fronts&) = delete;
  thread_fronts& operator=(const thread_fronts&) = delete;
  ~thread_fronts() {
    ended = true;  // Destructors of other objects may still free blocks, which then go directly to the heap.
    for (pool_stream_entry& here : pool_streams_here) here.forget();
    for (auto& [core, f] : fronts) core->leave(f);
  }

  /// Removes fronts of closed pools, which only this object still keeps alive.
  void forget_closed() noexcept {
    std::erase_if(fronts, [](const auto& front_of_pool) {
      const pool_core& core = *front_of_pool.first;
      if (!core.is_closed()) return false;
      for (pool_stream_entry& here : pool_streams_here) {
        if (here.pool == &core.fronts()) here.forget();
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
  auto& mine = of_this_thread.fronts;
  for (auto& [core, f] : mine) {
    if (core.get() == this) return f;
  }
  of_this_thread.forget_closed();
  mine.reserve(mine.size() + 1);
  auto created = std::make_unique<front>();
  front* f = created.get();
  {
    const std::lock_guard lock(mutex_);
    fronts_.add(std::move(created));
  }
  mine.emplace_back(shared_from_this(), f);
  return f;
}

void pool_core::leave(front* f) noexcept {
  // Only this thread can wait for its own per-thread stream of the driver, if it uses that stream.
  constexpr backend::stream_handle per_thread{detail::driver_per_thread};
  const device_state& streams = *device_.state();
  if (streams.is_per_thread(per_thread)) retire(streams.identify_recording(per_thread));
  const std::lock_guard lock(mutex_);
  fronts_.remove(f);
}

}  // namespace sluice::runtime::pooling
