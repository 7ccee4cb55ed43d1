// The functions that CUPTI calls at the entry and exit of the program's CUDA calls. Each call is looked up in a table
// by its number, gets its time, and is passed to its handler. Nothing here waits or allocates.

#include <string.h>

#include "instrumentation/capture/activity/devices.hpp"
#include "instrumentation/capture/blocks/live_blocks.hpp"
#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/process/calls.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

/// Larger than all call numbers so far (807 in CUDA 13.0).
constexpr std::uint32_t max_calls = 1024;

struct slot {
  const call_entry* entry = nullptr;
  bool done_at_entry = false;
  bool is_work = false;  ///< True for copies, launches and waits, which are not recorded during a pause.
  std::atomic<std::uint64_t> name{0};
};
slot slots[max_calls];
SLUICE_HOT_DATA constinit std::atomic<bool> late_start{false};

SLUICE_INLINE std::uint64_t get_name(slot& s) {
  std::uint64_t key = s.name.load(std::memory_order_relaxed);
  if (key != 0) return key;
  key = ring::intern(s.entry->name);
  s.name.store(key, std::memory_order_relaxed);
  return key;
}

void context_created(CUcontext context, std::uint32_t id, std::uint32_t device);

/// The device number of a context, as CUPTI reports it.
std::uint32_t device_by_cupti(CUcontext context) {
  std::uint32_t device = 0;
  return cupti.device_id(context, &device) == CUPTI_SUCCESS ? device : ring::no_device;
}

/// Value of a call's user word (normally its entry time) if it was entered during a pause; its exit is then ignored.
constexpr std::uint64_t entered_in_pause = 1;

bool is_in_pause(const slot& s, const CUpti_CallbackData& data) {
  if (!s.is_work || data.correlationData == nullptr) return false;
  if (data.callbackSite != CUPTI_API_ENTER) return *data.correlationData == entered_in_pause;
  if (!paused.load(std::memory_order_relaxed)) return false;
  *data.correlationData = entered_in_pause;
  return true;
}

SLUICE_INLINE void on_driver_call(std::uint32_t id, const CUpti_CallbackData& data) {
  if (id >= max_calls || slots[id].entry == nullptr) return;
  const call_entry& entry = *slots[id].entry;
  if (late_start.load(std::memory_order_relaxed) && data.contextUid != 0 && !knows_context(data.contextUid)) {
    context_created(data.context, data.contextUid, device_by_cupti(data.context));
  }
  if (is_in_pause(slots[id], data)) return;
  const bool failed = data.callbackSite != CUPTI_API_ENTER && data.functionReturnValue != nullptr &&
                      *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS;
  if (data.callbackSite != CUPTI_API_ENTER) {
    if (data.contextUid != 0) open_context(data.contextUid);
    // Under capture, a launch is recorded once it has become a node.
    const bool done_at_entry = slots[id].done_at_entry && captures.load(std::memory_order_relaxed) <= 0;
    if (!failed && (entry.exit == nullptr || done_at_entry)) return;
  }
  call c{&data, 0, 0, ring::now(), CUDA_SUCCESS, entry.per_thread, &entry};
  if (data.callbackSite == CUPTI_API_ENTER) {
    c.begin = c.now;
    if (data.correlationData != nullptr) *data.correlationData = c.begin;
    if (entry.enter == nullptr) return;
    entry.enter(c);
  } else {
    c.begin = data.correlationData != nullptr && *data.correlationData != 0 ? *data.correlationData : c.now;
    if (failed) c.result = *static_cast<const CUresult*>(data.functionReturnValue);
    c.name = get_name(slots[id]);
    if (failed && c.result == CUDA_ERROR_NOT_READY) return;  // The result of a query, not a failure.
    if (failed) return leave_failed(c, entry.exit);
    entry.exit(c);
  }
}

/// The CUDA runtime's wait for a device, which makes no driver call.
constexpr std::uint32_t runtime_device_synchronize = CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020;

void on_runtime_call(const CUpti_CallbackData& data) {
  call c{&data, 0, 0, ring::now(), CUDA_SUCCESS, false, nullptr};
  if (data.correlationData == nullptr) return;
  if (data.callbackSite == CUPTI_API_ENTER) {
    *data.correlationData = c.now;
    return;
  }
  c.begin = *data.correlationData != 0 ? *data.correlationData : c.now;
  // For success and GPU faults, the runtime's result numbers are the same as the driver's.
  if (data.functionReturnValue != nullptr) c.result = *static_cast<const CUresult*>(data.functionReturnValue);
  if (!c.ok()) c.name = ring::intern("cudaDeviceSynchronize");
  context_waited(c);
}

void context_created(CUcontext context, std::uint32_t id, std::uint32_t device) {
  if (!add_context(context, id, device)) return;
  // Describe the GPU first: other processes of the recording may use the same one.
  if (device != ring::no_device) describe_device(static_cast<CUdevice>(device));
  ring::context_record out{};
  out.header.time = ring::now();
  out.context = id;
  out.device = device;
  out.handle = reinterpret_cast<std::uint64_t>(context);
  ring::emit(out);
  (void)get_stream_key(context, id, nullptr, false);
  if (!entry_points::in_use()) start_migrations(device);
}

std::atomic<bool> ending{false};

/// Removes a block of a destroyed context. Virtual memory is kept, because it belongs to the process.
void forget_block(void* device, const live_blocks::block& b) {
  const bool of_process = b.kind == trace::memory_kind::reservation || b.kind == trace::memory_kind::physical ||
                          b.kind == trace::memory_kind::mapping;
  if (b.device == *static_cast<std::uint32_t*>(device) && !of_process) live_blocks::remove(b.address, b.layer, b.kind);
}

