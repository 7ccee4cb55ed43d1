#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "instrumentation/runtime/memory_resource.hpp"

namespace sluice::runtime {

namespace pooling {
class pool_core;
struct block;
struct pool_stream;
}  // namespace pooling

struct pool_options {
  std::uint64_t limit_bytes = 0;  ///< hard limit on reserved bytes; 0: no limit
  double limit_fraction = 0;      ///< limit as a fraction of the device's memory, 0 to 1; the lower limit applies
  std::uint64_t growth_bytes = 32u << 20;  ///< minimum number of bytes to request from upstream
  std::uint64_t initial_bytes = 0;         ///< bytes to reserve in the constructor
  /// Maximum number of free bytes that a thread caches per stream. 0 means 64 MiB, or less on small devices or with low
  /// limits.
  std::uint64_t front_bytes = 0;
  /// Lets other processes import the pool's memory. The pool then allocates by cuMemAlloc (upstream), not by mapping.
  bool ipc_capable = false;
  std::string name = "pool";  ///< shown in recordings and error messages
};

/// A stream-ordered memory pool on top of another resource.
///
/// Each thread has a front, a cache with a few free blocks per stream, sorted by size. Reallocating a block that the
/// thread freed on the same stream takes no lock and writes no memory that other threads write. Behind the fronts is
/// one heap with a mutex and free lists by size; it splits and merges blocks in O(1). Sizes up to 1 MiB are rounded up
/// by at most 1/8. Larger sizes are rounded up to multiples of 512 bytes.
///
/// On top of a device_memory_resource, if the device supports virtual memory, the pool maps its
/// segments side by side into one address range, so that free memory of several segments can serve
/// one large block. Otherwise, and with `ipc_capable`, each segment is a separate upstream block.
///
/// A freed block can be reused on the same stream immediately, without waiting. For another stream the
/// pool tries, in this order: blocks of idle streams; blocks in other threads' fronts; new memory;
/// and, if the limit or the device refuses that, blocks of busy streams, after making the requesting
/// stream wait for an event behind their work. So streams wait for each other only when memory is short.
///
/// A pool of pinned or managed memory is different, because the host writes to it without regard to
/// streams. It reuses a block only once the stream that freed it is idle, even for the same stream.
/// It queries the streams at each allocation, takes new memory while they are busy, and waits for
/// them if the limit forbids that. It has no fronts, and in a capture it uses each block only once.
///
/// On a stream with a graph_capture, memory comes from an arena of that capture. It is reused only inside the capture
/// and returns to the pool when the graph and everything created from it is destroyed, even if it was freed earlier.
/// During a capture, only a pool that maps its segments can grow; other pools use only free memory not tied to a
/// stream.
///
/// The same applies to foreign captures on streams from `stream_ref::from_native`. The pool asks the driver about such
/// captures at each allocation, or they are announced (`foreign_captures`). While an announced capture may begin or is
/// active, memory freed on a stream serves only that stream. Memory allocated and freed in a foreign capture stays
/// reserved (`pool_stats::kept_for_graphs`) until `forget_capture` or `announced_captures::release`, because the pool
/// cannot see when the graph is destroyed. The caller must keep older memory that the graph uses. During an unannounced
/// capture of a blocking stream, do not free on the default stream, because the pool would query the default stream and
/// break the capture.
///
/// If a stream is destroyed while the pool cannot wait for it (it is being captured, or the device failed), the blocks
/// freed on it are withheld until `trim`, or an allocation that finds no other block, has waited for the device.
///
/// The pool is thread-safe. Any thread may free any block. Threads may end, and the pool may be destroyed, in any
/// order, but no call into the pool may be active then. Throws out_of_memory with the pool's statistics, or error if
/// the device fails in another way. Freeing a pointer that is not an allocated block does nothing, but is counted in
/// `pool_stats::refused_frees` and reported in recordings.
class pool_memory_resource : public memory_resource, private device_observer {
 public:
  /// Throws out_of_memory if `initial_bytes` cannot be reserved, error if limit_fraction is outside 0 to 1.
  explicit pool_memory_resource(resource_ptr upstream, pool_options options = {});
  /// Waits for the streams that use freed blocks, then frees all segments except those with blocks in use.
  ~pool_memory_resource() override;

