#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "instrumentation/backend/device_types.hpp"
#include "instrumentation/backend/kernel.hpp"
#include "instrumentation/backend/outcome.hpp"

// The device interface: what the runtime needs of a GPU, and nothing more. Two backends stand behind it: cuda/ drives
// NVIDIA's driver API, simulated/ keeps device memory in host RAM under a deterministic clock.
//
// All sizes are bytes and all times nanoseconds. Every function may be called from any thread. Nothing here throws.

namespace sluice::backend {

class simulated_clock;

class device {
 public:
  device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  virtual ~device() = default;

  [[nodiscard]] virtual const device_description& description() const noexcept = 0;
  /// The clock of a simulated device, on which everything in its traces is timed; null for a real one.
  [[nodiscard]] virtual simulated_clock* clock() noexcept { return nullptr; }
  /// Makes the device the calling thread's own for other libraries of the driver's: its context current. Returns the one before,
  /// for `restore_current`. Every other call leaves the thread's context as it was, but for a thread that had none, which may have
  /// the first device's afterwards.
  [[nodiscard]] virtual outcome<void*> make_current() { return nullptr; }
  virtual void restore_current(void* /*before*/) noexcept {}
  /// True if the driver layer of this device is in the recording by other means (the capture library, or the
  /// simulated device itself).
  [[nodiscard]] virtual bool driver_layer_recorded() const noexcept = 0;
  /// "13.0" for CUDA, "simulated" for the other.
  [[nodiscard]] virtual std::string driver_version() const = 0;

  /// False while nobody has asked anything of the device that costs its memory, which to announce it would.
  [[nodiscard]] virtual bool in_use() const noexcept { return true; }
  /// A recording of this process's own begins, with its writer at `socket_name`. Where the capture library is to be had it is
  /// started, and `driver_layer_recorded` says so from then on.
  virtual void recording_begins(const std::string& /*socket_name*/) {}
  /// It ends; the device has been synchronised.
  virtual void recording_ends() {}
  /// Writes this device, its context, its streams and what is allocated now to the recording that has just begun.
  virtual void announce() = 0;
  /// The key under which records name a stream (collector::stream_key). 0: it is being captured, by whomever, and has no name yet:
  /// to ask for one would end its capture.
  [[nodiscard]] virtual std::uint64_t trace_stream(stream_handle stream) noexcept = 0;
  /// The address under which records name this memory: itself on CUDA; on the simulated device one that does not
  /// change from run to run, and 0 for pageable host memory.
  [[nodiscard]] virtual std::uint64_t trace_address(const void* address) noexcept = 0;

