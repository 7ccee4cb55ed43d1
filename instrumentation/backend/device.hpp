#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/device_types.hpp"
#include "instrumentation/backend/kernel.hpp"

// `device` is the interface of a GPU, with exactly the functions that the runtime needs. It has two implementations:
// cuda/ uses NVIDIA's driver API, and simulated/ keeps device memory in host RAM and runs a deterministic clock.
//
// All sizes are bytes and all times nanoseconds. Any thread may call any function. Nothing here throws.

namespace sluice::backend {

class simulated_clock;

class device {
 public:
  device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  virtual ~device() = default;

  [[nodiscard]] virtual const device_description& description() const noexcept = 0;
  /// The clock of all times in a simulated device's traces; null for a real device.
  [[nodiscard]] virtual simulated_clock* clock() noexcept { return nullptr; }
  /// Makes the device's context current on the calling thread, for other libraries that use the driver. Returns the
  /// previous context, for `restore_current`. All other calls leave the thread's current context unchanged, except that
  /// a thread without one may have the first device's context afterwards.
  [[nodiscard]] virtual device_result<void*> make_current() { return nullptr; }
  virtual void restore_current(void* /*before*/) noexcept {}
  /// True if the driver layer of this device (driver calls and device work) is recorded without the runtime's help: by
  /// the capture library or by the simulated device itself.
  [[nodiscard]] virtual bool driver_layer_recorded() const noexcept = 0;
  /// "13.0" for CUDA, "simulated" for the simulated device.
  [[nodiscard]] virtual std::string driver_version() const = 0;

  /// False until the first call that needs the device's context. Check this before `announce`, which creates the
  /// context.
  [[nodiscard]] virtual bool in_use() const noexcept { return true; }
  /// Called when this process starts recording itself, with the socket name of its writer. Starts the capture library
  /// if that library is available; `driver_layer_recorded` then returns true.
  virtual void recording_begins(const std::string& /*socket_name*/) {}
  /// Called when the recording that `recording_begins` announced ends, after the device has been synchronized.
  virtual void recording_ends() {}
  /// Writes this device, its context, its streams and its live allocations to a recording that has just begun.
  virtual void announce() = 0;
  /// The key of a stream in records (ring::stream_key). 0 if this program or a library is capturing the stream and the
  /// key is not known yet, because asking the driver for the key would end the capture.
  [[nodiscard]] virtual std::uint64_t trace_stream(stream_handle stream) noexcept = 0;
  /// The address that records use for this memory. On CUDA, `address` itself; on the simulated device, an address that
  /// is the same in every run, and 0 for pageable host memory.
  [[nodiscard]] virtual std::uint64_t trace_address(const void* address) noexcept = 0;

