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
  std::uint64_t limit_bytes = 0;           ///< hard limit on what the pool reserves; 0: none
  double limit_fraction = 0;               ///< the same as a part of the device's memory, 0 to 1; the lower limit holds
  std::uint64_t growth_bytes = 32u << 20;  ///< the least it takes from upstream at a time
  std::uint64_t initial_bytes = 0;         ///< reserved at once
  /// The most that one thread keeps of one stream in its front; 0: 64 MiB, or less on small devices and under small limits.
  std::uint64_t front_bytes = 0;
  /// Segments that other processes can import: each is a block of upstream's (cuMemAlloc), never mapped pieces.
  bool ipc_capable = false;
  std::string name = "pool";  ///< in recordings and error messages
};

/// A stream-ordered pool over another resource.
///
/// Each thread keeps a few free blocks of each stream in its front, sorted by size: a block that the thread freed on a stream
/// and asks for again on that stream costs no lock and writes to no memory that another thread writes to. Behind the fronts
/// lies one heap under a mutex, with lists by size, in which blocks split and coalesce in O(1). Sizes up to 1 MiB are rounded
/// up by at most an eighth, larger ones to 512 bytes.
///
/// Over a device_memory_resource, on a device with virtual memory, the pool maps its segments side by side into one range of
/// addresses, so that free memory of several segments serves one large block; elsewhere, and when `ipc_capable`, each
/// segment is a block of upstream's.
///
/// A block freed on a stream is reused on that stream at once, without waiting. For another stream the pool takes, in
/// this order: blocks whose stream is idle; what other threads keep; new memory; and, when the limit or the device refuses
/// that, blocks of busy streams, making the asking stream wait for them by an event. So concurrency is only paid for under
/// pressure.
///
/// Memory that the host reaches (over a pinned or a managed resource) is another matter, for the host writes at once, in no stream's
/// order: such a pool gives a block, to whichever stream, only when the stream that freed it has nothing left to do. It asks the
/// streams at each allocation, takes new memory while they are busy, and waits for them where the limit refuses that. It has no
/// fronts; in a capture each block is used once.
///
/// On a stream that a graph_capture is capturing, memory comes from an arena of that capture: it is reused within the capture
/// alone, and comes back to the pool when the graph and everything made of it are gone, also if it is freed before. Meanwhile a
/// pool that maps its segments can grow; another one has what lies free and belongs to no stream.
///
/// The same holds for captures that others begin on their own streams (`stream_ref::from_native`), which the pool asks about at each
/// allocation, hit or miss, or is told of (`foreign_captures`). While one that was announced may begin, or goes on, what a stream
/// freed serves that stream alone. Nobody says when such a graph goes: what was allocated in one and
/// freed is kept for it (`pool_stats::kept_for_graphs`) until `forget_capture` or `announced_captures::release`. Memory from before
/// the capture is the caller's to keep as long as the graph. Beside a foreign capture of a blocking stream that was not announced,
/// nothing may be freed on the default stream: the pool would ask about it, and break the capture.
///
/// When a stream goes that cannot be waited for (it is captured, or the device has failed), what it freed is withheld: nobody gets it
/// until `trim`, or an allocation that finds nothing else, has waited for the device.
///
/// Thread-safe. Memory may be freed by another thread than allocated it, threads may end and the pool may go in any order; it
/// must outlive the calls into it. Throws out_of_memory with the pool's statistics, and error if the device fails otherwise. A
/// pointer that is not an allocated block of the pool's is refused: counted in `pool_stats::refused_frees`, and a message in
/// recordings.
class pool_memory_resource : public memory_resource, private device_observer {
 public:
  /// Throws out_of_memory if `initial_bytes` are not to be had, error for a limit_fraction outside 0 to 1.
  explicit pool_memory_resource(resource_ptr upstream, pool_options options = {});
  /// Waits for the streams that still use freed blocks, then returns everything upstream but segments with blocks in use.
  ~pool_memory_resource() override;

  /// One coherent snapshot: what all of its figures say was so at one moment, whatever other threads do. O(threads + streams).
  [[nodiscard]] pool_stats stats() const;
  /// The peaks become what is used and reserved now.
  void reset_peaks();
  /// Returns free segments upstream while at least `keep_bytes` stay reserved. Waits for the streams whose
  /// freed blocks are in them; what captures, or a failed device, do not let it wait for stays. It never takes back a block in
  /// use. Returns the bytes returned.
  std::uint64_t trim(std::uint64_t keep_bytes = 0);
  /// Replaces the hard limit in bytes, 0 for none. What is reserved already stays.
  void set_limit(std::uint64_t bytes);
  /// The same as a part of the device's memory. Throws error outside 0 to 1.
  void set_limit_fraction(double fraction);
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const resource_ptr& upstream() const noexcept { return upstream_; }
  /// The pool maps segments side by side, instead of taking each from upstream.
  [[nodiscard]] bool grows_by_mapping() const noexcept { return mapping_; }
  /// True if `address` begins a block that the pool has given out. O(1).
  [[nodiscard]] bool owns(const void* address) const noexcept;
  /// As `deallocate` on `stream`, for callers that know no size. False if it is no block of the pool's.
  bool try_deallocate(const stream_ref& stream, void* address) noexcept;

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  void reserve_initial();
  [[nodiscard]] void* allocate_with_a_look(const stream_ref& stream, std::size_t bytes);
  /// Throws error for a stream of another device. A hit needs no look: such streams find nothing.
  void require_own(const stream_ref& stream) const;
  [[nodiscard]] void* allocate_slowly(const stream_ref& stream, std::size_t bytes);
  [[nodiscard]] void* allocated_or_throw(pooling::block* b, const stream_ref& stream, std::size_t bytes,
                                         std::uint64_t begin);
  template <bool told>
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

/// A pool of page-locked host memory, with the same statistics. A block that is freed after an asynchronous copy was enqueued is
/// not handed out again, on the same stream either, before the copy is done: the host may write to what it gets at once.
class pinned_pool_resource final : public pool_memory_resource {
 public:
  explicit pinned_pool_resource(const device_ref& device = current_device(),
                                pool_options options = {.name = "pinned pool"})
      : pool_memory_resource(std::make_shared<pinned_memory_resource>(device), std::move(options)) {}
};
static_assert(stream_ordered_resource<pinned_pool_resource>);

/// The process's pool of a device's memory, made at first use. It stays until the process ends, and the device with it. Thread-safe.
[[nodiscard]] std::shared_ptr<pool_memory_resource> default_resource(const device_ref& device = current_device());
/// The same of page-locked host memory.
[[nodiscard]] std::shared_ptr<pool_memory_resource> default_pinned_resource(
    const device_ref& device = current_device());

}  // namespace sluice::runtime