  // Memory. Freeing device or pinned memory waits for the device, as the driver does.
  [[nodiscard]] virtual outcome<void*> allocate(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual outcome<void> free(void* address) = 0;
  [[nodiscard]] virtual outcome<void*> allocate_async(std::uint64_t bytes, stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> free_async(void* address, stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void*> allocate_pinned(std::uint64_t bytes, pinned_flags flags) = 0;
  [[nodiscard]] virtual outcome<void> free_pinned(void* address) = 0;
  [[nodiscard]] virtual outcome<void> register_host(void* address, std::uint64_t bytes, registration_flags flags) = 0;
  [[nodiscard]] virtual outcome<void> unregister_host(void* address) = 0;
  [[nodiscard]] virtual outcome<void*> allocate_managed(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual outcome<void> prefetch(void* address, std::uint64_t bytes, memory_location to,
                                               stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> advise(void* address, std::uint64_t bytes, memory_advice advice,
                                             memory_location where) = 0;
  /// Says that the host is about to read or write this part of a managed block. On CUDA page faults say it by
  /// themselves.
  virtual void touch_on_host(void* address, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual outcome<memory_info> memory() = 0;
  [[nodiscard]] virtual memory_space space_of(const void* address) noexcept = 0;
  /// All that is known of an address. Never fails for want of knowledge: memory that the device does not know is pageable.
  [[nodiscard]] virtual outcome<pointer_info> describe_pointer(const void* address) = 0;
  /// Where kernels reach pinned memory that was made or registered as mapped.
  [[nodiscard]] virtual outcome<void*> device_address_of(void* host_address) = 0;

  // Virtual memory, where `features.virtual_memory`: addresses, bytes, and a mapping between them. Sizes and addresses are
  // multiples of the granularity. Nothing here waits: unmap only what no work uses any more.
  [[nodiscard]] virtual outcome<std::uint64_t> virtual_granularity() = 0;
  /// Addresses with nothing behind them, aligned to `alignment` (a power of two; 0: the granularity).
  [[nodiscard]] virtual outcome<void*> reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) = 0;
  /// A whole reservation, with nothing mapped into it any more.
  [[nodiscard]] virtual outcome<void> free_addresses(void* address, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual outcome<physical_handle> create_physical(std::uint64_t bytes) = 0;
  /// The bytes go once nothing maps them.
  [[nodiscard]] virtual outcome<void> release_physical(physical_handle physical) = 0;
  /// Maps all `bytes` of `physical` at `address`, for this device to read and write. The same bytes may be mapped twice.
  [[nodiscard]] virtual outcome<void> map(void* address, std::uint64_t bytes, physical_handle physical) = 0;
  /// Ends every mapping in the range, which must hold whole ones.
  [[nodiscard]] virtual outcome<void> unmap(void* address, std::uint64_t bytes) = 0;

  // The driver's stream-ordered pools; `pool_handle::null` is the device's default pool, from which `allocate_async`
  // takes. `free_async` gives back to whichever pool it came from.
  [[nodiscard]] virtual outcome<pool_handle> create_pool(driver_pool_options options) = 0;
  /// Blocks that are still allocated stay usable; the pool goes with the last of them.
  [[nodiscard]] virtual outcome<void> destroy_pool(pool_handle pool) = 0;
  [[nodiscard]] virtual outcome<void*> allocate_from_pool(pool_handle pool, std::uint64_t bytes,
                                                          stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<driver_pool_info> pool_info(pool_handle pool) = 0;
  [[nodiscard]] virtual outcome<void> set_release_threshold(pool_handle pool, std::uint64_t bytes) = 0;
  /// The highs become what is reserved and used now.
  [[nodiscard]] virtual outcome<void> reset_pool_highs(pool_handle pool) = 0;
  /// Gives unused memory back to the device, while at least `keep_bytes` stay reserved.
  [[nodiscard]] virtual outcome<void> trim_pool(pool_handle pool, std::uint64_t keep_bytes) = 0;

  // Memory and events of other processes, where `features.shares_memory`. A handle opens in another process than the one
  // that made it, on the same device, while that one keeps the thing alive.
  [[nodiscard]] virtual outcome<ipc_memory_handle> export_memory(void* address) = 0;
  /// A block made by `allocate` there. One that is imported twice is held twice.
  [[nodiscard]] virtual outcome<void*> import_memory(const ipc_memory_handle& handle) = 0;
  [[nodiscard]] virtual outcome<void> close_memory(void* address) = 0;
  [[nodiscard]] virtual outcome<ipc_event_handle> export_event(event_handle event) = 0;
  /// Destroyed like any other.
  [[nodiscard]] virtual outcome<event_handle> import_event(const ipc_event_handle& handle) = 0;

  // Streams and events.
  [[nodiscard]] virtual outcome<stream_handle> create_stream(stream_flags flags) = 0;
  virtual void destroy_stream(stream_handle stream) noexcept = 0;
  [[nodiscard]] virtual outcome<void> sync_stream(stream_handle stream) = 0;
  /// True once everything enqueued has finished.
  [[nodiscard]] virtual outcome<bool> stream_idle(stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<priority_range> stream_priorities() = 0;
  [[nodiscard]] virtual outcome<int> stream_priority(stream_handle stream) = 0;
  /// Whether the stream is being captured, and under which id. Never disturbs a capture.
  [[nodiscard]] virtual outcome<capture_info> stream_capture(stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<event_handle> create_event(event_flags flags) = 0;
  virtual void destroy_event(event_handle event) noexcept = 0;
  [[nodiscard]] virtual outcome<void> record_event(event_handle event, stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> wait_event(stream_handle stream, event_handle event) = 0;
  [[nodiscard]] virtual outcome<void> sync_event(event_handle event) = 0;
  [[nodiscard]] virtual outcome<bool> event_done(event_handle event) = 0;
  /// Milliseconds of device time between two recorded, finished, timed events.
  [[nodiscard]] virtual outcome<float> elapsed_ms(event_handle from, event_handle to) = 0;
  [[nodiscard]] virtual outcome<void> synchronize() = 0;

  // Work. The direction of a copy follows from where the addresses live.
  [[nodiscard]] virtual outcome<void> copy_async(void* to, const void* from, std::uint64_t bytes,
                                                 stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                                stream_handle stream) = 0;
  /// All copies of a batch, in one call where `features.batches_copies`; none is ordered before another.
  [[nodiscard]] virtual outcome<void> copy_batch_async(std::span<const copy_piece> pieces, stream_handle stream) = 0;
  [[nodiscard]] virtual outcome<void> launch(const kernel_definition& kernel, const launch_config& shape,
                                             kernel_arguments arguments, stream_handle stream) = 0;
  /// Calls `function(data)` on a thread of the driver's once the stream gets there; work after it waits for it. The
  /// simulated device calls it on whichever thread passes that time. `data` must live until then.
  [[nodiscard]] virtual outcome<void> launch_host(host_function function, void* data, stream_handle stream) = 0;

  // Graphs. Between `begin_capture` and `end_capture`, work on the stream becomes nodes of a graph and does not run. A stream
  // that waits for an event which was recorded on a captured one is captured too, and must be joined by an event before
  // the end. Calls that would wait for a captured stream, and, by mode, those that may (allocations among them), are not
  // permitted meanwhile, and break the capture.
  [[nodiscard]] virtual outcome<void> begin_capture(stream_handle stream, capture_mode mode) = 0;
  /// What the calling thread may not do beside captures, as the mode of a capture says it; `global` from the start. `relaxed`: it may ask
  /// about streams and events that are not captured, and wait for them, which breaks captures of other modes else (an H200's driver
  /// answers 900). Returns what was so before.
  virtual capture_mode exchange_capture_mode(capture_mode mode) noexcept = 0;
  /// On the stream that it began on; by the same thread unless the mode was `relaxed`. No graph comes of a broken one.
  [[nodiscard]] virtual outcome<graph_handle> end_capture(stream_handle stream) = 0;
  /// A copy of `child` becomes one node of the graph that the stream is captured into.
  [[nodiscard]] virtual outcome<void> capture_child(stream_handle stream, graph_handle child) = 0;
  [[nodiscard]] virtual outcome<graph_shape> shape_of(graph_handle graph) = 0;
  /// Writes the graph for Graphviz; `verbose` with the nodes' parameters.
  [[nodiscard]] virtual outcome<void> write_dot(graph_handle graph, const std::string& path, bool verbose) = 0;
  virtual void destroy_graph(graph_handle graph) noexcept = 0;
  [[nodiscard]] virtual outcome<graph_exec_handle> instantiate(graph_handle graph, graph_exec_options options) = 0;
  /// Gives an executable graph the parameters of `graph`, which must have the same nodes and edges; later launches have them.
  [[nodiscard]] virtual outcome<void> update_exec(graph_exec_handle exec, graph_handle graph) = 0;
  /// What a first launch would do: brings the graph to the device, in stream order.
  [[nodiscard]] virtual outcome<void> upload_exec(graph_exec_handle exec, stream_handle stream) = 0;
  /// Launches of one executable graph run one after the other. Memory that a launch allocates and does not free must be
  /// freed before the next, unless it is made with `free_on_launch`.
  [[nodiscard]] virtual outcome<void> launch_exec(graph_exec_handle exec, stream_handle stream) = 0;
  /// What runs goes on.
  virtual void destroy_exec(graph_exec_handle exec) noexcept = 0;

  // What the simulated device wants to hear of the host side; no-ops elsewhere.
  virtual void host_spends(host_work /*work*/, std::uint64_t /*bytes*/) {}
  /// A shared file mapping: copies straight from it fault pages in and run slower than from ordinary memory, and one that is
  /// writable cannot be registered.
  virtual void note_file_mapping(const void* /*address*/, std::uint64_t /*bytes*/, bool /*writable*/) {}
  virtual void forget_file_mapping(const void* /*address*/) {}
};

/// While it lives, the calling thread may ask about streams and events that are not captured, and wait for them, though others are.
class beside_captures {
 public:
  explicit beside_captures(device& device)
      : device_(device), before_(device.exchange_capture_mode(capture_mode::relaxed)) {}
  ~beside_captures() { device_.exchange_capture_mode(before_); }
  beside_captures(const beside_captures&) = delete;
  beside_captures& operator=(const beside_captures&) = delete;

 private:
  device& device_;
  const capture_mode before_;
};

}  // namespace sluice::backend
