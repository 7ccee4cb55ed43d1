#pragma once

#include <cstdint>
#include <map>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/captures.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/graph_memory.hpp"
#include "instrumentation/backend/simulated/state/memory_budget.hpp"
#include "instrumentation/backend/simulated/state/numbers.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"
#include "instrumentation/backend/suballocator.hpp"

namespace sluice::backend::simulated {

/// The driver's stream-ordered pools: the device's default pool, and those created by programs.
class driver_pools {
 public:
  /// `supported`: false if programs cannot create pools.
  driver_pools(driver_calls& calls, address_space& memory, memory_budget& budget, stream_table& streams,
               captures& captures, graph_memory_pool& graph_memory, bool supported)
      : calls_(calls),
        memory_(memory),
        budget_(budget),
        streams_(streams),
        captures_(captures),
        graph_memory_(graph_memory),
        supported_(supported) {
    pools_[default_pool];
  }

  // Functions of the device interface. They take the device's lock.
  [[nodiscard]] device_result<void*> allocate_async(std::uint64_t bytes, stream_handle stream);
  [[nodiscard]] device_result<void*> allocate_from_pool(pool_handle pool, std::uint64_t bytes, stream_handle stream);
  [[nodiscard]] device_result<void> free_async(void* address, stream_handle stream);
  [[nodiscard]] device_result<pool_handle> create_pool(driver_pool_options options);
  [[nodiscard]] device_result<void> destroy_pool(pool_handle pool);
  [[nodiscard]] device_result<driver_pool_info> pool_info(pool_handle pool);
  [[nodiscard]] device_result<void> set_release_threshold(pool_handle pool, std::uint64_t bytes);
  [[nodiscard]] device_result<void> reset_pool_highs(pool_handle pool);
  [[nodiscard]] device_result<void> trim_pool(pool_handle pool, std::uint64_t keep_bytes);

  // The caller of the functions below holds the lock.

  /// The used block that contains `address`, or null. O(pools * log blocks).
  [[nodiscard]] const suballocator::block* find_block(const void* address) const noexcept;
  /// Releases each pool's unused memory above its threshold, as a synchronization does. Erases destroyed pools that
  /// have become empty.
  void trim_all(std::int64_t now);
  /// Makes blocks that were freed on a stream free for all streams, because the stream is being destroyed.
  void forget_stream(stream_handle stream);
  /// Defines all pools in a recording that has just begun.
  void announce(std::uint64_t now) const;

 private:
  struct pool_state {
    suballocator books{512};
    std::uint64_t max_bytes = 0;
    std::uint64_t threshold = 0;
    std::uint64_t reserved_high = 0, used_high = 0;
    std::int64_t last_sample = 0;
    bool destroyed = false;  // erased with its last block
  };
  using pool_map = std::map<std::uint64_t, pool_state>;

  /// Returns the end iterator if there is no such pool, or if it was destroyed.
  [[nodiscard]] pool_map::iterator find(pool_handle pool);
  /// Allocates from a pool and ends the call.
  [[nodiscard]] device_result<void*> take(driver_call& call, std::uint64_t key, std::uint64_t bytes,
                                          stream_handle stream);
  [[nodiscard]] bool grow(driver_call& call, std::uint64_t key, pool_state& pool, std::uint64_t bytes);
  /// Releases free segments while at least `keep` bytes stay reserved.
  void shrink(std::uint64_t key, pool_state& pool, std::int64_t now, std::uint64_t keep,
              trace::pool_operation operation);
  void sample(std::uint64_t key, pool_state& pool, std::int64_t now);
  void log_state(std::uint64_t key, const pool_state& pool, std::int64_t now, trace::pool_operation operation) const;

  driver_calls& calls_;
  address_space& memory_;
  memory_budget& budget_;
  stream_table& streams_;
  captures& captures_;
  graph_memory_pool& graph_memory_;
  bool supported_;
  pool_map pools_;               // by key
  std::uint64_t next_pool_ = 2;  // 1 is the default pool in traces
};

}  // namespace sluice::backend::simulated