  /// A consistent snapshot: all numbers are from the same moment, even while other threads run. O(threads + streams).
  [[nodiscard]] pool_stats stats() const;
  /// Sets the peaks to the current values.
  void reset_peaks();
  /// Returns free segments to upstream, but keeps at least `keep_bytes` reserved. Waits for the
  /// streams that freed the blocks in them; blocks stay if a capture or a failed device prevents
  /// that wait. Never frees a block in use. Returns the number of bytes returned to upstream.
  std::uint64_t trim(std::uint64_t keep_bytes = 0);
  /// Sets the hard limit in bytes; 0: no limit. Does not release memory that is already reserved.
  void set_limit(std::uint64_t bytes);
  /// Sets the limit as a fraction of the device's memory. Throws error if it is outside 0 to 1.
  void set_limit_fraction(double fraction);
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const resource_ptr& upstream() const noexcept { return upstream_; }
  /// True if the pool maps segments side by side; false if it takes each segment from upstream.
  [[nodiscard]] bool grows_by_mapping() const noexcept { return mapping_; }
  /// True if `address` is the start of an allocated block of this pool. O(1).
  [[nodiscard]] bool owns(const void* address) const noexcept;
  /// Like `deallocate`, for callers that do not know the size. Returns false if the address is not a block of the pool.
  bool try_deallocate(const stream_ref& stream, void* address) noexcept;

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  void reserve_initial();
  [[nodiscard]] void* allocate_with_a_look(const stream_ref& stream, std::size_t bytes);
  /// Throws error if `stream` belongs to another device. This check is not needed if a front has a block, because a
  /// front's streams were checked before.
  void require_own(const stream_ref& stream) const;
  [[nodiscard]] void* allocate_slowly(const stream_ref& stream, std::size_t bytes);
  [[nodiscard]] void* allocated_or_throw(pooling::block* b, const stream_ref& stream, std::size_t bytes,
                                         std::uint64_t begin);
  template <bool recorded>
  bool deallocate_quickly(const stream_ref& stream, void* address, std::uint64_t now) noexcept;
  bool deallocate_recorded(const stream_ref& stream, void* address) noexcept;
  bool deallocate_slowly(const stream_ref& stream, void* address, std::uint64_t now) noexcept;
  bool give_back(pooling::pool_stream* own, const stream_ref& stream, pooling::block* b) noexcept;
  void retire(backend::stream_handle stream) noexcept override;
  void announce() noexcept override;
  [[nodiscard]] bool list_live(std::vector<pool_live_set>& to, const look_limit& limit) override;

  resource_ptr upstream_;
  bool mapping_ = false;
  std::shared_ptr<pooling::pool_core> core_;
};
static_assert(stream_ordered_resource<pool_memory_resource>);

/// A pool of page-locked host memory. A block that is freed while a copy is pending is not reused, even on the same
/// stream, until the copy is done, because the host may write to a new block immediately.
class pinned_pool_resource final : public pool_memory_resource {
 public:
  explicit pinned_pool_resource(const device_ref& device = current_device(),
                                pool_options options = {.name = "pinned pool"})
      : pool_memory_resource(std::make_shared<pinned_memory_resource>(device), std::move(options)) {}
};
static_assert(stream_ordered_resource<pinned_pool_resource>);

/// The process's default pool for a device's memory. Created on first use and kept until the process ends. Thread-safe.
[[nodiscard]] std::shared_ptr<pool_memory_resource> default_resource(const device_ref& device = current_device());
/// The process-wide default pool of page-locked host memory.
[[nodiscard]] std::shared_ptr<pool_memory_resource> default_pinned_resource(
    const device_ref& device = current_device());

}  // namespace sluice::runtime
