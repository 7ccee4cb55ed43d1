#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/graph.hpp"
#include "instrumentation/backend/simulated/state/memory_budget.hpp"

namespace sluice::backend::simulated {

/// The memory that nodes of the device's graphs allocate. In traces it is a pool of its own. Must outlive all graphs.
/// The caller holds the device's lock, also when it destroys the last reference to a node's memory.
class graph_memory_pool {
 public:
  graph_memory_pool(address_space& memory, memory_budget& budget, const driver_log& log, std::uint32_t device) noexcept
      : memory_(memory), budget_(budget), log_(log), key_(graph_pool_key(device)) {}

  /// The pool's key in traces.
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  /// Reserves addresses for `bytes` until the last graph with the memory is destroyed. Null if the address space is
  /// exhausted.
  [[nodiscard]] std::shared_ptr<graph_memory> reserve(std::uint64_t bytes);
  /// The memory that begins at `address`, or null.
  [[nodiscard]] std::shared_ptr<graph_memory> find(const void* address) const noexcept;
  /// Makes the memory use device memory, or stop using it, and records the pool's size.
  void set_live(graph_memory& memory, bool live, std::int64_t now);

  /// Defines the pool in the recording, unless that was done since the last `forget_definition`.
  void define_once(std::uint64_t now);
  /// Call when a recording begins.
  void forget_definition() noexcept { defined_ = false; }

 private:
  void release(graph_memory* memory);

  address_space& memory_;
  memory_budget& budget_;
  const driver_log& log_;
  std::uint64_t key_;
  std::map<std::uint64_t, std::weak_ptr<graph_memory>> reserved_;  // by address
  std::uint64_t live_bytes_ = 0;
  bool defined_ = false;
};

}  // namespace sluice::backend::simulated
