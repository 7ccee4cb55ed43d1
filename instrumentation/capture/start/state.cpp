#include "instrumentation/capture/process/state.hpp"

#include <pthread.h>
#include <sched.h>

#include "instrumentation/capture/blocks/contents.hpp"
#include "instrumentation/capture/blocks/faults.hpp"
#include "instrumentation/capture/blocks/live_blocks.hpp"
#include "instrumentation/capture/blocks/touches.hpp"
#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

gate sampler_gate;
context_entry contexts[max_contexts];
std::atomic<bool> any_context{false};
pool_entry pools[max_pools];
pending_work pending;
SLUICE_HOT_DATA constinit std::atomic<std::int32_t> captures{0};
SLUICE_HOT_DATA constinit std::atomic<bool> memory_changed{false};
std::atomic<bool> live_blocks_unsure{false};
std::atomic<std::uint32_t> contexts_gone{0};
SLUICE_HOT_DATA constinit std::atomic<bool> paused{false};

bool gate::lock() noexcept {
  constexpr std::uint64_t timeout_ns = 1'000'000'000;
  std::uint64_t begin = 0;
  while (held_.exchange(true, std::memory_order_acquire)) {
    if (stuck_.load(std::memory_order_relaxed)) return false;
    const std::uint64_t now = ring::monotonic_now();
    if (begin == 0) begin = now;
    if (now - begin > timeout_ns) {
      stuck_.store(true, std::memory_order_relaxed);
      return false;
    }
    sched_yield();
  }
  return true;
}

// --- contexts --------------------------------------------------------------------------------------------------------

namespace {
/// device + 1 and id of each context, indexed by id, because there are few contexts and their ids are consecutive.
constexpr unsigned device_slots = 1024;
std::atomic<std::uint64_t> device_by_context[device_slots];
}  // namespace
SLUICE_HOT_DATA constinit std::atomic<std::uint32_t> fresh_contexts{0};

bool add_context(CUcontext handle, std::uint32_t id, std::uint32_t device) noexcept {
  const std::uint64_t packed = (std::uint64_t{id} << 32) | (device + 1);
  if (device_by_context[id % device_slots].exchange(packed) == packed) return false;
  for (context_entry& entry : contexts) {
    std::uint32_t expected = context_entry::unused;
    if (!entry.state.compare_exchange_strong(expected, context_entry::claimed)) continue;
    entry.handle.store(handle);
    entry.id.store(id);
    entry.device.store(device);
    entry.state.store(context_entry::fresh, std::memory_order_release);
    fresh_contexts.fetch_add(1, std::memory_order_release);
    break;
  }
  return true;
}

bool knows_context(std::uint32_t id) noexcept {
  return (device_by_context[id % device_slots].load(std::memory_order_relaxed) >> 32) == id;
}

void open_context(std::uint32_t id) noexcept {
  if (fresh_contexts.load(std::memory_order_relaxed) == 0) return;
  for (context_entry& entry : contexts) {
    std::uint32_t expected = context_entry::fresh;
    if (entry.id.load() != id || !entry.state.compare_exchange_strong(expected, context_entry::alive)) continue;
    fresh_contexts.fetch_sub(1, std::memory_order_relaxed);
    any_context.store(true, std::memory_order_release);
    wake_flushing();
  }
}

void remove_context(CUcontext handle) noexcept {
  for (context_entry& entry : contexts) {
    const std::uint32_t state = entry.state.load(std::memory_order_acquire);
    if (state < context_entry::fresh || entry.handle.load() != handle) continue;
    if (state == context_entry::fresh) fresh_contexts.fetch_sub(1, std::memory_order_relaxed);
    contexts_gone.fetch_add(1, std::memory_order_release);
    // The entry of the destroying call has already closed the context, unless the driver destroys it on its own.
    entry.handle.store(nullptr);
    entry.state.store(context_entry::unused, std::memory_order_release);
  }
}

