#include "instrumentation/backend/simulated/device/device.hpp"

#include <utility>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend {

namespace {

constexpr std::uint32_t context_key_base = 1;
// Size of the address space for the device's memory, for pinned and managed memory, and for pools. Each pool reserves
// addresses for the device's whole memory plus a quarter.
constexpr std::uint64_t address_bytes(std::uint64_t memory) { return 24 * memory + (std::uint64_t{1} << 30); }

device_description describe_device(const simulated_config& config) {
  device_description d;
  d.kind = backend_kind::simulated;
  d.ordinal = config.ordinal;
  d.name = config.name;
  d.memory_bytes = config.memory_bytes;
  // PCIe Gen5 x16: 32 GT/s per lane, 128b/130b coding.
  d.link_generation = 5;
  d.link_width = 16;
  d.link_peak = 32e9 * 16 / 8 * 128 / 130;
  d.attainable_h2d = config.costs.pinned_h2d;
  d.attainable_d2h = config.costs.pinned_d2h;
  d.multiprocessors = 132;
  d.features = config.features;
  d.uuid = {'s', 'l', 'u', 'i', 'c', 'e', '-', 's',
            'i', 'm', 'u', 'l', 'a', 't', 'e', static_cast<std::uint8_t>(config.ordinal)};
  return d;
}

}  // namespace

simulated_device::simulated_device(simulated_config config)
    : config_(std::move(config)),
      description_(describe_device(config_)),
      calls_(config_.costs, config_.ordinal, context_key_base + config_.ordinal),
      memory_(address_bytes(config_.memory_bytes)),
      budget_(config_.memory_bytes, config_.costs.context_bytes),
      graph_memory_(memory_, budget_, calls_.log(), config_.ordinal),
      streams_(calls_.log()),
      host_(calls_, memory_, streams_),
      addresses_(memory_, host_, config_.ordinal),
      captures_(calls_, streams_, addresses_, graph_memory_, graph_table_),
      managed_(calls_, memory_, addresses_, streams_, engines_, budget_),
      scheduler_(calls_, streams_, captures_, engines_, managed_, addresses_, budget_),
      blocks_(calls_, memory_, budget_, streams_, captures_, graph_memory_, managed_),
      virtual_memory_(calls_, memory_, budget_, config_.features.virtual_memory, config_.memory_bytes),
      pools_(calls_, memory_, budget_, streams_, captures_, graph_memory_, config_.features.driver_pools),
      stream_calls_(calls_, streams_, captures_, pools_, scheduler_),
      events_(calls_, streams_, captures_),
      sharing_(calls_, memory_, streams_, pools_, events_, description_.uuid, config_.features.shares_memory),
      work_(calls_, streams_, captures_, scheduler_, memory_, addresses_, host_, config_.features.batches_copies),
      graphs_(calls_, streams_, captures_, scheduler_, graph_table_, graph_memory_, budget_) {}

simulated_device::~simulated_device() = default;

std::shared_ptr<simulated_device> make_simulated_device(simulated_config config) {
  return std::make_shared<simulated_device>(std::move(config));
}

// --- recordings --------------------------------------------------------------------------------------------

void simulated_device::announce() {
  const auto lock = calls_.lock();
  graph_memory_.forget_definition();
  const auto now = static_cast<std::uint64_t>(calls_.clock().now());
  const driver_log& log = calls_.log();
  log.define_device(now, description_);
  streams_.announce(now);
  pools_.announce(now);
  virtual_memory_.announce(now);
  blocks_.announce(now, virtual_memory_);
  log.memory(now, budget_.info());
}

std::uint64_t simulated_device::trace_stream(stream_handle stream) noexcept { return streams_.key(stream); }

// --- queries about addresses -------------------------------------------------------------------------------

std::uint64_t simulated_device::trace_address(const void* address) noexcept {
  const auto lock = calls_.lock();
  return addresses_.name(address);
}

memory_space simulated_device::get_space(const void* address) noexcept {
  const auto lock = calls_.lock();
  return addresses_.space(address);
}

device_result<pointer_info> simulated_device::describe_pointer(const void* address) {
  const auto lock = calls_.lock();
  return addresses_.describe(address, pools_.find_block(address));
}

device_result<void*> simulated_device::get_device_address(void* host_address) {
  const auto about = describe_pointer(host_address);
  if (about && about->mapped) return about->device_address;
  return fail(status::invalid_value, "cuMemHostGetDevicePointer",
              "expected pinned memory that was allocated or registered as mapped", native_invalid);
}

// --- memory ------------------------------------------------------------------------------------------------

