#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/trace/model.hpp"
#include "instrumentation/backend/suballocator.hpp"
#include "instrumentation/runtime/memory_resource.hpp"

namespace sluice::runtime {

struct pool_options {
  std::uint64_t limit_bytes = 0;           ///< hard limit on what the pool reserves; 0: none
  std::uint64_t growth_bytes = 32u << 20;  ///< the least it takes from upstream at a time
  std::uint64_t initial_bytes = 0;         ///< reserved at once
  std::string name = "pool";
};

/// A stream-ordered pool over another resource. Best fit; blocks split on allocation and coalesce on free.
///
/// A block freed on a stream is reused on that stream at once, without waiting. For another stream the pool takes, in
/// this order: blocks whose stream is idle; new memory from upstream; and, when the limit or the device refuses that,
/// blocks of busy streams, making the asking stream wait for them. So concurrency is only paid for under pressure.
///
/// Thread-safe (one mutex). Hits cost O(log blocks) and no call of the driver. Errors: out_of_memory with the pool's
/// statistics.
class pool_memory_resource : public memory_resource, private device_observer {
 public:
  explicit pool_memory_resource(resource_ptr upstream, pool_options options = {});
  /// Waits for the streams that still use freed blocks, then returns everything upstream.
  ~pool_memory_resource() override;

  /// One coherent snapshot. O(streams with free blocks).
  [[nodiscard]] pool_stats stats() const;
  /// Returns wholly free segments upstream while at least `keep_bytes` stay reserved. Waits for the streams whose
  /// freed blocks are in them. It never takes back a block in use. Returns the bytes returned.
  std::uint64_t trim(std::uint64_t keep_bytes = 0);
  /// Replaces the hard limit, 0 for none. What is reserved already stays.
  void set_limit(std::uint64_t bytes);
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const resource_ptr& upstream() const noexcept { return upstream_; }

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override;
  void do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept override;

 private:
  using books = backend::suballocator;

  void retire(backend::stream_handle stream) noexcept override;
  void announce() noexcept override;

  // All of these are called with the mutex held.
  std::optional<books::block> take(const stream_ref& stream, std::uint64_t bytes);
  void clean_idle_streams();
  void wait_for_streams();
  bool grow(std::uint64_t bytes);
  void steal(const stream_ref& stream);
  std::uint64_t release(std::uint64_t keep_bytes, trace::pool_operation operation);
  [[nodiscard]] pool_stats stats_locked() const;

  resource_ptr upstream_;
  pool_options options_;
  std::uint64_t trace_key_;
  mutable std::mutex mutex_;
  books books_{512};
  std::uint64_t peak_used_ = 0;
  std::uint64_t peak_reserved_ = 0;
};
static_assert(stream_ordered_resource<pool_memory_resource>);

/// A pool of page-locked host memory, with the same statistics. Blocks are stream-ordered too: a block freed after an
/// asynchronous copy was enqueued is not handed to another stream before the copy is done.
class pinned_pool_resource final : public pool_memory_resource {
 public:
  explicit pinned_pool_resource(const device_ref& device = current_device(),
                                pool_options options = {.name = "pinned pool"})
      : pool_memory_resource(std::make_shared<pinned_memory_resource>(device), std::move(options)) {}
};
static_assert(stream_ordered_resource<pinned_pool_resource>);

}  // namespace sluice::runtime