void close_contexts(CUcontext handle, std::uint32_t device) noexcept {
  const bool locked = sampler_gate.lock();
  for (context_entry& entry : contexts) {
    if (handle != nullptr ? entry.handle.load() != handle : entry.device.load() != device) continue;
    std::uint32_t expected = context_entry::alive;
    entry.state.compare_exchange_strong(expected, context_entry::closing);
  }
  if (locked) sampler_gate.unlock();
}

void reopen_contexts() noexcept {
  for (context_entry& entry : contexts) {
    std::uint32_t expected = context_entry::closing;
    entry.state.compare_exchange_strong(expected, context_entry::alive);
  }
}

bool has_context(std::uint32_t device) noexcept {
  for (const context_entry& entry : contexts) {
    if (entry.state.load(std::memory_order_acquire) >= context_entry::fresh && entry.device.load() == device)
      return true;
  }
  return false;
}

std::uint32_t find_device(std::uint32_t context_id) noexcept {
  const std::uint64_t packed = device_by_context[context_id % device_slots].load(std::memory_order_acquire);
  if (packed == 0 || (packed >> 32) != context_id) return ring::no_device;
  return static_cast<std::uint32_t>(packed) - 1;
}

// --- streams ---------------------------------------------------------------------------------------------------------

namespace {

/// A slot of a table with open addressing. Keeps its handle forever (the driver reuses handles). `packed` contains the
/// context and the stream number, or 0 if unknown.
struct stream_slot {
  std::atomic<std::uint64_t> handle{0};
  std::atomic<std::uint64_t> packed{0};
};
constexpr unsigned stream_slots = 4096;
constexpr unsigned stream_probes = 16;
stream_slot streams[stream_slots];

/// A handle's key in the table. It is not 0 even for the null stream, because 0 marks an unused slot.
std::uint64_t get_key(CUstream stream) { return reinterpret_cast<std::uint64_t>(stream) + 1; }
unsigned get_slot(std::uint64_t key, std::uint32_t context, unsigned probe) {
  const std::uint64_t mixed = (key ^ (std::uint64_t{context} << 40)) * 0x9E3779B97F4A7C15U;
  return static_cast<unsigned>((mixed >> 40) + probe) % stream_slots;
}

void announce_stream(CUstream stream, std::uint64_t key, std::uint64_t name = 0) {
  ring::stream_record out{};
  out.header.time = ring::now();
  out.header.flags = stream == nullptr ? ring::flag_default_stream : 0U;
  out.stream = key;
  out.handle = reinterpret_cast<std::uint64_t>(stream);
  out.name = name;
  int priority = 0;
  const bool may_ask = captures.load(std::memory_order_relaxed) <= 0;
  if (stream != nullptr && may_ask && driver.stream_priority != nullptr &&
      driver.stream_priority(stream, &priority) == CUDA_SUCCESS) {
    out.priority = priority;
  }
  ring::emit(out);
}

void remember_stream(std::uint64_t key, std::uint32_t context, std::uint64_t packed) {
  for (unsigned probe = 0; probe < stream_probes; ++probe) {
    stream_slot& slot = streams[get_slot(key, context, probe)];
    std::uint64_t expected = 0;
    const bool ours = slot.handle.compare_exchange_strong(expected, key);
    if (!ours && expected != key) continue;
    std::uint64_t unknown = 0;
    if (slot.packed.compare_exchange_strong(unknown, packed) || (unknown >> 32) == context) return;
  }
}

/// Marks our own numbers for streams first seen during a capture. The driver's numbers are small.
constexpr std::uint32_t unasked = 0x8000'0000U;
std::atomic<std::uint32_t> last_unasked{0};

/// Asks for a stream's number: CUPTI's or the driver's, either of which differs for a later stream with the same
/// handle. During a capture, the driver must not be asked: cuStreamGetId etc. then fail and invalidate the capture
/// (according to CCCL, and observed on an H200). cuStreamIsCapturing and cuStreamGetCaptureInfo are safe.
bool ask_stream_number(CUcontext context, CUstream stream, bool per_thread_default, std::uint32_t& number) {
  if (!entry_points::in_use()) {
    return cupti.stream_id(context, stream, per_thread_default ? 1 : 0, &number) == CUPTI_SUCCESS;
  }
  if (captures.load(std::memory_order_relaxed) > 0) {
    const auto thread = static_cast<std::uint32_t>(pthread_self() >> 6);
    number = unasked | (per_thread_default ? thread : last_unasked.fetch_add(1, std::memory_order_relaxed));
    return true;
  }
  if (stream == nullptr) stream = per_thread_default ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  unsigned long long id = 0;
  if (driver.stream_id(stream, &id) != CUDA_SUCCESS) return false;
  number = static_cast<std::uint32_t>(id) & ~unasked;
  return true;
}

}  // namespace

