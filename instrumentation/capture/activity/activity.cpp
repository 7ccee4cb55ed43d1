// Handles CUPTI's activity records, which describe the device's work and its times. CUPTI fills our buffers and returns
// them on our flush thread or on its own worker thread, never inside one of the program's calls.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "instrumentation/capture/activity/delivery.hpp"
#include "instrumentation/capture/activity/devices.hpp"
#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/process/activity_layout.hpp"
#include "instrumentation/capture/process/cupti_threads.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

using namespace trace;

std::atomic<std::uint64_t> requested{0};
std::atomic<std::uint64_t> completed{0};

// --- buffers ---------------------------------------------------------------------------------------------------------

/// Buffers are small because CUPTI returns a buffer only once all its records are complete: a long kernel then delays
/// few other records.
constexpr std::size_t buffer_bytes = 64 * 1024;
constexpr unsigned buffer_count = 512;

struct buffer_slot {
  std::atomic<bool> busy{false};
  std::atomic<std::uint8_t*> memory{nullptr};
};
buffer_slot slots[buffer_count];

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *buffer = nullptr;
  *bytes = 0;
  *max_records = 0;
  requested.fetch_add(1, std::memory_order_relaxed);
  for (buffer_slot& slot : slots) {
    if (slot.busy.load(std::memory_order_relaxed) || slot.busy.exchange(true, std::memory_order_acquire)) continue;
    std::uint8_t* memory = slot.memory.load(std::memory_order_relaxed);
    if (memory == nullptr) {
      void* fresh = mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (fresh == MAP_FAILED) {
        slot.busy.store(false, std::memory_order_release);
        return;
      }
      memory = static_cast<std::uint8_t*>(fresh);
      slot.memory.store(memory, std::memory_order_relaxed);
    }
    *buffer = memory;
    *bytes = buffer_bytes;
    return;
  }
  // Without a buffer, CUPTI drops records and counts them.
}

void return_buffer(const std::uint8_t* buffer) {
  for (buffer_slot& slot : slots) {
    if (slot.memory.load(std::memory_order_relaxed) != buffer) continue;
    slot.busy.store(false, std::memory_order_release);
    return;
  }
}

// --- records ---------------------------------------------------------------------------------------------------------

memory_kind get_kind(std::uint8_t cupti_kind) {
  switch (cupti_kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return memory_kind::host;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return memory_kind::pinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return memory_kind::device;
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return memory_kind::array;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return memory_kind::managed;
    default:
      return memory_kind::unknown;
  }
}

direction get_direction(std::uint8_t copy_kind) {
  switch (copy_kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return direction::h2d;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return direction::d2h;
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return direction::d2d;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return direction::h2h;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return direction::p2p;
    default:
      return direction::unknown;
  }
}

/// The members that the records of copies and of peer copies have in common.
struct copy_details {
  std::uint32_t device, peer;
  direction way;
  std::uint32_t channel = 0;
  std::uint32_t copies = 1;
};

/// False for a record that was returned incomplete, because of a GPU fault or the last flush. Its work is not done and
/// stays outstanding.
template <class Prefix>
bool has_times(const Prefix& in) {
  return in.start != 0;
}

/// The record of device work, with the members that all kinds of work have.
template <class Record, class Prefix>
Record begin_work(const Prefix& in) {
  Record out{};
  out.header.time = in.start;
  out.end = in.end;
  out.stream = ring::stream_key(in.context, in.stream);
  out.correlation = in.correlation;
  return out;
}

