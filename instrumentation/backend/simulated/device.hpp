#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "instrumentation/backend/device.hpp"
#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/backend/simulated/address_space.hpp"
#include "instrumentation/backend/simulated/clock.hpp"
#include "instrumentation/backend/simulated/cost_model.hpp"
#include "instrumentation/backend/simulated/graph.hpp"
#include "instrumentation/backend/simulated/numbers.hpp"
#include "instrumentation/backend/simulated/physical_memory.hpp"
#include "instrumentation/backend/simulated/shared_event.hpp"
#include "instrumentation/backend/simulated/timeline.hpp"
#include "instrumentation/backend/simulated/work_item.hpp"

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
class simulated_device : public device {
 public:
  explicit simulated_device(simulated_config config);
  ~simulated_device() override;

  [[nodiscard]] const device_description& description() const noexcept override { return description_; }
  [[nodiscard]] simulated_clock* clock() noexcept override { return &clock_; }
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
  [[nodiscard]] memory_space space_of(const void* address) noexcept override;
  [[nodiscard]] device_result<pointer_info> describe_pointer(const void* address) override;
  [[nodiscard]] device_result<void*> device_address_of(void* host_address) override;

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
  [[nodiscard]] device_result<float> elapsed_ms(event_handle from, event_handle to) override;
  [[nodiscard]] device_result<void> synchronize() override;

