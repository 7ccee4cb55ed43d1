#pragma once

#include <cstdint>

#include "instrumentation/runtime/memory_resource.hpp"

namespace sluice::runtime {

/// What one of the driver's pools holds, in bytes: reserved and used now, the most of each since the pool was made or its peaks
/// were reset, and its release threshold.
using async_pool_stats = backend::driver_pool_info;

struct async_pool_options {
  std::uint64_t max_bytes = 0;  ///< the pool never reserves more; 0: no limit. Needs a driver of CUDA 12.2 or later
  /// Unused bytes beyond this go back to the device whenever a stream or the device is synchronised. 0 gives all of them
  /// back, as the driver's own pool does; the greatest number keeps all.
  std::uint64_t release_threshold = 0;
};

/// A pool of the driver's, of one's own (cuMemPoolCreate): stream-ordered, and apart from the device's default pool, from which
/// async_memory_resource takes. Thread-safe. A call of the driver an operation.
class async_pool_resource final : public memory_resource {
 public:
  /// Throws error where the device has no such pools.
  explicit async_pool_resource(const device_ref& device = current_device(), async_pool_options options = {});
  /// Blocks that are still allocated stay usable; the pool's memory goes with the last of them.
  ~async_pool_resource() override;

  /// Throws error.
  [[nodiscard]] async_pool_stats stats() const;
  /// The highs become what is reserved and used now. Throws error.
  void reset_peaks();
  /// Throws error.
  void set_release_threshold(std::uint64_t bytes);
  /// Gives unused memory back to the device while at least `keep_bytes` stay reserved. Memory whose free has not come to its
  /// turn on its stream stays. Returns the bytes given back. Throws error.
  std::uint64_t trim(std::uint64_t keep_bytes = 0);
  /// The driver's handle.
  [[nodiscard]] std::uintptr_t get() const noexcept { return static_cast<std::uintptr_t>(pool_); }

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  backend::pool_handle pool_;
};
static_assert(stream_ordered_resource<async_pool_resource>);

}  // namespace sluice::runtime