template <class Prefix>
void deliver_copy(const Prefix& in, const copy_details& details) {
  if (!has_times(in)) return;
  auto out = begin_work<ring::copy_record>(in);
  out.header.flags = (in.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0 ? ring::flag_asynchronous : 0U;
  out.bytes = in.bytes;
  out.graph_node = in.graph_node;
  out.device = details.device;
  out.peer = details.peer;
  out.direction = raw(details.way);
  out.channel = details.channel;
  out.copies = details.copies;
  out.source_kind = raw(get_kind(in.source_kind));
  out.destination_kind = raw(get_kind(in.destination_kind));
  deliver(out);
  pending.delivered(in.correlation, out.stream);
}

void on_copy(const layout::memcpy_prefix& in, const std::uint8_t* record, std::size_t size) {
  copy_details details{in.device, ring::no_device, get_direction(in.copy_kind)};
  if (in.channel_type != 0) details.channel = in.channel + 1;
  if (cupti_version >= layout::copy_count_version && size >= layout::copy_count_offset + sizeof(std::uint64_t)) {
    std::uint64_t count = 0;
    memcpy(&count, record + layout::copy_count_offset, sizeof count);
    if (count > 1 && count < UINT32_MAX) details.copies = static_cast<std::uint32_t>(count);
  }
  deliver_copy(in, details);
}

void on_record(const layout::memcpy_peer_prefix& in) {
  // A peer copy may stay within one device: cuMemcpyPeer accepts equal devices.
  const bool within = in.destination_device == in.source_device;
  deliver_copy(in, {in.destination_device, within ? ring::no_device : in.source_device,
                    within ? direction::d2d : direction::p2p});
}

void on_record(const layout::memset_prefix& in) {
  if (!has_times(in)) return;
  auto out = begin_work<ring::memset_record>(in);
  out.header.flags = (in.flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC) != 0 ? ring::flag_asynchronous : 0U;
  out.bytes = in.bytes;
  out.graph_node = in.graph_node;
  out.value = in.value;
  out.device = in.device;
  out.kind = raw(get_kind(static_cast<std::uint8_t>(in.memory_kind)));
  deliver(out);
  pending.delivered(in.correlation, out.stream);
}

void on_record(const layout::kernel_prefix& in) {
  if (!has_times(in)) return;
  auto out = begin_work<ring::kernel_record>(in);
  out.name = ring::intern(in.name);
  out.graph_node = in.graph_node;
  out.device = in.device;
  for (int i = 0; i < 3; ++i) {
    out.grid[i] = static_cast<std::uint32_t>(in.grid[i]);
    out.block[i] = static_cast<std::uint32_t>(in.block[i]);
  }
  out.registers = in.registers_per_thread;
  out.static_shared = static_cast<std::uint32_t>(in.static_shared);
  out.dynamic_shared = static_cast<std::uint32_t>(in.dynamic_shared);
  deliver(out);
  pending.delivered(in.correlation, out.stream);
}

void on_record(const layout::graph_trace_prefix& in) {
  if (!has_times(in)) return;
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true)) {
    ring::message(raw(severity::info),
                  "graph launches are recorded as one interval each: the kernels and copies inside are not listed; "
                  "--graphs node records each of them, at a cost");
  }
  auto out = begin_work<ring::graph_launch_record>(in);
  out.graph = graph_of_launch(in.correlation);
  if (out.graph == 0) out.graph = in.graph | ring::foreign_graph_bit;
  out.device = in.device;
  deliver(out);
  pending.delivered(in.correlation, out.stream);
}

/// A kind of problem with managed memory. Its occurrences since the start are recorded as counters, one per device.
struct trouble {
  std::uint32_t kind;
  const char* name;
  bool counts_itself;  ///< True if the record's value is a count; otherwise each record counts as 1.
  std::atomic<std::uint64_t> totals[max_devices + 1];
};
trouble troubles[] = {
    {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT, "managed memory: CPU page faults", true, {}},
    {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, "managed memory: GPU page faults", true, {}},
    {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING, "managed memory: thrashing", false, {}},
    {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING, "managed memory: throttling", false, {}},
    {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP, "managed memory: remote mappings", false, {}},
};

void count_trouble(const layout::migration_prefix& in) {
  for (trouble& t : troubles) {
    if (t.kind != in.counter_kind) continue;
    // Thrashing concerns several devices, and a CPU page fault concerns none.
    const bool of_device = in.counter_kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT ||
                           in.counter_kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING;
    const std::uint32_t device = of_device && in.source < max_devices ? in.source : ring::no_device;
    const std::uint32_t place = device == ring::no_device ? max_devices : device;
    const std::uint64_t count = t.counts_itself ? in.value : 1;
    const std::uint64_t before = t.totals[place].fetch_add(count, std::memory_order_relaxed);
    const std::uint64_t key = 0x556d'0000'0000'0000U | (std::uint64_t{t.kind} << 32) | place;
    if (before == 0) {
      ring::counter_record definition{};
      definition.header.time = in.start;
      definition.counter = key;
      definition.name = ring::intern(t.name);
      definition.unit = static_cast<std::uint32_t>(counter_unit::none);
      definition.device = device;
      deliver(definition);
    }
    ring::counter_value_record out{};
    out.header.time = in.start;
    out.counter = key;
    out.value = static_cast<double>(before + count);
    deliver(out);
  }
}