namespace {

/// The stream's key, if it is at this place.
SLUICE_INLINE std::uint64_t stream_at(std::uint64_t key, std::uint32_t context_id, unsigned probe) {
  const stream_slot& slot = streams[get_slot(key, context_id, probe)];
  if (slot.handle.load(std::memory_order_acquire) != key) return 0;
  const std::uint64_t packed = slot.packed.load(std::memory_order_acquire);
  return (packed >> 32) == context_id ? packed : 0;
}

SLUICE_RARE std::uint64_t find_stream(CUcontext context, std::uint32_t context_id, CUstream stream,
                                      bool per_thread_default) {
  if (stream == CU_STREAM_LEGACY) {
    stream = nullptr;
    per_thread_default = false;
  }
  if (stream == CU_STREAM_PER_THREAD) stream = nullptr, per_thread_default = true;
  const bool cached = stream != nullptr || !per_thread_default;
  const std::uint64_t key = get_key(stream);
  for (unsigned probe = 0; cached && probe < stream_probes; ++probe) {
    const std::uint64_t packed = stream_at(key, context_id, probe);
    if (packed != 0) return packed;
  }
  std::uint32_t number = 0;
  if (context == nullptr || !ask_stream_number(context, stream, per_thread_default, number)) return 0;
  const std::uint64_t packed = ring::stream_key(context_id, number);
  if (cached) {
    remember_stream(key, context_id, packed);
    announce_stream(stream, packed);
  }
  return packed;
}

}  // namespace

SLUICE_HOT std::uint64_t get_stream_key(CUcontext context, std::uint32_t context_id, CUstream stream,
                                        bool per_thread_default) noexcept {
  // Nearly all streams are found at the first probe.
  if (stream != nullptr || !per_thread_default) [[likely]] {
    const std::uint64_t packed = stream_at(get_key(stream), context_id, 0);
    if (packed != 0) [[likely]]
      return packed;
  }
  return find_stream(context, context_id, stream, per_thread_default);
}

void name_stream(CUstream stream, std::uint64_t name) noexcept {
  if (entry_points::in_use() && captures.load(std::memory_order_relaxed) > 0)
    return;  // The stream's context must not be queried now.
  for (const context_entry& context : contexts) {
    const std::uint32_t state = context.state.load(std::memory_order_acquire);
    if (state != context_entry::fresh && state != context_entry::alive) continue;
    // A stream belongs to one context: CUPTI knows the stream only there, and the driver reports the context.
    CUcontext owner = nullptr;
    const bool elsewhere = entry_points::in_use() && driver.stream_context != nullptr &&
                           driver.stream_context(stream, &owner) == CUDA_SUCCESS && owner != context.handle.load();
    if (elsewhere) continue;
    const std::uint64_t key = get_stream_key(context.handle.load(), context.id.load(), stream, false);
    if (key == 0) continue;
    announce_stream(stream, key, name);
    return;
  }
}

void forget_stream(std::uint32_t context_id, CUstream stream) noexcept {
  const std::uint64_t key = get_key(stream);
  for (unsigned probe = 0; probe < stream_probes; ++probe) {
    stream_slot& slot = streams[get_slot(key, context_id, probe)];
    if (slot.handle.load(std::memory_order_acquire) != key) continue;
    if ((slot.packed.load(std::memory_order_acquire) >> 32) == context_id)
      slot.packed.store(0, std::memory_order_release);
  }
}