device_result<void*> simulated_device::allocate(std::uint64_t bytes) { return blocks_.allocate(bytes); }

device_result<void> simulated_device::free(void* address) { return blocks_.free(address); }

device_result<void*> simulated_device::allocate_async(std::uint64_t bytes, stream_handle stream) {
  return pools_.allocate_async(bytes, stream);
}

device_result<void> simulated_device::free_async(void* address, stream_handle stream) {
  return pools_.free_async(address, stream);
}

device_result<void*> simulated_device::allocate_pinned(std::uint64_t bytes, pinned_flags flags) {
  return blocks_.allocate_pinned(bytes, flags);
}

device_result<void> simulated_device::free_pinned(void* address) { return blocks_.free_pinned(address); }

device_result<void> simulated_device::register_host(void* address, std::uint64_t bytes, registration_flags flags) {
  return host_.register_host(address, bytes, flags);
}

device_result<void> simulated_device::unregister_host(void* address) { return host_.unregister_host(address); }

device_result<void*> simulated_device::allocate_managed(std::uint64_t bytes) { return blocks_.allocate_managed(bytes); }

device_result<void> simulated_device::prefetch(void* address, std::uint64_t bytes, memory_location to,
                                               stream_handle stream) {
  return managed_.prefetch(address, bytes, to, stream);
}

device_result<void> simulated_device::advise(void* address, std::uint64_t bytes, memory_advice advice,
                                             memory_location /*where*/) {
  return managed_.advise(address, bytes, advice);
}

void simulated_device::touch_on_host(void* address, std::uint64_t bytes) { managed_.touch_on_host(address, bytes); }

device_result<memory_info> simulated_device::memory() { return blocks_.memory(); }

// --- virtual memory ----------------------------------------------------------------------------------------

device_result<std::uint64_t> simulated_device::virtual_granularity() { return virtual_memory_.granularity(); }

device_result<void*> simulated_device::reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) {
  return virtual_memory_.reserve_addresses(bytes, alignment);
}

device_result<void> simulated_device::free_addresses(void* address, std::uint64_t bytes) {
  return virtual_memory_.free_addresses(address, bytes);
}

device_result<physical_handle> simulated_device::create_physical(std::uint64_t bytes) {
  return virtual_memory_.create_physical(bytes);
}

device_result<void> simulated_device::release_physical(physical_handle physical) {
  return virtual_memory_.release_physical(physical);
}

device_result<void> simulated_device::map(void* address, std::uint64_t bytes, physical_handle physical) {
  return virtual_memory_.map(address, bytes, physical);
}

device_result<void> simulated_device::unmap(void* address, std::uint64_t bytes) {
  return virtual_memory_.unmap(address, bytes);
}

// --- driver pools ------------------------------------------------------------------------------------------

device_result<pool_handle> simulated_device::create_pool(driver_pool_options options) {
  return pools_.create_pool(options);
}

device_result<void> simulated_device::destroy_pool(pool_handle pool) { return pools_.destroy_pool(pool); }

device_result<void*> simulated_device::allocate_from_pool(pool_handle pool, std::uint64_t bytes, stream_handle stream) {
  return pools_.allocate_from_pool(pool, bytes, stream);
}

device_result<driver_pool_info> simulated_device::pool_info(pool_handle pool) { return pools_.pool_info(pool); }

device_result<void> simulated_device::set_release_threshold(pool_handle pool, std::uint64_t bytes) {
  return pools_.set_release_threshold(pool, bytes);
}

device_result<void> simulated_device::reset_pool_highs(pool_handle pool) { return pools_.reset_pool_highs(pool); }

device_result<void> simulated_device::trim_pool(pool_handle pool, std::uint64_t keep_bytes) {
  return pools_.trim_pool(pool, keep_bytes);
}

// --- sharing -----------------------------------------------------------------------------------------------

device_result<ipc_memory_handle> simulated_device::export_memory(void* address) {
  return sharing_.export_memory(address);
}

device_result<void*> simulated_device::import_memory(const ipc_memory_handle& handle) {
  return sharing_.import_memory(handle);
}

device_result<void> simulated_device::close_memory(void* address) { return sharing_.close_memory(address); }

device_result<ipc_event_handle> simulated_device::export_event(event_handle event) {
  return sharing_.export_event(event);
}

device_result<event_handle> simulated_device::import_event(const ipc_event_handle& handle) {
  return sharing_.import_event(handle);
}

// --- streams and events ------------------------------------------------------------------------------------

device_result<stream_handle> simulated_device::create_stream(stream_flags flags) {
  return stream_calls_.create_stream(flags);
}