void on_record(const layout::migration_prefix& in) {
  ring::migration_record out{};
  out.header.time = in.start;
  out.end = in.end;
  out.bytes = in.value;
  out.address = in.address;
  out.device = in.destination;
  switch (in.counter_kind) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
      out.direction = raw(direction::h2d);
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
      out.direction = raw(direction::d2h);
      out.device = in.source;
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD:
      out.direction = raw(direction::d2d);
      break;
    default:
      return count_trouble(in);
  }
  switch (in.flags) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE:
      out.cause = raw(migration_cause::page_fault);
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER:
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH:
      out.cause = raw(migration_cause::prefetch);
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION:
      out.cause = raw(migration_cause::eviction);
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_ACCESS_COUNTERS:
      out.cause = raw(migration_cause::access_counter);
      break;
    default:
      out.cause = raw(migration_cause::unknown);
  }
  deliver(out);
}

// --- returned buffers ------------------------------------------------------------------------------------------------

template <class Prefix>
void decode(const std::uint8_t* record) {
  Prefix prefix;
  memcpy(&prefix, record, sizeof prefix);
  on_record(prefix);
}

template <class Prefix>
void decode(const std::uint8_t* record, void (*found)(const Prefix&) noexcept) {
  Prefix prefix;
  memcpy(&prefix, record, sizeof prefix);
  found(prefix);
}

/// Processes one record. `size` is the distance to the next record; a record shorter than the prefix of its kind is
/// invalid.
void dispatch(const std::uint8_t* record, std::size_t size) {
  std::uint32_t kind = 0;
  if (size < sizeof kind) return;
  memcpy(&kind, record, sizeof kind);
  if (size < layout::prefix_bytes(kind)) return;
  switch (kind) {
    case layout::kind_memcpy: {
      layout::memcpy_prefix prefix;
      memcpy(&prefix, record, sizeof prefix);
      return on_copy(prefix, record, size);
    }
    case layout::kind_memcpy_peer:
      return decode<layout::memcpy_peer_prefix>(record);
    case layout::kind_memset:
      return decode<layout::memset_prefix>(record);
    case layout::kind_concurrent_kernel:
      return decode<layout::kernel_prefix>(record);
    case layout::kind_graph_trace:
      return decode<layout::graph_trace_prefix>(record);
    case layout::kind_unified_memory_counter:
      return decode<layout::migration_prefix>(record);
    case layout::kind_device:
      return decode(record, device_found);
    case layout::kind_pcie:
      return decode(record, link_found);
    case layout::kind_nvlink:
      return decode(record, peer_link_found);
    default:
      return;  // A kind that we did not request, or that this version does not know.
  }
}

void report_dropped() {
  std::size_t dropped = 0;
  if (cupti.dropped_records == nullptr || cupti.dropped_records(nullptr, 0, &dropped) != CUPTI_SUCCESS || dropped == 0)
    return;
  ring::loss_record out{};
  out.header.time = ring::monotonic_now();
  out.end = out.header.time;
  out.events = dropped;
  deliver(out);
}

bool is_ours(const std::uint8_t* buffer) {
  for (const buffer_slot& slot : slots) {
    if (slot.memory.load(std::memory_order_relaxed) == buffer) return true;
  }
  return false;
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  // This buffer is not ours: it belongs to a profiler that had CUPTI's records before us.
  if (buffer == nullptr || !is_ours(buffer)) return;
  note_delivering_thread();
  if (valid > buffer_bytes) valid = buffer_bytes;
  const auto inside = [&](const std::uint8_t* at) { return at >= buffer && at < buffer + valid; };
  CUpti_Activity* next = nullptr;
  const std::uint8_t* current = nullptr;
  while (cupti.next_record(buffer, valid, &next) == CUPTI_SUCCESS && next != nullptr) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(next);
    if (!inside(at) || (current != nullptr && at <= current)) break;
    if (current != nullptr) dispatch(current, static_cast<std::size_t>(at - current));
    current = at;
  }
  if (current != nullptr) dispatch(current, static_cast<std::size_t>(buffer + valid - current));
  memset(buffer, 0, valid);
  return_buffer(buffer);
  completed.fetch_add(1, std::memory_order_release);
  report_dropped();
}

std::uint64_t CUPTIAPI timestamp() { return ring::monotonic_now(); }

void enable(CUpti_ActivityKind kind, const char* subject) {
  const CUptiResult result = cupti.activity_enable(kind);
  if (result == CUPTI_SUCCESS) return;
  const char* reason = nullptr;
  if (cupti.result_string != nullptr) cupti.result_string(result, &reason);
  char text[256];
  snprintf(text, sizeof text, "CUPTI does not record %s: %s", subject, reason == nullptr ? "no reason given" : reason);
  ring::message(raw(severity::warning), text);
}

}  // namespace