// --- pools -----------------------------------------------------------------------------------------------------------

namespace {
std::atomic<std::uint64_t> current_pools[max_devices];
std::atomic<bool> graph_pools[max_devices];
SLUICE_HOT_DATA constinit std::atomic<std::uint64_t> last_known_pool{0};

void announce_pool(std::uint64_t handle, std::uint32_t device, const char* name) {
  ring::pool_record record{};
  record.header.time = ring::now();
  record.pool = handle;
  record.device = device;
  record.layer = raw(trace::layer::driver);  // The pool's own layer; its blocks are in the pool layer.
  record.kind = raw(trace::memory_kind::device);
  record.name = ring::intern(name);
  ring::emit(record);
}
}  // namespace

std::uint64_t graph_pool(std::uint32_t device) noexcept {
  if (device >= max_devices) return 0;
  const std::uint64_t key = (std::uint64_t{0x6770} << 48) | device;
  if (!graph_pools[device].exchange(true)) announce_pool(key, device, "graph memory");
  return key;
}

bool has_graph_pool(std::uint32_t device) noexcept {
  return device < max_devices && graph_pools[device].load(std::memory_order_relaxed);
}

void add_pool(std::uint64_t handle, std::uint32_t device, const char* name) noexcept {
  for (const pool_entry& entry : pools) {
    if (entry.handle.load(std::memory_order_acquire) == handle) return;
  }
  announce_pool(handle, device, name);
  for (pool_entry& entry : pools) {
    std::uint64_t expected = 0;
    // A sampler that sees the new handle with the old device still queries the right pool.
    if (!entry.handle.compare_exchange_strong(expected, handle)) continue;
    entry.device.store(device);
    return;
  }
}

SLUICE_HOT void know_pool(std::uint64_t handle, std::uint32_t device) noexcept {
  if (handle == last_known_pool.load(std::memory_order_relaxed)) return;
  add_pool(handle, device, "memory pool");
  last_known_pool.store(handle, std::memory_order_relaxed);
}

void remove_pool(std::uint64_t handle) noexcept {
  last_known_pool.store(0, std::memory_order_relaxed);
  const bool locked = sampler_gate.lock();
  for (pool_entry& entry : pools) {
    if (entry.handle.load() != handle) continue;
    entry.reserved = entry.used = 0;
    entry.handle.store(0);
  }
  if (locked) sampler_gate.unlock();
}

std::uint64_t current_pool(std::uint32_t device) noexcept {
  if (device >= max_devices || driver.device_get == nullptr || driver.device_pool == nullptr) return 0;
  std::uint64_t handle = current_pools[device].load(std::memory_order_acquire);
  // During a capture, avoid queries that may wait.
  if (handle != 0 || captures.load(std::memory_order_relaxed) > 0) return handle;
  CUdevice number = 0;
  CUmemoryPool pool = nullptr;
  if (driver.device_get(&number, static_cast<int>(device)) != CUDA_SUCCESS ||
      driver.device_pool(&pool, number) != CUDA_SUCCESS) {
    return 0;
  }
  handle = reinterpret_cast<std::uint64_t>(pool);
  add_pool(handle, device, "default pool");
  current_pools[device].store(handle, std::memory_order_release);
  return handle;
}

void forget_current_pool(std::uint32_t device) noexcept {
  if (device < max_devices) current_pools[device].store(0, std::memory_order_release);
}

// --- everything ------------------------------------------------------------------------------------------------------

// --- graphs ----------------------------------------------------------------------------------------------------------

namespace {
/// `call` is 0 while `graph` is being changed.
struct graph_launch_slot {
  std::atomic<std::uint32_t> call{0};
  std::atomic<std::uint64_t> graph{0};
};
constexpr unsigned graph_launch_slots = 4096;
graph_launch_slot graph_launches[graph_launch_slots];
}  // namespace

void note_graph_launch(std::uint32_t call, std::uint64_t graph) noexcept {
  graph_launch_slot& slot = graph_launches[call % graph_launch_slots];
  slot.call.store(0, std::memory_order_release);
  slot.graph.store(graph, std::memory_order_release);
  slot.call.store(call, std::memory_order_release);
}

