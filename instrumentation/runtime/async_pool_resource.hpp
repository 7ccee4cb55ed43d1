#pragma once

#include <cstdint>

#include "instrumentation/runtime/memory_resource.hpp"

namespace sluice::runtime {

/// State of a driver pool, in bytes: reserved and used memory now, the peaks of both
/// since the pool was created or since reset_peaks(), and the release threshold.
using async_pool_stats = backend::driver_pool_info;

struct async_pool_options {
  std::uint64_t max_bytes = 0;  ///< upper limit of reserved memory; 0: no limit. Needs a CUDA 12.2 driver or later
  /// At each synchronization of a stream or the device, the pool returns unused bytes above this threshold to the
  /// device. With 0 it returns all of them, like the driver's default pool; with the maximum value it returns none.
  std::uint64_t release_threshold = 0;
};

/// A memory resource on top of a driver pool of its own (cuMemPoolCreate). The pool is stream-ordered, and separate
/// from the device's default pool, which async_memory_resource uses. The class is thread-safe. Each operation costs one
/// driver call.
class async_pool_resource final : public memory_resource {
 public:
  /// Creates the pool. Throws error, for example if the device does not support driver pools.
  explicit async_pool_resource(const device_ref& device = current_device(), async_pool_options options = {});
  /// Blocks that are still allocated stay usable; the pool's memory is released when the last of them is freed.
  ~async_pool_resource() override;

  /// Queries the driver for the pool's current state. Throws error on failure.
  [[nodiscard]] async_pool_stats stats() const;
  /// Sets the peaks of `stats` to the current values. Throws error on failure.
  void reset_peaks();
  /// Sets a new threshold: see async_pool_options::release_threshold. Throws error on failure.
  void set_release_threshold(std::uint64_t bytes);
  /// Returns unused memory to the device, but keeps at least `keep_bytes` reserved. Memory whose stream-ordered
  /// free has not completed stays in the pool. Returns the number of bytes released. Throws error on failure.
  std::uint64_t trim(std::uint64_t keep_bytes = 0);
  /// The driver's pool handle (CUmemoryPool).
  [[nodiscard]] std::uintptr_t get() const noexcept { return static_cast<std::uintptr_t>(pool_); }

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  backend::pool_handle pool_;
};
static_assert(stream_ordered_resource<async_pool_resource>);

}  // namespace sluice::runtime
