#include "instrumentation/backend/simulated/device.hpp"

#include <algorithm>

// Calls, streams and events. The rest is in memory.cpp, virtual_memory.cpp, pools.cpp, sharing.cpp, work.cpp etc.

namespace sluice::backend {

namespace {

constexpr std::uint32_t context_key_base = 1;
constexpr priority_range priorities{0, -5};  // the range that an H200 reports
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
      log_(config_.ordinal, context_key_base + config_.ordinal),
      memory_(address_bytes(config_.memory_bytes)),
      physical_memory_(config_.memory_bytes) {
  streams_[0] = stream_state{};
  pools_[default_pool];
}

simulated_device::~simulated_device() {
  // Graphs own device memory: destroy them before the memory.
  events_.clear();
  streams_.clear();
  sessions_.clear();
  execs_.clear();
  graphs_.clear();
}

std::shared_ptr<simulated_device> make_simulated_device(simulated_config config) {
  return std::make_shared<simulated_device>(std::move(config));
}

// --- calls -------------------------------------------------------------------------------------------------

simulated_device::entry simulated_device::enter(const char* name, std::int64_t cost) {
  entry e = wait(name, cost);
  e.call.correlation = next_correlation_++;
  return e;
}

simulated_device::entry simulated_device::wait(const char* name, std::int64_t cost) {
  entry e;
  e.lock = std::unique_lock(mutex_);
  const std::int64_t now = clock_.now();
  e.call = {name, static_cast<std::uint64_t>(now), 0};
  e.end = now + cost;
  return e;
}

void simulated_device::leave(entry& e) {
  run_until(e.end);
  e.lock.unlock();
  clock_.advance_to(e.end);
}

void simulated_device::run_until(std::int64_t time) {
  while (!pending_.empty() && pending_.begin()->first.first <= time) {
    const std::function<void()> work = std::move(pending_.begin()->second);
    pending_.erase(pending_.begin());
    if (work) work();
  }
}

bool simulated_device::alive(const void* address, std::uint64_t bytes) {
  if (!memory_.contains(address) || whole(address, bytes)) return true;
  sticky_ = fail(status::failed, "device work", "illegal address: memory was freed while work on it was pending", 700);
  return false;
}

std::int64_t simulated_device::idle_at() const {
  std::int64_t last = 0;
  for (const auto& [id, s] : streams_) last = std::max(last, s.tail);
  return last;
}

// --- streams -----------------------------------------------------------------------------------------------

simulated_device::stream_state* simulated_device::find(stream_handle stream) {
  const auto it = streams_.find(static_cast<std::uint32_t>(stream));
  return it == streams_.end() ? nullptr : &it->second;
}

std::uint64_t simulated_device::key(stream_handle stream) const noexcept {
  return log_.stream_key(stream == stream_handle::null ? 1 : static_cast<std::uint32_t>(stream));
}

std::uint64_t simulated_device::trace_stream(stream_handle stream) noexcept { return key(stream); }

std::int64_t simulated_device::tail_of(stream_handle stream, const stream_state& state) const {
  if (stream != stream_handle::null) {
    return state.blocking ? std::max(state.tail, streams_.find(0)->second.tail) : state.tail;
  }
  std::int64_t last = state.tail;
  for (const auto& [id, s] : streams_) {
    if (s.blocking) last = std::max(last, s.tail);
  }
  return last;
}

device_result<stream_handle> simulated_device::create_stream(stream_flags flags) {
  entry e = wait("cuStreamCreateWithPriority", config_.costs.create_call);
  if (!priorities.contains(flags.priority)) {
    leave(e);
    return fail(status::invalid_value, "cuStreamCreateWithPriority", priorities.refusal(flags.priority));
  }
  const std::uint32_t id = next_stream_++;
  stream_state s;
  s.blocking = !flags.non_blocking;
  s.priority = flags.priority;
  streams_[id] = s;
  log_.define_stream(e.call.begin, id, id, s.priority, false);
  leave(e);
  return stream_handle{id};
}

void simulated_device::destroy_stream(stream_handle stream) noexcept {
  if (stream == stream_handle::null) return;
  entry e = wait("cuStreamDestroy_v2", config_.costs.create_call);
  if (const stream_state* s = find(stream)) {
    if (s->capturing) {
      (void)break_capture(*s->capturing, "cuStreamDestroy", native_unsupported, "a captured stream was destroyed");
      s->capturing->streams.erase(static_cast<std::uint32_t>(stream));
    }
    // The stream's work continues; pool memory freed on the stream becomes free for all streams once that work is done.
    e.end = std::max(e.end, s->tail);
    for (auto& [pool, p] : pools_) p.books.retag(static_cast<std::uint64_t>(stream), suballocator::clean);
    streams_.erase(static_cast<std::uint32_t>(stream));
  }
  leave(e);
}

device_result<void> simulated_device::sync_stream(stream_handle stream) {
  entry e = wait("cuStreamSynchronize", config_.costs.sync_call);
  const stream_state* s = find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamSynchronize", "no such stream");
  if (auto allowed = permitted_to_wait(*s, "cuStreamSynchronize"); !allowed) return allowed;
  if (auto allowed = permitted_on(stream, *s, "cuStreamSynchronize"); !allowed) return allowed;
  if (auto allowed = permitted_unsafe("cuStreamSynchronize"); !allowed) return allowed;
  e.end = std::max(e.end, tail_of(stream, *s));
  run_until(e.end);
  trim_pools(e.end);
  log_.synced(e.call.begin, static_cast<std::uint64_t>(e.end), key(stream), trace::sync_kind::stream);
  log_.watermark(static_cast<std::uint64_t>(e.end));
  leave(e);
  return sticky_;
}

device_result<bool> simulated_device::stream_idle(stream_handle stream) {
  entry e = wait("cuStreamQuery", config_.costs.event_call);
  const stream_state* s = find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamQuery", "no such stream");
  if (auto allowed = permitted_to_wait(*s, "cuStreamQuery"); !allowed) return tl::unexpected(allowed.error());
  if (auto allowed = permitted_on(stream, *s, "cuStreamQuery"); !allowed) return tl::unexpected(allowed.error());
  if (auto allowed = permitted_unsafe("cuStreamQuery"); !allowed) return tl::unexpected(allowed.error());
  const bool idle = tail_of(stream, *s) <= e.end;
  leave(e);
  return idle;
}

device_result<priority_range> simulated_device::stream_priorities() { return priorities; }

device_result<int> simulated_device::stream_priority(stream_handle stream) {
  const std::lock_guard lock(mutex_);
  const stream_state* s = find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamGetPriority", "no such stream");
  return s->priority;
}

device_result<capture_info> simulated_device::stream_capture(stream_handle stream) {
  const std::lock_guard lock(mutex_);
  const stream_state* s = find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamGetCaptureInfo", "no such stream");
  if (!s->capturing) return capture_info{};
  return capture_info{s->capturing->broken ? capture_status::invalidated : capture_status::active, s->capturing->id};
}

device_result<void> simulated_device::synchronize() {
  entry e = wait("cuCtxSynchronize", config_.costs.sync_call);
  if (captures()) {
    // Forbidden in any capture mode, because the call would wait for captured streams.
    return break_capture(*sessions_.begin()->second, "cuCtxSynchronize", native_unsupported,
                         "a stream is being captured, and waiting for it would never end");
  }
  e.end = std::max(e.end, idle_at());
  run_until(e.end);
  trim_pools(e.end);
  log_.synced(e.call.begin, static_cast<std::uint64_t>(e.end), 0, trace::sync_kind::context);
  log_.watermark(static_cast<std::uint64_t>(e.end));
  leave(e);
  return sticky_;
}

// --- events ------------------------------------------------------------------------------------------------

device_result<event_handle> simulated_device::create_event(event_flags flags) {
  entry e = wait("cuEventCreate", config_.costs.event_call);
  event_state made;
  made.timed = flags.timed;
  if (flags.interprocess) made.shared = simulated::shared_event::make();
  if (flags.interprocess && (flags.timed || !made.shared)) {
    leave(e);
    return flags.timed ? fail(status::invalid_value, "cuEventCreate", "an interprocess event cannot be timed")
                       : fail(status::failed, "cuEventCreate", "the system refused the shared memory");
  }
  const std::uint64_t id = next_event_++;
  events_[id] = std::move(made);
  leave(e);
  return event_handle{id};
}

void simulated_device::destroy_event(event_handle event) noexcept {
  entry e = wait("cuEventDestroy_v2", config_.costs.event_call);
  events_.erase(static_cast<std::uint64_t>(event));
  leave(e);
}

device_result<void> simulated_device::record_event(event_handle event, stream_handle stream) {
  entry e = wait("cuEventRecord", config_.costs.event_call);
  const auto it = events_.find(static_cast<std::uint64_t>(event));
  const stream_state* s = find(stream);
  if (it == events_.end() || !s) return fail(status::invalid_value, "cuEventRecord", "no such event or stream");
  if (auto allowed = permitted_on(stream, *s, "cuEventRecord"); !allowed) return allowed;
  it->second.captured = s->capturing;
  if (s->capturing) {
    it->second.after = s->capturing->streams[static_cast<std::uint32_t>(stream)];
    leave(e);
    return {};
  }
  it->second.recorded = true;
  it->second.time = std::max(e.end, tail_of(stream, *s));
  if (it->second.shared) {
    // The other process has its own clock and cannot advance this one, so the recorded work is run now.
    run_until(it->second.time);
    it->second.shared->record(it->second.time);
  }
  log_.event_recorded(e.call.begin, it->first, key(stream));
  leave(e);
  return {};
}

device_result<void> simulated_device::wait_event(stream_handle stream, event_handle event) {
  entry e = wait("cuStreamWaitEvent", config_.costs.event_call);
  const auto it = events_.find(static_cast<std::uint64_t>(event));
  stream_state* s = find(stream);
  if (it == events_.end() || !s) return fail(status::invalid_value, "cuStreamWaitEvent", "no such event or stream");
  if (auto allowed = permitted_on(stream, *s, "cuStreamWaitEvent"); !allowed) return allowed;
  if (s->capturing || it->second.captured) {
    auto joined = join_capture(stream, *s, it->second);
    leave(e);
    return joined;
  }
  s->tail = std::max(s->tail, it->second.when());  // an event that was never recorded blocks no stream
  log_.event_waited(e.call.begin, it->first, key(stream));
  leave(e);
  return {};
}

device_result<void> simulated_device::sync_event(event_handle event) {
  entry e = wait("cuEventSynchronize", config_.costs.sync_call);
  const auto it = events_.find(static_cast<std::uint64_t>(event));
  if (it == events_.end()) return fail(status::invalid_value, "cuEventSynchronize", "no such event");
  if (auto allowed = permitted_to_wait(it->second, "cuEventSynchronize"); !allowed) return allowed;
  if (auto allowed = permitted_unsafe("cuEventSynchronize"); !allowed) return allowed;
  e.end = std::max(e.end, it->second.when());
  log_.synced(e.call.begin, static_cast<std::uint64_t>(e.end), 0, trace::sync_kind::event);
  leave(e);
  return {};
}

device_result<bool> simulated_device::event_done(event_handle event) {
  entry e = wait("cuEventQuery", config_.costs.event_call);
  const auto it = events_.find(static_cast<std::uint64_t>(event));
  if (it == events_.end()) return fail(status::invalid_value, "cuEventQuery", "no such event");
  if (auto allowed = permitted_to_wait(it->second, "cuEventQuery"); !allowed) return tl::unexpected(allowed.error());
  if (auto allowed = permitted_unsafe("cuEventQuery"); !allowed) return tl::unexpected(allowed.error());
  const bool done = it->second.when() <= e.end;
  leave(e);
  return done;
}

device_result<float> simulated_device::elapsed_ms(event_handle from, event_handle to) {
  const std::lock_guard lock(mutex_);
  const auto a = events_.find(static_cast<std::uint64_t>(from));
  const auto b = events_.find(static_cast<std::uint64_t>(to));
  if (a == events_.end() || b == events_.end() || !a->second.timed || !b->second.timed) {
    return fail(status::invalid_value, "cuEventElapsedTime", "both must be timed events of this device");
  }
  const std::int64_t now = clock_.now();
  if (!a->second.recorded || !b->second.recorded || a->second.time > now || b->second.time > now) {
    return fail(status::invalid_value, "cuEventElapsedTime", "both events must be recorded and done");
  }
  return static_cast<float>(static_cast<double>(b->second.time - a->second.time) / 1e6);
}

// --- the recording -----------------------------------------------------------------------------------------

void simulated_device::announce() {
  const std::lock_guard lock(mutex_);
  graph_pool_defined_ = false;
  const auto now = static_cast<std::uint64_t>(clock_.now());
  log_.define_device(now, description_);
  for (const auto& [id, s] : streams_) log_.define_stream(now, id == 0 ? 1 : id, id, s.priority, id == 0);
  for (const auto& [pool, p] : pools_)
    log_.define_pool(now, pool, pool == default_pool ? "driver pool" : "memory pool");
  const driver_log::call none;
  for (const auto& [address, bytes] : memory_.reservations()) {
    log_.allocated(none, now,
                   {memory_.name_of(reinterpret_cast<const void*>(address)), bytes, 0, 0,
                    trace::memory_kind::reservation, ring::flag_born_before});
  }
  for (const auto& [handle, p] : physical_) {
    log_.allocated(none, now, {handle, p.bytes, 0, 0, trace::memory_kind::physical, ring::flag_born_before});
  }
  for (const auto& [address, block] : memory_.blocks()) {
    log_.allocated(none, now,
                   {memory_.name_of(reinterpret_cast<const void*>(address)), block.bytes, 0, 0,
                    block.mapping ? trace::memory_kind::mapping : trace_kind(block.space), ring::flag_born_before,
                    block.mapping ? mappings_[address] : 0});
  }
  log_.memory(now, memory_now());
}

}  // namespace sluice::backend
