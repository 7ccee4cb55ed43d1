#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "instrumentation/backend/cuda/capture_library.hpp"
#include "instrumentation/backend/cuda/driver.hpp"
#include "instrumentation/backend/device.hpp"
#include "instrumentation/backend/driver_log.hpp"

namespace sluice::backend::cuda {

/// Makes a device's context current on the calling thread; the destructor restores the previous context. If the thread
/// had no context, the first device's context stays current, as in the CUDA runtime, which saves two calls in programs
/// that use one device.
class entered {
 public:
  entered(const driver& d, CUresult result, CUcontext before, bool restores) noexcept
      : driver_(d), result_(result), before_(before), restores_(restores) {}
  ~entered() {
    if (restores_) driver_.context_set(before_);
  }
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;
  [[nodiscard]] CUresult result() const noexcept { return result_; }

 private:
  const driver& driver_;
  CUresult result_;
  CUcontext before_;
  bool restores_;
};

/// One CUDA device, used through the driver API in its primary context (shared with the CUDA runtime of the program).
///
/// Under `sluice record`, or if a program that records itself has started the capture library, that library records
/// every driver call made here, and this class records nothing. Without the library or without CUPTI, this class writes
/// the records of the driver layer. Allocations are then exact. The times of copies, memsets and kernels come from
/// pairs of events and are marked as estimated.
class cuda_device final : public device {
 public:
  cuda_device(const driver& d, CUdevice which, device_description description);
  ~cuda_device() override;

  [[nodiscard]] const device_description& description() const noexcept override { return description_; }
  [[nodiscard]] bool driver_layer_recorded() const noexcept override { return capture_records(); }
  [[nodiscard]] device_result<void*> make_current() override;
  void restore_current(void* before) noexcept override;
  [[nodiscard]] bool in_use() const noexcept override { return in_use_.load(std::memory_order_acquire); }
  void recording_begins(const std::string& socket_name) override;
  void recording_ends() override;
  [[nodiscard]] std::string driver_version() const override;
  void announce() override;
  [[nodiscard]] std::uint64_t trace_stream(stream_handle stream) noexcept override;
  [[nodiscard]] std::uint64_t trace_address(const void* address) noexcept override {
    return reinterpret_cast<std::uint64_t>(address);
  }

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
  void touch_on_host(void* /*address*/, std::uint64_t /*bytes*/) override {}
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
  [[nodiscard]] device_result<float> elapsed_ms(event_handle handle, event_handle to) override;
  [[nodiscard]] device_result<void> synchronize() override;

  [[nodiscard]] device_result<void> copy_async(void* to, const void* source, std::uint64_t bytes,
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

 private:
  // Two events around a piece of device work, and the function that writes its record once both times are known.
  struct estimate {
    CUevent from = nullptr, to = nullptr;
    std::function<void(std::uint64_t begin, std::uint64_t end)> write;
  };

  // Makes this device's context current; every public function begins with this call.
  [[nodiscard]] entered enter() noexcept;
  void open() noexcept;
  [[nodiscard]] std::uint64_t ask_for_name(stream_handle stream) noexcept;
  // True if this program or a library is capturing the stream. The stream's work then becomes graph nodes, and the
  // stream may not be queried. Also true for the default stream while a query would disturb another stream's capture.
  [[nodiscard]] bool is_captured(stream_handle stream) noexcept;
  // Sets the context number used in records: CUPTI's number if the capture library records too, else the driver's.
  void name_context() noexcept;
  [[nodiscard]] device_result<void> check(CUresult result, const char* call) const;
  [[nodiscard]] bool logging() const noexcept { return driver_log::on() && !capture_records(); }
  [[nodiscard]] driver_log::call begin_call(const char* name) noexcept;
  device_result<void*> allocated(CUresult result, const driver_log::call& c, const driver_log::alloc& alloc);
  device_result<void> freed(CUresult result, const driver_log::call& c, const void* address, trace::memory_kind kind,
                            std::uint64_t stream);
  device_result<void*> allocated_from_pool(CUresult result, const driver_log::call& c, std::uint64_t address,
                                           std::uint64_t bytes, std::uint64_t pool, stream_handle stream);
  // Stores the driver's own pool handle in `out`; for a null `pool`, the handle of the device's default pool.
  [[nodiscard]] CUresult native_pool(pool_handle pool, CUmemoryPool* out) noexcept;
  // The memory space and the device of an address.
  struct pointer_location {
    memory_space space = memory_space::pageable;
    int ordinal = -1;
  };
  [[nodiscard]] pointer_location get_place(const void* address) noexcept;
  // True if the two addresses are memory of two different devices. The driver copies between cuMemAlloc blocks of two
  // devices by itself. Memory mapped for one device needs a copy call that names both devices.
  [[nodiscard]] static bool are_peers(const pointer_location& a, const pointer_location& b) noexcept {
    return a.space == memory_space::device && b.space == memory_space::device && a.ordinal != b.ordinal;
  }
  [[nodiscard]] bool crosses_devices(std::span<const copy_piece> pieces) noexcept;
  // Returns the context that owns memory of the given device.
  [[nodiscard]] CUcontext context_for(int ordinal, const void* address) noexcept;
  // Returns the graph that the stream is being captured into, or null.
  [[nodiscard]] CUgraph captured_graph(stream_handle stream) noexcept;
  [[nodiscard]] std::uint64_t pool_key(pool_handle pool) const noexcept;
  void log_pool(pool_handle pool, trace::pool_operation operation);
  [[nodiscard]] CUmemAllocationProp physical_properties() const noexcept;
  [[nodiscard]] device_result<CUfunction> function(const kernel_definition& kernel);

  // Functions for estimated times. `around` runs `enqueue` between two events; `harvest` writes the records of finished
  // work.
  template <class Enqueue, class Write>
  CUresult around(CUstream stream, Enqueue&& enqueue, Write&& write);
  void harvest(bool complete);
  // Records a new reference event that relates device time to host time. Needs the mutex held and no pending estimates.
  void set_anchor();
  [[nodiscard]] CUevent spare_event();

  const driver& driver_;
  CUdevice device_;
  std::once_flag opening_;  // the primary context is retained at first use
  CUcontext context_ = nullptr;
  CUresult opened_ = CUDA_SUCCESS;
  std::atomic<bool> in_use_{false};
  device_description description_;
  std::unique_ptr<driver_log> log_;
  std::atomic<std::uint32_t> next_correlation_{1};

  std::mutex functions_mutex_;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction, std::less<>> functions_;

  // The keys that records use for the streams created or captured here. They are kept because a captured stream cannot
  // be queried.
  std::mutex names_mutex_;
  std::map<stream_handle, std::uint64_t> stream_names_;
  std::atomic<bool> graph_pool_defined_{false};

  std::mutex estimates_mutex_;
  std::deque<estimate> estimates_;
  std::vector<CUevent> spare_events_;
  CUstream anchor_stream_ = nullptr;  // private: recording on the default stream would end captures that wait for it
  CUevent anchor_ = nullptr;          // the reference event
  std::uint64_t anchor_time_ = 0;     // when `anchor_` completed, on the host's clock
};

}  // namespace sluice::backend::cuda
