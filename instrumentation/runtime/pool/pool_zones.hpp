#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "instrumentation/backend/device.hpp"
#include "instrumentation/runtime/device.hpp"
#include "instrumentation/runtime/pool/pool_arena.hpp"
#include "instrumentation/runtime/pool/pool_heap.hpp"
#include "instrumentation/runtime/stream.hpp"

// Waiting for the streams on which blocks were freed, so that other streams may take the blocks. This header is
// internal.

namespace sluice::runtime::pooling {

/// Releases a mutex during its lifetime, for calls that may use the pool, wait for other threads, or throw.
class without_mutex {
 public:
  /// `mutex`: held by the caller; null: nothing is released.
  explicit without_mutex(std::mutex* mutex) : mutex_(mutex) {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  ~without_mutex() {
    if (mutex_ != nullptr) mutex_->lock();
  }
  without_mutex(const without_mutex&) = delete;
  without_mutex& operator=(const without_mutex&) = delete;

 private:
  std::mutex* mutex_;
};

/// Moves free blocks between the zones of a pool's heap. A block may move to another zone only when the work on the
/// stream that freed it is done, or when the other stream waits for that work.
///
/// Some streams cannot be queried or waited for: a stream that is being captured, and the default stream if it
/// synchronizes with such a stream. That would break the capture. Only such a stream itself may reuse its freed blocks.
/// No capture may begin between the check and the query. A wait takes long, so it uses an event, which a later capture
/// does not affect.
///
/// Every function needs the pool's mutex to be held.
class pool_zones {
 public:
  /// `mutex` is the pool's; long waits release it.
  pool_zones(const device_ref& device, pool_heap& heap, capture_arenas& arenas, std::mutex& mutex)
      : device_(device), heap_(heap), arenas_(arenas), mutex_(mutex) {}

  /// The zone of blocks whose streams ended but could not be waited for.
  [[nodiscard]] zone& withheld() noexcept { return heap_.find_zone(no_stream); }
  /// The zone for a block that was freed on `stream`. If there is no memory for a zone, waits for the stream.
  [[nodiscard]] zone& zone_or_wait(std::uint64_t stream) noexcept;
  /// Moves the free blocks of `old` to `to`; blocks that graphs hold go there when the graph is destroyed.
  void retag(zone& old, zone& to) noexcept;

  /// Makes the blocks of idle streams free for every stream.
  void clean_idle_streams();
  /// Makes `stream` wait for the other streams, and gives it their blocks.
  void steal(const stream_ref& stream);
  /// Waits for a stream. Returns false if the wait failed.
  [[nodiscard]] bool wait_for(std::uint64_t stream) noexcept;
  /// Waits for the streams of these zones, without the mutex. Other threads continue meanwhile; work that they add to
  /// these streams is not waited for.
  void wait_without_mutex(const std::vector<zone*>& zones) noexcept;
  /// Waits for all streams with free blocks; then every stream may use the blocks. Releases the mutex during most of
  /// the wait.
  void wait_for_streams() noexcept;

 private:
  /// True if the stream cannot be queried or waited for now. The result cannot change while a `captures_held_off`
  /// exists.
  [[nodiscard]] bool is_out_of_reach(std::uint64_t stream) const noexcept;
  /// An event after all work now enqueued on the stream. Null if the stream is out of reach or the device has failed.
  [[nodiscard]] backend::event_handle event_behind(std::uint64_t stream) noexcept;
  [[nodiscard]] const device_state& streams() const noexcept { return *device_.state(); }

  device_ref device_;
  pool_heap& heap_;
  capture_arenas& arenas_;
  std::mutex& mutex_;
};

}  // namespace sluice::runtime::pooling