/// Records that a context was destroyed. Its allocations are freed with it.
void context_destroyed(CUcontext context, std::uint32_t id) {
  std::uint32_t device = find_device(id);
  remove_context(context);
  if (ending.load(std::memory_order_relaxed)) return;
  if (has_context(device)) {
    live_blocks_unsure.store(true);
  } else {
    live_blocks::for_each(forget_block, &device);
  }
  ring::context_end_record out{};
  out.header.time = ring::now();
  out.context = id;
  ring::emit(out);
}

void on_resource(std::uint32_t id, const CUpti_ResourceData& data) {
  std::uint32_t context_id = 0;
  if (cupti.context_id(data.context, &context_id) != CUPTI_SUCCESS) return;
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      return context_created(data.context, context_id, device_by_cupti(data.context));
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      return context_destroyed(data.context, context_id);
    case CUPTI_CBID_RESOURCE_STREAM_CREATED:
      forget_stream(context_id, data.resourceHandle.stream);
      (void)get_stream_key(data.context, context_id, data.resourceHandle.stream, false);
      return;
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
      return forget_stream(context_id, data.resourceHandle.stream);
    default:
      return;
  }
}

}  // namespace

void note_ending(bool ends) noexcept { ending.store(ends); }

// --- contexts without CUPTI ------------------------------------------------------------------------------------------

namespace {
std::atomic<CUcontext> primary_contexts[max_devices];

std::uint32_t known_context(CUcontext handle) {
  for (const context_entry& entry : contexts) {
    const std::uint32_t state = entry.state.load(std::memory_order_acquire);
    if (state >= context_entry::fresh && entry.handle.load() == handle) return entry.id.load();
  }
  return 0;
}
}  // namespace

std::uint32_t context_id_of(CUcontext current) noexcept {
  std::uint32_t id = known_context(current);
  if (id != 0) return id;
  static constinit gate announcing;
  static std::uint32_t last = 0;
  if (!announcing.lock()) return 0;
  id = known_context(current);
  if (id == 0) {
    CUdevice device = 0;
    const bool known = driver.context_device != nullptr && driver.context_device(&device) == CUDA_SUCCESS;
    id = ++last;
    context_created(current, id, known ? static_cast<std::uint32_t>(device) : ring::no_device);
    if (known_context(current) == 0) id = 0;
  }
  announcing.unlock();
  return id;
}

void note_primary_context(std::uint32_t device, CUcontext context) noexcept {
  if (device < max_devices) primary_contexts[device].store(context);
}

void contexts_ended(CUcontext context, std::uint32_t device, bool whoever_holds_it) noexcept {
  if (!entry_points::in_use()) return;
  if (context == nullptr && device < max_devices) {
    unsigned flags = 0;
    int active = 1;
    const bool known = driver.primary_state != nullptr &&
                       driver.primary_state(static_cast<CUdevice>(device), &flags, &active) == CUDA_SUCCESS;
    if (!whoever_holds_it && (!known || active != 0)) return;
    context = primary_contexts[device].exchange(nullptr);
  }
  const std::uint32_t id = context == nullptr ? 0 : known_context(context);
  if (id != 0) context_destroyed(context, id);
}

std::uint32_t call::device() const { return find_device(data->contextUid); }

SLUICE_HOT std::uint64_t call::stream(CUstream handle) const {
  return get_stream_key(data->context, data->contextUid, handle, per_thread);
}

SLUICE_HOT void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  // Some callbacks of the resource domain have no data.
  if (data == nullptr || !ring::active()) return;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) on_driver_call(id, *static_cast<const CUpti_CallbackData*>(data));
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) on_runtime_call(*static_cast<const CUpti_CallbackData*>(data));
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
}

bool prepare_calls() noexcept {
  bool complete = true;
  const call_table memory = memory_calls();
  for (const call_table table : {memory, work_calls(), launch_calls()}) {
    for (std::size_t i = 0; i < table.count; ++i) {
      const call_entry& entry = table.entries[i];
      const bool left_out = !options.launch_calls && strstr(entry.name, "cuLaunch") == entry.name;
      const bool of_mode = entry.contents != contents_use::only && records_at_least(entry.least);
      const bool of_contents = entry.contents != contents_use::no && options.duplicates_percent != 0;
      if (left_out || (!of_mode && !of_contents)) {
        slots[entry.id].entry = nullptr;
        continue;
      }
      slots[entry.id].entry = &entry;
      slots[entry.id].done_at_entry = entry.done_at_entry && !records_at_least(trace::recording_mode::timeline);
      // Graphs made during a pause must be known afterwards.
      const bool defines = strncmp(entry.name, "cuGraph", 7) == 0 && strncmp(entry.name, "cuGraphLaunch", 13) != 0;
      const bool captures_stream = strstr(entry.name, "Capture") != nullptr;
      slots[entry.id].is_work = table.entries != memory.entries && !defines && !captures_stream;
      slots[entry.id].name.store(0);  // The name is sent again, because a new writer does not know it.
      complete = complete && entry_points::exist_for(entry.id);
    }
  }
  return complete;
}

unsigned enable_callbacks(CUpti_SubscriberHandle subscriber, bool late) noexcept {
  late_start.store(late);
  prepare_calls();
  unsigned refused = 0;
  for (std::uint32_t id = 0; id < max_calls; ++id) {
    // An older driver does not know the newest calls; programs cannot make them there.
    if (slots[id].entry != nullptr) cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
  // This callback is enabled in every mode, because many programs notice a GPU fault in this call.
  cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, runtime_device_synchronize);
  for (const auto id : {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                        CUPTI_CBID_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING}) {
    if (cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, static_cast<CUpti_CallbackId>(id)) !=
        CUPTI_SUCCESS) {
      ++refused;
    }
  }
  return refused;
}

}  // namespace sluice::capture
