#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "instrumentation/backend/device.hpp"
#include "instrumentation/backend/simulated/cost_model.hpp"
#include "instrumentation/backend/simulated/device/sharing.hpp"
#include "instrumentation/backend/simulated/graphs/graphs.hpp"
#include "instrumentation/backend/simulated/memory/driver_pools.hpp"
#include "instrumentation/backend/simulated/memory/managed_memory.hpp"
#include "instrumentation/backend/simulated/memory/memory_blocks.hpp"
#include "instrumentation/backend/simulated/memory/virtual_memory.hpp"
#include "instrumentation/backend/simulated/state/address_map.hpp"
#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/captures.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/engines.hpp"
#include "instrumentation/backend/simulated/state/graph_memory.hpp"
#include "instrumentation/backend/simulated/state/graph_table.hpp"
#include "instrumentation/backend/simulated/state/host_memory.hpp"
#include "instrumentation/backend/simulated/state/memory_budget.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"
#include "instrumentation/backend/simulated/streams/device_work.hpp"
#include "instrumentation/backend/simulated/streams/events.hpp"
#include "instrumentation/backend/simulated/streams/scheduler.hpp"
#include "instrumentation/backend/simulated/streams/stream_calls.hpp"

namespace sluice::backend {

struct simulated_config {
  std::string name = "Simulated device (H200 figures)";
  std::uint64_t memory_bytes = 141'000'000'000;  ///< nominal; only touched pages use RAM
  std::uint32_t ordinal = 0;
  device_features features{.virtual_memory = true, .driver_pools = true, .shares_memory = true, .batches_copies = true};
  simulated::cost_model costs;
};

/// A GPU simulated in host memory. It actually copies the bytes and runs the host implementations of kernels. It also
/// writes the records that the capture library writes for a real device.
///
/// Time: each call costs its thread the time in the cost model. Work is scheduled on two copy engines, one engine for
/// copies within the device, and a compute queue; each does one thing at a time. Work on a stream runs in order; events
/// pass times from one stream to another. Bytes move when simulated time passes the end of the work, so a program that
/// forgets to synchronize reads old bytes here too. A single host thread that makes the same calls gets the same times,
/// ids and addresses in each run. Kernels on streams of different priority run concurrently at full speed; a more
/// urgent kernel never waits for a less urgent one.
///
/// Thread-safe: one mutex guards everything. Kernels run while it is locked and must not call the device. Tests derive
/// from this class.
///
/// This class implements the interface by calls to its parts, which have the state.
class simulated_device : public device {
 public:
  explicit simulated_device(simulated_config config);
  ~simulated_device() override;

  [[nodiscard]] const device_description& description() const noexcept override { return description_; }
  [[nodiscard]] simulated_clock* clock() noexcept override { return &calls_.clock(); }
  [[nodiscard]] bool driver_layer_recorded() const noexcept override { return true; }
  [[nodiscard]] std::string driver_version() const override { return "simulated"; }
  void announce() override;
  [[nodiscard]] std::uint64_t trace_stream(stream_handle stream) noexcept override;
  [[nodiscard]] std::uint64_t trace_address(const void* address) noexcept override;

  [[nodiscard]] device_result<void*> allocate(std::uint64_t bytes) override;
  [[nodiscard]] device_result<void> free(void* address) override;
  [[nodiscard]] device_result<void*> allocate_async(std::uint64_t bytes, stream_handle stream) override;
  [[nodiscard]] device_result<void> free_async(void* address, stream_handle stream) override;
  [[nodiscard]] device_result<void*> allocate_pinned(std::uint64_t bytes, pinned_flags flags) override;
  [[nodiscard]] device_result<void> free_pinned(void* address) override;
  [[nodiscard]] device_result<void> register_host(void* address, std::uint64_t bytes,
                                                  registration_flags flags) override;
  [[nodiscard]] device_result<void> unregister_host(void* address) override;
  [[nodiscard]] device_result<void*> allocate_managed(std::uint64_t bytes) override;
  [[nodiscard]] device_result<void> prefetch(void* address, std::uint64_t bytes, memory_location to,
                                             stream_handle stream) override;
  [[nodiscard]] device_result<void> advise(void* address, std::uint64_t bytes, memory_advice advice,
                                           memory_location where) override;
  void touch_on_host(void* address, std::uint64_t bytes) override;
  [[nodiscard]] device_result<memory_info> memory() override;
  [[nodiscard]] memory_space get_space(const void* address) noexcept override;
  [[nodiscard]] device_result<pointer_info> describe_pointer(const void* address) override;
  [[nodiscard]] device_result<void*> get_device_address(void* host_address) override;

  [[nodiscard]] device_result<std::uint64_t> virtual_granularity() override;
  [[nodiscard]] device_result<void*> reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) override;
  [[nodiscard]] device_result<void> free_addresses(void* address, std::uint64_t bytes) override;
  [[nodiscard]] device_result<physical_handle> create_physical(std::uint64_t bytes) override;
  [[nodiscard]] device_result<void> release_physical(physical_handle physical) override;
  [[nodiscard]] device_result<void> map(void* address, std::uint64_t bytes, physical_handle physical) override;
  [[nodiscard]] device_result<void> unmap(void* address, std::uint64_t bytes) override;

