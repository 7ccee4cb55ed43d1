#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/trace/model/model.hpp"
#include "instrumentation/backend/device.hpp"
#include "instrumentation/backend/kernel.hpp"
#include "instrumentation/ring/records.hpp"

namespace sluice::backend {

/// Writes the driver layer of one device (driver calls and device work) into the rings, as the capture library does for
/// a real device. The simulated device always uses this class. The CUDA backend uses it if the capture library is not
/// loaded. Without a recording, each call costs a load and a branch. Times are on the ring's clock. Streams are given
/// as `ring::stream_key`s.
class driver_log {
 public:
  /// A driver call in progress: its name, entry time and correlation id.
  struct call {
    const char* name = "";
    std::uint64_t begin = 0;
    std::uint32_t correlation = 0;
  };

  struct alloc {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t stream = 0;
    std::uint64_t pool = 0;
    trace::memory_kind kind = trace::memory_kind::device;
    std::uint32_t flags = 0;
    std::uint64_t owner = 0;  ///< for a mapping: the handle of its physical memory
  };

  struct copy {
    std::uint64_t begin = 0, end = 0, bytes = 0, stream = 0, source = 0, destination = 0;
    memory_space from = memory_space::device, to = memory_space::device;
    std::uint32_t flags = 0;
    std::uint64_t graph_node = 0;  ///< 0 if not part of a graph
  };

  driver_log(std::uint32_t device_key, std::uint32_t context_key) : device_(device_key), context_(context_key) {}

  [[nodiscard]] static bool on() noexcept;
  [[nodiscard]] std::uint32_t context_key() const noexcept { return context_.load(std::memory_order_relaxed); }
  /// Sets the context key; needed if the capture library uses a different number for the context.
  void use_context_key(std::uint32_t key) noexcept { context_.store(key, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t stream_key(std::uint32_t stream) const noexcept {
    return ring::stream_key(context_key(), stream);
  }

  void define_device(std::uint64_t now, const device_description& description) const;
  void define_stream(std::uint64_t now, std::uint32_t stream, std::uint64_t handle, int priority,
                     bool is_default) const;
  void define_pool(std::uint64_t now, std::uint64_t pool, const char* name) const;

  void api_call(const call& c, std::uint64_t end, std::uint64_t stream, std::uint64_t bytes = 0,
                std::uint64_t source = 0, std::uint64_t destination = 0, std::int64_t status = 0) const;
  void allocated(const call& c, std::uint64_t now, const alloc& subject) const;
  void freed(const call& c, const alloc& subject) const;
  void free_completed(const call& c, std::uint64_t now, std::uint64_t address, std::uint64_t pool = 0) const;
  void failed(const call& c, std::uint64_t now, const alloc& subject, std::int64_t status) const;
  void pool_state(std::uint64_t now, std::uint64_t pool, std::uint64_t reserved, std::uint64_t used,
                  trace::pool_operation operation, std::uint64_t threshold = 0) const;
  /// Records that a block was exported to, or imported from, another process. `key` is the same in both processes.
  void shared(std::uint64_t now, std::uint64_t address, std::uint64_t key, bool imported) const;
  void memory(std::uint64_t now, const memory_info& info) const;
  void copied(const call& c, const copy& subject) const;
  void set(const call& c, std::uint64_t begin, std::uint64_t end, std::uint64_t address, std::uint64_t bytes,
           std::uint8_t value, memory_space where, std::uint64_t stream, std::uint32_t flags,
           std::uint64_t graph_node = 0) const;
  void ran(const call& c, std::uint64_t begin, std::uint64_t end, const kernel_definition& kernel,
           const launch_config& shape, std::uint64_t stream, std::uint32_t flags, std::uint64_t graph_node = 0) const;
  void migrated(std::uint64_t begin, std::uint64_t end, std::uint64_t address, std::uint64_t bytes,
                trace::direction direction, trace::migration_cause cause) const;
  void synced(std::uint64_t begin, std::uint64_t end, std::uint64_t stream, trace::sync_kind kind) const;
  void event_recorded(std::uint64_t now, std::uint64_t event, std::uint64_t stream) const;
  void event_waited(std::uint64_t now, std::uint64_t event, std::uint64_t stream) const;
  void watermark(std::uint64_t now) const;

  // Graphs and executable graphs are identified by keys. Implemented in driver_log_graphs.cpp.
  /// Defines a graph, or an executable graph instantiated from `source` (if not 0), with its number of nodes.
  void graph_defined(std::uint64_t now, std::uint64_t graph, std::uint64_t source, std::uint64_t nodes) const;
  /// Defines a node that uses the memory at these addresses. Each launch of the graph touches this memory.
  void node_defined(std::uint64_t now, std::uint64_t graph, std::uint64_t node, std::uint64_t stream,
                    std::string_view name, std::span<const std::uint64_t> addresses) const;
  void child_defined(std::uint64_t now, std::uint64_t graph, std::uint64_t node, std::uint64_t child) const;
  void graph_called(const call& c, std::uint64_t graph) const;
  /// Records a launch and its device times. `end` is 0 if only the call's times are known. The graph's nodes may be
  /// recorded with their own times.
  void graph_launched(const call& c, std::uint64_t begin, std::uint64_t end, std::uint64_t graph, std::uint64_t stream,
                      std::uint32_t flags) const;
  void graph_ended(std::uint64_t now, std::uint64_t graph) const;

 private:
  std::uint32_t device_;
  std::atomic<std::uint32_t> context_;
};

/// Key of the pool that holds the memory of a device's graphs. The capture library uses the same key.
[[nodiscard]] constexpr std::uint64_t graph_pool_key(std::uint32_t device) noexcept {
  return (std::uint64_t{0x6770} << 48) | device;
}

/// Converts a memory space to the trace's memory kind.
[[nodiscard]] trace::memory_kind trace_kind(memory_space space) noexcept;
/// The direction of a copy between two spaces.
[[nodiscard]] trace::direction copy_direction(memory_space space, memory_space to) noexcept;

}  // namespace sluice::backend