  // Memory. Freeing device or pinned memory waits for the device to finish, as in the driver.
  [[nodiscard]] virtual device_result<void*> allocate(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual device_result<void> free(void* address) = 0;
  [[nodiscard]] virtual device_result<void*> allocate_async(std::uint64_t bytes, stream_handle stream) = 0;
  [[nodiscard]] virtual device_result<void> free_async(void* address, stream_handle stream) = 0;
  [[nodiscard]] virtual device_result<void*> allocate_pinned(std::uint64_t bytes, pinned_flags flags) = 0;
  [[nodiscard]] virtual device_result<void> free_pinned(void* address) = 0;
  [[nodiscard]] virtual device_result<void> register_host(void* address, std::uint64_t bytes,
                                                          registration_flags flags) = 0;
  [[nodiscard]] virtual device_result<void> unregister_host(void* address) = 0;
  [[nodiscard]] virtual device_result<void*> allocate_managed(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual device_result<void> prefetch(void* address, std::uint64_t bytes, memory_location to,
                                                     stream_handle stream) = 0;
  [[nodiscard]] virtual device_result<void> advise(void* address, std::uint64_t bytes, memory_advice advice,
                                                   memory_location where) = 0;
  /// Announces that the host will read or write this part of a managed block. Does nothing on CUDA, where page faults
  /// move managed memory.
  virtual void touch_on_host(void* address, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual device_result<memory_info> memory() = 0;
  [[nodiscard]] virtual memory_space get_space(const void* address) noexcept = 0;
  /// Returns what is known about an address. An unknown address is reported as pageable, not as an error.
  [[nodiscard]] virtual device_result<pointer_info> describe_pointer(const void* address) = 0;
  /// Returns the address at which kernels can access pinned memory that was allocated or registered as mapped.
  [[nodiscard]] virtual device_result<void*> get_device_address(void* host_address) = 0;

  // Virtual memory, if `features.virtual_memory`: reserved addresses, physical memory, and mappings between them. Sizes
  // and addresses are multiples of the granularity. No call here waits, so unmap only memory that no pending work uses.
  [[nodiscard]] virtual device_result<std::uint64_t> virtual_granularity() = 0;
  /// Reserves addresses without memory, aligned to `alignment` (a power of two; 0 means the granularity).
  [[nodiscard]] virtual device_result<void*> reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) = 0;
  /// Frees a whole reservation; nothing may be mapped in it.
  [[nodiscard]] virtual device_result<void> free_addresses(void* address, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual device_result<physical_handle> create_physical(std::uint64_t bytes) = 0;
  /// Releases the handle. The memory is freed when its last mapping is removed.
  [[nodiscard]] virtual device_result<void> release_physical(physical_handle physical) = 0;
  /// Maps all `bytes` of `physical` at `address`, readable and writable by this device. `physical` may be mapped more
  /// than once.
  [[nodiscard]] virtual device_result<void> map(void* address, std::uint64_t bytes, physical_handle physical) = 0;
  /// Removes all mappings in the range. The range may not cut through a mapping.
  [[nodiscard]] virtual device_result<void> unmap(void* address, std::uint64_t bytes) = 0;

  // The driver's stream-ordered pools. `pool_handle::null` is the device's default pool, which `allocate_async` uses.
  // `free_async` returns a block to the pool that it came from.
  [[nodiscard]] virtual device_result<pool_handle> create_pool(driver_pool_options options) = 0;
  /// Destroys the pool once its last block is freed. Until then, allocated blocks stay usable.
  [[nodiscard]] virtual device_result<void> destroy_pool(pool_handle pool) = 0;
  [[nodiscard]] virtual device_result<void*> allocate_from_pool(pool_handle pool, std::uint64_t bytes,
                                                                stream_handle stream) = 0;
  [[nodiscard]] virtual device_result<driver_pool_info> pool_info(pool_handle pool) = 0;
  [[nodiscard]] virtual device_result<void> set_release_threshold(pool_handle pool, std::uint64_t bytes) = 0;
  /// Resets both high-water marks to the current reserved and used bytes.
  [[nodiscard]] virtual device_result<void> reset_pool_highs(pool_handle pool) = 0;
  /// Returns unused memory to the device, but keeps at least `keep_bytes` reserved.
  [[nodiscard]] virtual device_result<void> trim_pool(pool_handle pool, std::uint64_t keep_bytes) = 0;

  // Sharing between processes (IPC), if `features.shares_memory`. A handle can be opened only in a process other than
  // its creator, on the same device, while the creator keeps the memory or event alive.
  [[nodiscard]] virtual device_result<ipc_memory_handle> export_memory(void* address) = 0;
  /// Opens a block that the other process allocated with `allocate`. Each import needs its own `close_memory`.
  [[nodiscard]] virtual device_result<void*> import_memory(const ipc_memory_handle& handle) = 0;
  [[nodiscard]] virtual device_result<void> close_memory(void* address) = 0;
  [[nodiscard]] virtual device_result<ipc_event_handle> export_event(event_handle event) = 0;
  /// Opens another process's event; destroy it with `destroy_event`.
  [[nodiscard]] virtual device_result<event_handle> import_event(const ipc_event_handle& handle) = 0;

  // Streams and events.
  [[nodiscard]] virtual device_result<stream_handle> create_stream(stream_flags flags) = 0;
  virtual void destroy_stream(stream_handle stream) noexcept = 0;
  [[nodiscard]] virtual device_result<void> sync_stream(stream_handle stream) = 0;
  /// True once all work enqueued on the stream has finished.
  [[nodiscard]] virtual device_result<bool> stream_idle(stream_handle stream) = 0;
  [[nodiscard]] virtual device_result<priority_range> stream_priorities() = 0;
  [[nodiscard]] virtual device_result<int> stream_priority(stream_handle stream) = 0;
  /// Returns whether the stream is being captured, and the capture's id. Never disturbs a capture.
  [[nodiscard]] virtual device_result<capture_info> stream_capture(stream_handle stream) = 0;
  [[nodiscard]] virtual device_result<event_handle> create_event(event_flags flags) = 0;
  virtual void destroy_event(event_handle event) noexcept = 0;
  [[nodiscard]] virtual device_result<void> record_event(event_handle event, stream_handle stream) = 0;
  [[nodiscard]] virtual device_result<void> wait_event(stream_handle stream, event_handle event) = 0;
  [[nodiscard]] virtual device_result<void> sync_event(event_handle event) = 0;
  [[nodiscard]] virtual device_result<bool> event_done(event_handle event) = 0;
  /// Returns the device time in milliseconds between two timed events that were recorded and have finished.
  [[nodiscard]] virtual device_result<float> elapsed_ms(event_handle handle, event_handle to) = 0;
  [[nodiscard]] virtual device_result<void> synchronize() = 0;

  // Work. The direction of a copy is derived from the memory spaces of its two addresses.
  [[nodiscard]] virtual device_result<void> copy_async(void* to, const void* source, std::uint64_t bytes,
                                                       stream_handle stream) = 0;
  [[nodiscard]] virtual device_result<void> set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                                      stream_handle stream) = 0;
  /// Enqueues several copies, in one call if `features.batches_copies`. Their order is unspecified.
  [[nodiscard]] virtual device_result<void> copy_batch_async(std::span<const copy_piece> pieces,
                                                             stream_handle stream) = 0;
  [[nodiscard]] virtual device_result<void> launch(const kernel_definition& kernel, const launch_config& shape,
                                                   kernel_arguments arguments, stream_handle stream) = 0;
  /// Calls `function(data)` on a driver thread when the stream reaches this point; later work on the stream waits for
  /// the call. The simulated device calls it on the thread that advances the clock past that point. `data` must stay
  /// alive until the call. `function` ends with `host_function_ended`.
  [[nodiscard]] virtual device_result<void> launch_host(host_function function, void* data, stream_handle stream) = 0;

  // Graphs. Between `begin_capture` and `end_capture`, work on the stream becomes graph nodes instead of running. A
  // stream that waits for an event recorded on a captured stream is captured too; join it with an event before the end.
  // Calls that would wait for a captured stream are forbidden during a capture and invalidate it. Depending on the
  // mode, calls that might wait, such as allocations, are forbidden too.
  [[nodiscard]] virtual device_result<void> begin_capture(stream_handle stream, capture_mode mode) = 0;
  /// Sets which calls this thread may make during captures (default: `global`); returns the previous mode. With
  /// `relaxed` the thread may query and wait for streams and events that are not captured. Otherwise, a query or a wait
  /// can invalidate captures begun in other modes (error 900 from the driver of an H200).
  virtual capture_mode exchange_capture_mode(capture_mode mode) noexcept = 0;
  /// Ends the capture that began on `stream`. Call it on the thread that began the capture, unless the mode is
  /// `relaxed`. Returns an error if the capture was invalidated.
  [[nodiscard]] virtual device_result<graph_handle> end_capture(stream_handle stream) = 0;
  /// Adds a copy of `child` as one node of the graph that the stream is being captured into.
  [[nodiscard]] virtual device_result<void> capture_child(stream_handle stream, graph_handle child) = 0;
  [[nodiscard]] virtual device_result<graph_shape> get_shape(graph_handle graph) = 0;
  /// Writes the graph in Graphviz format; if `verbose`, including the nodes' parameters.
  [[nodiscard]] virtual device_result<void> write_dot(graph_handle graph, const std::string& path, bool verbose) = 0;
  virtual void destroy_graph(graph_handle graph) noexcept = 0;
  [[nodiscard]] virtual device_result<graph_exec_handle> instantiate(graph_handle graph,
                                                                     graph_exec_options options) = 0;
  /// Replaces an executable graph's parameters with those of `graph` (same nodes and edges), for later launches.
  [[nodiscard]] virtual device_result<void> update_exec(graph_exec_handle exec, graph_handle graph) = 0;
  /// Uploads the graph to the device in stream order. Without this call, the first launch uploads it.
  [[nodiscard]] virtual device_result<void> upload_exec(graph_exec_handle exec, stream_handle stream) = 0;
  /// Launches of one executable graph run one after the other. Memory that a launch allocates but does not free must be
  /// freed before the next launch, unless the graph was instantiated with `free_on_launch`.
  [[nodiscard]] virtual device_result<void> launch_exec(graph_exec_handle exec, stream_handle stream) = 0;
  /// Destroys an executable graph. Launches that are already running continue.
  virtual void destroy_exec(graph_exec_handle exec) noexcept = 0;

  // Events on the host that the simulated device needs to know about. These functions do nothing on other devices.
  virtual void host_spends(host_work /*work*/, std::uint64_t /*bytes*/) {}
  /// Registers a shared file mapping with the simulated device. Copies directly from the mapping fault pages in and are
  /// slower than from ordinary memory. A writable mapping cannot be registered as pinned memory.
  virtual void note_file_mapping(const void* /*address*/, std::uint64_t /*bytes*/, bool /*writable*/) {}
  virtual void forget_file_mapping(const void* /*address*/) {}
};

/// While this object exists, its thread may query and wait for uncaptured streams even if other streams are captured.
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