/// Our buffers are zeroed, so that CUPTI need not zero them inside the program's calls.
void promise_zeroed_buffers(bool zeroed) noexcept {
  std::uint8_t value = zeroed ? 1 : 0;
  std::size_t bytes = sizeof value;
  if (cupti.set_attribute == nullptr) return;
  cupti.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &value);
}

namespace {

void enable_work() {
  if (options.copies) {
    enable(CUPTI_ACTIVITY_KIND_MEMCPY, "copies");
    enable(CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between devices");
    enable(CUPTI_ACTIVITY_KIND_MEMSET, "memsets");
  }
  if (options.kernels) enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels");
  if (options.graphs && !options.graph_nodes) enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "graph launches");
}

}  // namespace

namespace {

std::atomic<bool> delivers{false};

bool register_buffers() {
  // Set the clock before enabling records; otherwise the first records would be on another clock.
  if (options.clock) cupti.register_timestamp(timestamp);
  promise_zeroed_buffers(true);
  if (cupti.register_callbacks(buffer_requested, buffer_completed) == CUPTI_SUCCESS) {
    delivers.store(true);
    return true;
  }
  ring::message(raw(severity::warning),
                "CUPTI rejects activity buffers: copies, memsets and kernels have no device times");
  return false;
}

}  // namespace

bool cupti_delivers() noexcept { return delivers.load(std::memory_order_relaxed); }

void start_activity() noexcept {
  if (!register_buffers()) return;
  enable(CUPTI_ACTIVITY_KIND_DEVICE, "devices");
  enable(CUPTI_ACTIVITY_KIND_PCIE, "links");
  cupti.activity_enable(CUPTI_ACTIVITY_KIND_NVLINK);  // May be unavailable, which is fine.
  if (!paused.load()) enable_work();
}

void stop_activity() noexcept {
  if (cupti.activity_disable == nullptr) return;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_PCIE, CUPTI_ACTIVITY_KIND_NVLINK, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER}) {
    cupti.activity_disable(kind);  // CUPTI refuses this for a kind that is not enabled, which is fine.
  }
}

void pause_activity() noexcept {
  if (cupti.activity_disable == nullptr) return;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_GRAPH_TRACE}) {
    cupti.activity_disable(kind);
  }
}

void resume_activity() noexcept {
  if (cupti.activity_enable != nullptr) enable_work();
}

void start_migrations(std::uint32_t device) noexcept {
  if (cupti.configure_migrations == nullptr || !options.migrations) return;
  const cupti_thread_watch watch;
  // Transfers first, because a driver may lack the other counters or refuse to enable them.
  constexpr CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP};
  constexpr unsigned count = sizeof kinds / sizeof kinds[0];
  CUpti_ActivityUnifiedMemoryCounterConfig config[count] = {};
  for (unsigned i = 0; i < count; ++i) {
    config[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
    config[i].kind = kinds[i];
    config[i].deviceId = device;
    config[i].enable = 1;
  }
  for (const unsigned part : {count, 5U, 3U, 2U}) {
    if (cupti.configure_migrations(config, part) != CUPTI_SUCCESS) continue;
    cupti.activity_enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    return;
  }
}

void managed_memory_used(std::uint32_t device) noexcept {
  if (!entry_points::in_use() || !options.migrations || device >= max_devices) return;
  static constinit std::atomic<bool> opened{false};
  static constinit std::atomic<bool> asked[max_devices];
  if (asked[device].load(std::memory_order_relaxed) || asked[device].exchange(true)) return;
  char why[256];
  const cupti_thread_watch watch;
  if (!opened.exchange(true)) {
    if (!open_libraries(getenv(cupti_path_variable), why, sizeof why)) {
      ring::message(raw(severity::warning), why);
    } else {
      register_buffers();
    }
  }
  if (cupti_delivers()) start_migrations(device);
}

void restart_activity() noexcept {
  // Buffers that CUPTI held when the other profiler took over are not reused: CUPTI may still write to them.
  const cupti_thread_watch watch;
  start_activity();
  for (const context_entry& context : contexts) {
    if (context.state.load(std::memory_order_acquire) == context_entry::alive) start_migrations(context.device.load());
  }
}

buffer_counts count_buffers() noexcept {
  return {requested.load(std::memory_order_acquire), completed.load(std::memory_order_acquire)};
}

}  // namespace sluice::capture