void simulated_device::destroy_stream(stream_handle stream) noexcept { stream_calls_.destroy_stream(stream); }

device_result<void> simulated_device::sync_stream(stream_handle stream) { return stream_calls_.sync_stream(stream); }

device_result<bool> simulated_device::stream_idle(stream_handle stream) { return stream_calls_.stream_idle(stream); }

device_result<priority_range> simulated_device::stream_priorities() { return simulated::stream_calls::priorities(); }

device_result<int> simulated_device::stream_priority(stream_handle stream) {
  return stream_calls_.stream_priority(stream);
}

device_result<capture_info> simulated_device::stream_capture(stream_handle stream) {
  return captures_.stream_capture(stream);
}

device_result<event_handle> simulated_device::create_event(event_flags flags) { return events_.create_event(flags); }

void simulated_device::destroy_event(event_handle event) noexcept { events_.destroy_event(event); }

device_result<void> simulated_device::record_event(event_handle event, stream_handle stream) {
  return events_.record_event(event, stream);
}

device_result<void> simulated_device::wait_event(stream_handle stream, event_handle event) {
  return events_.wait_event(stream, event);
}

device_result<void> simulated_device::sync_event(event_handle event) { return events_.sync_event(event); }

device_result<bool> simulated_device::event_done(event_handle event) { return events_.event_done(event); }

device_result<float> simulated_device::elapsed_ms(event_handle begin, event_handle end) {
  return events_.elapsed_ms(begin, end);
}

device_result<void> simulated_device::synchronize() { return stream_calls_.synchronize(); }

// --- work --------------------------------------------------------------------------------------------------

device_result<void> simulated_device::copy_async(void* destination, const void* source, std::uint64_t bytes,
                                                 stream_handle stream) {
  return work_.copy_async(destination, source, bytes, stream);
}

device_result<void> simulated_device::set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                                stream_handle stream) {
  return work_.set_async(address, value, bytes, stream);
}

device_result<void> simulated_device::copy_batch_async(std::span<const copy_piece> pieces, stream_handle stream) {
  return work_.copy_batch_async(pieces, stream);
}

device_result<void> simulated_device::launch(const kernel_definition& kernel, const launch_config& shape,
                                             kernel_arguments arguments, stream_handle stream) {
  return work_.launch(kernel, shape, std::move(arguments), stream);
}

device_result<void> simulated_device::launch_host(host_function function, void* data, stream_handle stream) {
  return work_.launch_host(function, data, stream);
}

// --- graphs ------------------------------------------------------------------------------------------------

device_result<void> simulated_device::begin_capture(stream_handle stream, capture_mode mode) {
  return captures_.begin_capture(stream, mode);
}

capture_mode simulated_device::exchange_capture_mode(capture_mode mode) noexcept {
  return simulated::captures::exchange_capture_mode(mode);
}

device_result<graph_handle> simulated_device::end_capture(stream_handle stream) {
  return captures_.end_capture(stream);
}

device_result<void> simulated_device::capture_child(stream_handle stream, graph_handle child) {
  return captures_.capture_child(stream, child);
}

device_result<graph_shape> simulated_device::get_shape(graph_handle graph) { return graphs_.shape(graph); }

device_result<void> simulated_device::write_dot(graph_handle graph, const std::string& path, bool verbose) {
  return graphs_.write_dot(graph, path, verbose);
}

void simulated_device::destroy_graph(graph_handle graph) noexcept { graphs_.destroy_graph(graph); }

device_result<graph_exec_handle> simulated_device::instantiate(graph_handle graph, graph_exec_options options) {
  return graphs_.instantiate(graph, options);
}

device_result<void> simulated_device::update_exec(graph_exec_handle exec, graph_handle graph) {
  return graphs_.update_exec(exec, graph);
}

device_result<void> simulated_device::upload_exec(graph_exec_handle exec, stream_handle stream) {
  return graphs_.upload_exec(exec, stream);
}

device_result<void> simulated_device::launch_exec(graph_exec_handle exec, stream_handle stream) {
  return graphs_.launch_exec(exec, stream);
}

void simulated_device::destroy_exec(graph_exec_handle exec) noexcept { graphs_.destroy_exec(exec); }

// --- host work ---------------------------------------------------------------------------------------------

void simulated_device::host_spends(host_work work, std::uint64_t bytes) { host_.spend(work, bytes); }

void simulated_device::note_file_mapping(const void* address, std::uint64_t bytes, bool writable) {
  host_.note_file_mapping(address, bytes, writable);
}

void simulated_device::forget_file_mapping(const void* address) { host_.forget_file_mapping(address); }

}  // namespace sluice::backend