  [[nodiscard]] device_result<pool_handle> create_pool(driver_pool_options options) override;
  [[nodiscard]] device_result<void> destroy_pool(pool_handle pool) override;
  [[nodiscard]] device_result<void*> allocate_from_pool(pool_handle pool, std::uint64_t bytes,
                                                        stream_handle stream) override;
  [[nodiscard]] device_result<driver_pool_info> pool_info(pool_handle pool) override;
  [[nodiscard]] device_result<void> set_release_threshold(pool_handle pool, std::uint64_t bytes) override;
  [[nodiscard]] device_result<void> reset_pool_highs(pool_handle pool) override;
  [[nodiscard]] device_result<void> trim_pool(pool_handle pool, std::uint64_t keep_bytes) override;

  [[nodiscard]] device_result<ipc_memory_handle> export_memory(void* address) override;
  [[nodiscard]] device_result<void*> import_memory(const ipc_memory_handle& handle) override;
  [[nodiscard]] device_result<void> close_memory(void* address) override;
  [[nodiscard]] device_result<ipc_event_handle> export_event(event_handle event) override;
  [[nodiscard]] device_result<event_handle> import_event(const ipc_event_handle& handle) override;

  [[nodiscard]] device_result<stream_handle> create_stream(stream_flags flags) override;
  void destroy_stream(stream_handle stream) noexcept override;
  [[nodiscard]] device_result<void> sync_stream(stream_handle stream) override;
  [[nodiscard]] device_result<bool> stream_idle(stream_handle stream) override;
  [[nodiscard]] device_result<priority_range> stream_priorities() override;
  [[nodiscard]] device_result<int> stream_priority(stream_handle stream) override;
  [[nodiscard]] device_result<capture_info> stream_capture(stream_handle stream) override;
  [[nodiscard]] device_result<event_handle> create_event(event_flags flags) override;
  void destroy_event(event_handle event) noexcept override;
  [[nodiscard]] device_result<void> record_event(event_handle event, stream_handle stream) override;
  [[nodiscard]] device_result<void> wait_event(stream_handle stream, event_handle event) override;
  [[nodiscard]] device_result<void> sync_event(event_handle event) override;
  [[nodiscard]] device_result<bool> event_done(event_handle event) override;
  [[nodiscard]] device_result<float> elapsed_ms(event_handle begin, event_handle end) override;
  [[nodiscard]] device_result<void> synchronize() override;

  [[nodiscard]] device_result<void> copy_async(void* destination, const void* source, std::uint64_t bytes,
                                               stream_handle stream) override;
  [[nodiscard]] device_result<void> set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                              stream_handle stream) override;
  [[nodiscard]] device_result<void> copy_batch_async(std::span<const copy_piece> pieces, stream_handle stream) override;
  [[nodiscard]] device_result<void> launch(const kernel_definition& kernel, const launch_config& shape,
                                           kernel_arguments arguments, stream_handle stream) override;
  [[nodiscard]] device_result<void> launch_host(host_function function, void* data, stream_handle stream) override;

  [[nodiscard]] device_result<void> begin_capture(stream_handle stream, capture_mode mode) override;
  capture_mode exchange_capture_mode(capture_mode mode) noexcept override;
  [[nodiscard]] device_result<graph_handle> end_capture(stream_handle stream) override;
  [[nodiscard]] device_result<void> capture_child(stream_handle stream, graph_handle child) override;
  [[nodiscard]] device_result<graph_shape> get_shape(graph_handle graph) override;
  [[nodiscard]] device_result<void> write_dot(graph_handle graph, const std::string& path, bool verbose) override;
  void destroy_graph(graph_handle graph) noexcept override;
  [[nodiscard]] device_result<graph_exec_handle> instantiate(graph_handle graph, graph_exec_options options) override;
  [[nodiscard]] device_result<void> update_exec(graph_exec_handle exec, graph_handle graph) override;
  [[nodiscard]] device_result<void> upload_exec(graph_exec_handle exec, stream_handle stream) override;
  [[nodiscard]] device_result<void> launch_exec(graph_exec_handle exec, stream_handle stream) override;
  void destroy_exec(graph_exec_handle exec) noexcept override;

  void host_spends(host_work work, std::uint64_t bytes) override;
  void note_file_mapping(const void* address, std::uint64_t bytes, bool writable) override;
  void forget_file_mapping(const void* address) override;

  [[nodiscard]] const simulated::cost_model& costs() const noexcept { return config_.costs; }

 private:
  simulated_config config_;
  device_description description_;
  simulated::driver_calls calls_;

  // Each object uses some of those before it. Streams, captures and graphs hold graph memory, so they are destroyed
  // before it.
  simulated::address_space memory_;
  simulated::memory_budget budget_;
  simulated::graph_memory_pool graph_memory_;
  simulated::stream_table streams_;
  simulated::host_memory host_;
  simulated::address_map addresses_;
  simulated::graph_table graph_table_;
  simulated::captures captures_;
  simulated::engines engines_;
  simulated::managed_memory managed_;
  simulated::scheduler scheduler_;
  simulated::memory_blocks blocks_;
  simulated::virtual_memory virtual_memory_;
  simulated::driver_pools pools_;
  simulated::stream_calls stream_calls_;
  simulated::events events_;
  simulated::sharing sharing_;
  simulated::device_work work_;
  simulated::graphs graphs_;
};

[[nodiscard]] std::shared_ptr<simulated_device> make_simulated_device(simulated_config config = {});

}  // namespace sluice::backend