std::uint64_t graph_of_launch(std::uint32_t call) noexcept {
  const graph_launch_slot& slot = graph_launches[call % graph_launch_slots];
  const bool known = slot.call.load(std::memory_order_acquire) == call;
  const std::uint64_t graph = slot.graph.load(std::memory_order_acquire);
  return known && slot.call.load(std::memory_order_acquire) == call ? graph : 0;
}

void forget_everything() noexcept {
  any_context.store(false);
  fresh_contexts.store(0);
  for (context_entry& entry : contexts) {
    entry.handle.store(nullptr);
    entry.state.store(context_entry::unused);
  }
  for (auto& device : device_by_context) device.store(0);
  for (stream_slot& slot : streams) {
    slot.handle.store(0);
    slot.packed.store(0);
  }
  for (pool_entry& pool : pools) {
    pool.reserved = pool.used = 0;
    pool.handle.store(0);
  }
  for (auto& pool : current_pools) pool.store(0);
  last_known_pool.store(0);
  for (auto& pool : graph_pools) pool.store(false);
  captures.store(0);
  for (graph_launch_slot& slot : graph_launches) slot.call.store(0);
  pending.forget();
  live_blocks::clear();
  forget_functions();
  forget_faults();
  clear_results();
}

// --- outstanding device work -----------------------------------------------------------------------------------------

namespace {
/// Correlation ids have 32 bits and wrap around.
bool later(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) > 0; }
}  // namespace

void pending_work::delivered(std::uint32_t call, std::uint64_t stream) noexcept {
  remove(call);
  std::atomic<std::uint32_t>& front = fronts_[compute_hash(stream)];
  const std::uint32_t before = front.load(std::memory_order_relaxed);
  if (before == 0 || later(call, before)) front.store(call, std::memory_order_relaxed);
}

void pending_work::forget() noexcept {
  for (std::uint32_t i = 0; i < size; ++i) {
    slots_[i].store(0);
    fronts_[i].store(0);
    done_[i].store(0);
    passed_[i] = 0;
  }
}

pending_work::summary pending_work::scan(std::uint64_t limit) noexcept {
  summary result{limit, 0, 0};
  const std::uint32_t all_done = done_[0].load(std::memory_order_relaxed);
  const std::uint64_t limit_units = limit >> time_unit_bits;
  for (std::uint32_t i = 0; i < size; ++i) {
    std::uint64_t found = slots_[i].load(std::memory_order_acquire);
    if (found == 0) continue;
    const auto call = static_cast<std::uint32_t>((found >> 46) * size + i);
    const std::uint64_t hash = (found >> 32) & field_mask;
    const std::uint32_t front = hash == 0 ? 0 : fronts_[hash].load(std::memory_order_relaxed);
    if (front != 0 && later(front, call)) {
      if (passed_[i] == found) {
        slots_[i].compare_exchange_strong(found, 0);
        continue;
      }
      passed_[i] = found;
    }
    ++result.count;
    const auto before = [&](std::uint32_t waited) {
      return waited != 0 && static_cast<std::int32_t>(waited - static_cast<std::uint32_t>(found)) > 0;
    };
    if (before(all_done) || (hash != 0 && before(done_[hash].load(std::memory_order_relaxed)))) ++result.done;
    // The lowest bit only marks the slot as used.
    const std::uint32_t age = static_cast<std::uint32_t>(limit_units) - (static_cast<std::uint32_t>(found) & ~1U);
    if (static_cast<std::int32_t>(age) < 0) continue;  // Started after `limit`.
    const std::uint64_t time = (limit_units - age) << time_unit_bits;
    if (time < result.oldest) result.oldest = time;
  }
  return result;
}

std::uint64_t pending_work::give_up() noexcept {
  std::uint64_t count = 0;
  for (auto& slot : slots_) {
    if (slot.exchange(0, std::memory_order_acq_rel) != 0) ++count;
  }
  return count;
}

}  // namespace sluice::capture