  [[nodiscard]] device_result<void> copy_async(void* to, const void* from, std::uint64_t bytes,
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
  [[nodiscard]] device_result<graph_shape> shape_of(graph_handle graph) override;
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
  using capture = std::shared_ptr<simulated::capture_session>;
  struct stream_state {
    std::int64_t tail = 0;  // end time of everything enqueued
    bool blocking = true;
    int priority = 0;
    capture capturing;  // the active capture of this stream, or null
  };
  struct event_state {
    std::int64_t time = 0;
    bool recorded = false;
    bool timed = false;
    capture captured;                                 // the capture in which the event was last recorded, or null
    simulated::frontier after;                        // the nodes that precede the event in `captured`
    std::shared_ptr<simulated::shared_event> shared;  // if shared between processes: holds the time of the last record

    [[nodiscard]] std::int64_t when() const { return shared ? shared->time() : time; }
  };
  // A stream-ordered pool of the driver.
  struct pool_state {
    suballocator books{512};
    std::uint64_t max_bytes = 0;
    std::uint64_t threshold = 0;
    std::uint64_t reserved_high = 0, used_high = 0;
    std::int64_t last_sample = 0;
    bool destroyed = false;  // erased with its last block
  };
  using pool_map = std::map<std::uint64_t, pool_state>;
  struct physical_state {
    std::uint64_t offset = 0, bytes = 0;
    std::uint64_t mappings = 0;
    bool released = false;
  };
  // Host memory of the program that the driver knows: registered ranges and file mappings.
  struct host_range {
    std::uint64_t bytes = 0;
    std::uint64_t name = 0;  // its address in traces
    pinned_flags flags{};    // if registered
    bool writable = false;   // if a file mapping
  };
  struct managed_block {
    std::uint64_t bytes = 0;
    std::vector<std::uint8_t> where;  // one per migration piece: bits `at_host`, `at_device`
    bool read_mostly = false;
  };
  static constexpr std::uint8_t at_host = 1, at_device = 2;

  // One API call in progress: holds the device's lock, the call's times and its identity in the trace.
  struct entry {
    std::unique_lock<std::mutex> lock;
    driver_log::call call;
    std::int64_t end = 0;
  };
  using span = simulated::span;
  using engine = simulated::engine;
  using work_item = simulated::work_item;

  // `enter` begins a call that is recorded, with a correlation id; `wait` begins a call that is not recorded, such as a
  // query.
  [[nodiscard]] entry enter(const char* name, std::int64_t cost);
  [[nodiscard]] entry wait(const char* name, std::int64_t cost);
  // Ends a call: runs the work that ends by the call's end, releases the lock and advances the thread's clock.
  void leave(entry& e);
  void run_until(std::int64_t time);
  // Returns false if memory that the work needs has been freed. Every later synchronization then reports an illegal
  // address.
  [[nodiscard]] bool alive(const void* address, std::uint64_t bytes);
  [[nodiscard]] std::int64_t idle_at() const;  // end time of everything enqueued on all streams

  [[nodiscard]] stream_state* find(stream_handle stream);
  [[nodiscard]] std::int64_t tail_of(stream_handle stream, const stream_state& state) const;
  [[nodiscard]] std::uint64_t key(stream_handle stream) const noexcept;
  [[nodiscard]] simulated::timeline* timeline_of(engine which, int priority);
  // Schedules work no earlier than `ready`, and the migration of its managed memory no earlier than `faults_from`.
  span start(const work_item& item, std::int64_t faults_from, std::int64_t ready, int priority);
  // Enqueues work on a stream and records the call. If the host has to wait, `e.end` is moved to the end of the wait.
  span enqueue(entry& e, stream_handle stream, stream_state& state, const work_item& item);
  [[nodiscard]] device_result<void> enqueue(entry& e, stream_handle stream, device_result<work_item> item);
  [[nodiscard]] device_result<work_item> copy_item(void* to, const void* from, std::uint64_t bytes);
  [[nodiscard]] device_result<work_item> set_item(void* address, std::uint8_t value, std::uint64_t bytes);
  [[nodiscard]] device_result<work_item> launch_item(const kernel_definition& kernel, const launch_config& shape,
                                                     kernel_arguments arguments);

  // Captures. `permitted_*` return an error if a call is forbidden now, and invalidate the captures that the call
  // disturbs.
  [[nodiscard]] bool captures() const noexcept { return !sessions_.empty(); }
  [[nodiscard]] device_result<void> permitted_unsafe(const char* call);
  [[nodiscard]] device_result<void> permitted_on(stream_handle stream, const stream_state& s, const char* call);
  [[nodiscard]] device_result<void> permitted_to_wait(const stream_state& s, const char* call);
  [[nodiscard]] device_result<void> permitted_to_wait(const event_state& event, const char* call);
  [[nodiscard]] tl::unexpected<failure> break_capture(simulated::capture_session& c, const char* call, int native,
                                                      const char* why);
  [[nodiscard]] device_result<void> join_capture(stream_handle stream, stream_state& s, const event_state& event);
  simulated::graph_node& add_node(stream_handle stream, const stream_state& s, graph_node_kind kind);
  [[nodiscard]] device_result<void> capture_item(entry& e, stream_handle stream, const stream_state& s, work_item item);
  [[nodiscard]] device_result<void*> capture_allocation(entry& e, stream_handle stream, const stream_state& s,
                                                        std::uint64_t bytes);
  [[nodiscard]] device_result<void> capture_free(entry& e, stream_handle stream, const stream_state& s, void* address);
  [[nodiscard]] std::shared_ptr<simulated::graph_memory> graph_memory_at(const void* address) const noexcept;
  void set_live(simulated::graph_memory& memory, bool live, std::int64_t now);
  [[nodiscard]] device_result<void> launchable(const simulated::graph_exec_state& exec, std::int64_t now);
  // Runs a graph no earlier than `ready`; returns its end time.
  std::int64_t run_graph(const entry& e, const simulated::graph_body& body, const simulated::graph_exec_state& exec,
                         std::int64_t ready, int priority, std::uint64_t stream_key);

  [[nodiscard]] std::uint64_t device_bytes_used() const noexcept;
  [[nodiscard]] memory_info memory_now() const noexcept;
  [[nodiscard]] device_result<void*> allocate_block(entry& e, std::uint64_t bytes, memory_space space,
                                                    pinned_flags flags);
  [[nodiscard]] device_result<void> free_block(entry& e, void* address, memory_space space);
  [[nodiscard]] device_result<void*> take_from_pool(entry& e, std::uint64_t key, std::uint64_t bytes,
                                                    stream_handle stream);
  [[nodiscard]] pool_map::iterator pool_at(pool_handle pool);
  [[nodiscard]] const suballocator::block* pool_block(const void* address) const noexcept;
  void sample_pool(std::uint64_t key, pool_state& pool, std::int64_t now);
  void log_pool(std::uint64_t key, const pool_state& pool, std::int64_t now, trace::pool_operation operation) const;
  // Releases free segments while at least `keep` bytes stay reserved.
  void shrink_pool(std::uint64_t key, pool_state& pool, std::int64_t now, std::uint64_t keep,
                   trace::pool_operation operation);
  void trim_pools(std::int64_t now);
  [[nodiscard]] bool grow_pool(entry& e, std::uint64_t key, pool_state& pool, std::uint64_t bytes);
  void drop_unmapped(std::map<std::uint64_t, physical_state>::iterator physical, std::int64_t now);

  [[nodiscard]] const host_range* range_of(const std::map<std::uint64_t, host_range>& ranges,
                                           const void* address) const noexcept;
  [[nodiscard]] memory_space space_locked(const void* address) const noexcept;
  [[nodiscard]] std::uint64_t name_locked(const void* address) const noexcept;
  [[nodiscard]] bool whole(const void* address, std::uint64_t bytes) const noexcept;
  // True if a kernel may access the range: live device, managed or pinned memory, or host memory registered as mapped.
  [[nodiscard]] bool reachable(const void* address, std::uint64_t bytes) const noexcept;
  [[nodiscard]] double copy_rate(const void* to, const void* from, memory_space to_space,
                                 memory_space from_space) const;

  // Moves the range to the device (if `to_device`) or to the host, piece by piece from `ready` on. Returns when the
  // last piece arrives.
  std::int64_t migrate(const void* address, std::uint64_t bytes, bool to_device, bool written, std::int64_t ready,
                       double rate, std::int64_t latency, trace::migration_cause cause);
  void evict_for(std::uint64_t bytes, std::uint64_t keep_block, std::int64_t ready);

  simulated_config config_;
  device_description description_;
  simulated_clock clock_;
  driver_log log_;
  mutable std::mutex mutex_;
  simulated::address_space memory_;
  simulated::physical_memory physical_memory_;
  std::map<std::uint64_t, physical_state> physical_;  // by handle
  std::map<std::uint64_t, std::uint64_t> mappings_;   // address -> handle
  std::map<std::uint64_t, std::uint64_t> imports_;    // address -> number of imports not closed yet
  std::map<std::string, std::uint64_t> imported_;     // handle's bytes -> address
  pool_map pools_;
  std::map<std::uint64_t, host_range> registered_;
  std::map<std::uint64_t, host_range> file_mappings_;
  std::map<std::uint64_t, managed_block> managed_;
  std::uint64_t next_host_name_ = 0x5000'0000'0000;
  std::uint64_t device_bytes_ = 0;   // from allocate(), rounded as the driver does, and physical memory
  std::uint64_t managed_bytes_ = 0;  // pieces of managed blocks on the device
  std::map<std::uint32_t, stream_state> streams_;
  std::map<std::uint64_t, event_state> events_;
  std::uint32_t next_stream_ = 2;  // 1 is the default stream in traces
  std::uint64_t next_event_ = 1;
  std::uint64_t next_physical_ = 1;
  std::uint64_t next_pool_ = 2;  // 1 is the default pool in traces
  std::uint32_t next_correlation_ = 1;
  simulated::timeline to_device_, to_host_, within_;
  std::map<int, simulated::timeline> compute_;                                       // by priority
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> pending_;  // key: (end, sequence)
  std::uint64_t next_sequence_ = 0;
  std::map<std::uint64_t, capture> sessions_;  // active captures, by id
  std::map<std::uint64_t, simulated::graph_state> graphs_;
  std::map<std::uint64_t, simulated::graph_exec_state> execs_;
  std::map<std::uint64_t, std::weak_ptr<simulated::graph_memory>> graph_memory_;  // by address
  std::uint64_t graph_bytes_ = 0;                                                 // live memory of graphs
  std::uint64_t next_capture_ = 1;
  std::uint64_t next_graph_ = 1;
  std::uint64_t next_node_ = 1;
  bool graph_pool_defined_ = false;
  device_result<void> sticky_;  // the error of failed work; stays set, as in CUDA
};

[[nodiscard]] std::shared_ptr<simulated_device> make_simulated_device(simulated_config config = {});

}  // namespace sluice::backend
