// journal_recorder: an injection library that records what a program's CUDA driver and CUPTI report.
//
//   CUDA_INJECTION64_PATH=$PWD/libjournal_recorder.so SLUICE_JOURNAL=out.journal [SLUICE_JOURNAL_GRAPHS=whole] program
//
// It enables what the capture library enables, plus the MEMORY2 and MEMORY_POOL records, for cross-checking.
// It is a tool for tests: it takes a lock on every callback and is not meant to be fast.

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "tests/device/journal/driver_calls.hpp"

namespace {

using namespace sluice::journal;

std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

/// The journal being written; every entry is appended under one lock. Never destroyed: callbacks arrive until the end.
class recorder {
 public:
  explicit recorder(const char* path) : file_(std::fopen(path, "wb")) {}
  bool good() const { return file_ != nullptr; }

  void header(std::uint32_t cupti, std::uint32_t driver) {
    byte_writer w;
    w.raw(magic, 8);
    w.put(cupti);
    w.put(driver);
    w.put(now_ns());
    std::fwrite(w.bytes.data(), 1, w.bytes.size(), file_);
  }
  void entry(entry_type type, const byte_writer& payload) {
    std::lock_guard lock(mutex_);
    write(type, payload);
  }
  /// The number of the calling thread, in order of appearance.
  std::uint32_t thread() {
    thread_local std::uint32_t index = 0;
    if (index == 0) {
      std::lock_guard lock(mutex_);
      index = ++threads_;
      byte_writer w;
      w.put(index);
      w.put(static_cast<std::uint32_t>(syscall(SYS_gettid)));
      write(entry_type::thread, w);
    }
    return index;
  }
  std::uint32_t string(const char* s) {
    if (s == nullptr) return 0;
    std::lock_guard lock(mutex_);
    auto [it, added] = strings_.try_emplace(s, static_cast<std::uint32_t>(strings_.size() + 1));
    if (added) {
      byte_writer w;
      w.put(it->second);
      w.raw(s, std::strlen(s));
      write(entry_type::string, w);
    }
    return it->second;
  }
  void note(const std::string& text) {
    byte_writer w;
    w.raw(text.data(), text.size());
    entry(entry_type::note, w);
  }
  /// Appends all entries of one buffer together, without entries of other threads in between.
  void buffer(const byte_writer& begin, const std::vector<std::pair<entry_type, byte_writer>>& rest) {
    std::lock_guard lock(mutex_);
    write(entry_type::buffer, begin);
    for (const auto& [type, payload] : rest) write(type, payload);
  }
  void flush() {
    std::lock_guard lock(mutex_);
    std::fflush(file_);
  }

 private:
  void write(entry_type type, const byte_writer& payload) {
    const auto size = static_cast<std::uint32_t>(payload.bytes.size());
    std::fwrite(&type, 1, 1, file_);
    std::fwrite(&size, sizeof size, 1, file_);
    std::fwrite(payload.bytes.data(), 1, size, file_);
  }

  std::FILE* file_;
  std::mutex mutex_;
  std::uint32_t threads_ = 0;
  std::unordered_map<std::string, std::uint32_t> strings_;
};

recorder* journal = nullptr;
const std::map<std::uint32_t, const driver_call*>* calls = nullptr;
CUpti_SubscriberHandle subscriber = nullptr;
std::atomic<bool> stop{false};
std::atomic<bool> initialised{false};

// ---- activity records --------------------------------------------------------------------------------------------

std::size_t record_size(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
      return sizeof(CUpti_ActivityDeviceAttribute);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return sizeof(CUpti_ActivityMemoryPool3);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return sizeof(CUpti_ActivityUnifiedMemoryCounter3);
    case CUPTI_ACTIVITY_KIND_PCIE:
      return sizeof(CUpti_ActivityPcie);
    case CUPTI_ACTIVITY_KIND_NVLINK:
      return sizeof(CUpti_ActivityNvLink4);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_ENVIRONMENT:
      return sizeof(CUpti_ActivityEnvironment);
    default:
      return 64;
  }
}

void text(collector& c, const char* s, std::size_t offset) { c.in(s, offset, s == nullptr ? 0 : std::strlen(s) + 1); }

block record_block(const CUpti_Activity* record) {
  collector c(record, record_size(record->kind), true);
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* k = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      text(c, k->name, offsetof(CUpti_ActivityKernel10, name));
      c.drop(k->reserved0, offsetof(CUpti_ActivityKernel10, reserved0));
      c.drop(k->pAccessPolicyWindow, offsetof(CUpti_ActivityKernel10, pAccessPolicyWindow));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      c.drop(reinterpret_cast<const CUpti_ActivityMemcpy6*>(record)->reserved0,
             offsetof(CUpti_ActivityMemcpy6, reserved0));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      c.drop(reinterpret_cast<const CUpti_ActivityMemset4*>(record)->reserved0,
             offsetof(CUpti_ActivityMemset4, reserved0));
      break;
    case CUPTI_ACTIVITY_KIND_DEVICE:
      text(c, reinterpret_cast<const CUpti_ActivityDevice5*>(record)->name, offsetof(CUpti_ActivityDevice5, name));
      break;
    case CUPTI_ACTIVITY_KIND_MEMORY2: {
      const auto* m = reinterpret_cast<const CUpti_ActivityMemory4*>(record);
      text(c, m->name, offsetof(CUpti_ActivityMemory4, name));
      text(c, m->source, offsetof(CUpti_ActivityMemory4, source));
      break;
    }
    default:
      break;
  }
  return std::move(c.out);
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *size = 64 * 1024;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *max_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::uint32_t thread = journal->thread();
  byte_writer begin;
  begin.put(thread);
  begin.put(static_cast<std::uint64_t>(valid));
  begin.put(now_ns());
  std::vector<std::pair<entry_type, byte_writer>> rest;
  CUpti_Activity* record = nullptr;
  while (valid != 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    byte_writer w;
    w.put(static_cast<std::uint32_t>(record->kind));
    w.put_block(record_block(record));
    rest.emplace_back(entry_type::record, std::move(w));
  }
  std::size_t dropped = 0;
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  byte_writer end;
  end.put(static_cast<std::uint64_t>(dropped));
  rest.emplace_back(entry_type::end, std::move(end));
  journal->buffer(begin, rest);
  std::free(buffer);
}

std::uint64_t timestamp() { return static_cast<std::uint64_t>(now_ns()); }

void enable(CUpti_ActivityKind kind) {
  const CUptiResult result = cuptiActivityEnable(kind);
  byte_writer w;
  w.put(static_cast<std::uint32_t>(kind));
  w.put(static_cast<std::int32_t>(result));
  journal->entry(entry_type::result, w);
}

void enable_migrations() {
  CUpti_ActivityUnifiedMemoryCounterConfig config[4] = {};
  const CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT};
  for (int i = 0; i < 4; ++i) {
    config[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
    config[i].kind = kinds[i];
    config[i].deviceId = 0;
    config[i].enable = 1;
  }
  const CUptiResult result = cuptiActivityConfigureUnifiedMemoryCounter(config, 4);
  journal->note("cuptiActivityConfigureUnifiedMemoryCounter: " + std::to_string(result));
  enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

// ---- callbacks -----------------------------------------------------------------------------------------------------

void driver_callback(std::uint32_t cbid, const CUpti_CallbackData& data) {
  const auto call = calls->find(cbid);
  if (call == calls->end()) return;
  const std::int64_t time = now_ns();
  const bool exit = data.callbackSite == CUPTI_API_EXIT;
  collector c(data.functionParams, call->second->size, exit);
  call->second->collect(c, data.functionParams);
  const std::uint32_t thread = journal->thread();
  byte_writer w;
  w.put(thread);
  w.put(cbid);
  w.put(static_cast<std::uint8_t>(data.callbackSite));
  w.put(data.correlationId);
  w.put(data.contextUid);
  w.put(reinterpret_cast<std::uint64_t>(data.context));
  w.put(time);
  w.put(exit ? static_cast<std::int32_t>(*static_cast<CUresult*>(data.functionReturnValue)) : 0);
  w.put(journal->string(data.symbolName));
  w.put_block(c.out);
  journal->entry(entry_type::api, w);
}

void resource_callback(std::uint32_t cbid, const CUpti_ResourceData& data) {
  std::uint32_t context_uid = 0;
  std::uint32_t device = 0;
  std::uint32_t stream_id = 0;
  std::uint64_t stream = 0;
  if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED || cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING ||
      cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED || cbid == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING) {
    cuptiGetContextId(data.context, &context_uid);
    cuptiGetDeviceId(data.context, &device);
    if (cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED || cbid == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
      stream = reinterpret_cast<std::uint64_t>(data.resourceHandle.stream);
    cuptiGetStreamIdEx(data.context, reinterpret_cast<CUstream>(stream), 0, &stream_id);
  } else {
    return;
  }
  byte_writer w;
  w.put(journal->thread());
  w.put(cbid);
  w.put(reinterpret_cast<std::uint64_t>(data.context));
  w.put(context_uid);
  w.put(device);
  w.put(stream);
  w.put(stream_id);
  w.put(now_ns());
  journal->entry(entry_type::resource, w);
  if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) enable_migrations();
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (stop.load()) return;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) driver_callback(cbid, *static_cast<const CUpti_CallbackData*>(data));
  // This callback comes without data.
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED)
    initialised = true;
  else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
    resource_callback(cbid, *static_cast<const CUpti_ResourceData*>(data));
}

// ---- start and end -------------------------------------------------------------------------------------------------

void write_devices() {
  int count = 0;
  cuDeviceGetCount(&count);
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    std::size_t total = 0;
    CUuuid uuid{};
    int major = 0;
    int minor = 0;
    char name[64] = {};
    char bus[32] = {};
    cuDeviceGet(&device, i);
    cuDeviceTotalMem(&total, device);
    cuDeviceGetUuid(&uuid, device);
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    cuDeviceGetName(name, sizeof name - 1, device);
    cuDeviceGetPCIBusId(bus, sizeof bus - 1, device);
    byte_writer w;
    w.put(static_cast<std::uint32_t>(i));
    w.put(static_cast<std::uint64_t>(total));
    w.raw(uuid.bytes, 16);
    w.put(static_cast<std::int32_t>(major));
    w.put(static_cast<std::int32_t>(minor));
    w.raw(name, sizeof name);
    w.raw(bus, sizeof bus);
    journal->entry(entry_type::device, w);
  }
}

void finish() {
  const CUptiResult result = cuptiActivityFlushAll(1);
  journal->note("flush at exit: " + std::to_string(result));
  stop = true;
  journal->flush();
}

void flush_loop() {
  bool devices_written = false;
  while (!stop.load()) {
    usleep(50'000);
    if (initialised && !devices_written) {
      write_devices();
      devices_written = true;
    }
    if (!stop.load()) cuptiActivityFlushAll(0);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("SLUICE_JOURNAL");
  if (path == nullptr || journal != nullptr) return 1;
  unsetenv("SLUICE_JOURNAL");  // Otherwise a child process would overwrite the file.
  journal = new recorder(path);
  if (!journal->good()) {
    std::fprintf(stderr, "journal_recorder: %s: cannot be written\n", path);
    std::exit(2);
  }
  auto* table = new std::map<std::uint32_t, const driver_call*>;
  for (const driver_call& call : driver_calls) (*table)[call.cbid] = &call;
  calls = table;

  std::uint32_t version = 0;
  int driver = 0;
  cuptiGetVersion(&version);
  cuDriverGetVersion(&driver);
  journal->header(version, static_cast<std::uint32_t>(driver));
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&cuptiGetVersion), &info);
  journal->note(std::string("CUPTI version ") + std::to_string(version) + ", built against " +
                std::to_string(CUPTI_API_VERSION));
  std::fprintf(stderr, "journal_recorder: %s, version %u\n", info.dli_fname, version);

  const CUptiResult subscribed = cuptiSubscribe(&subscriber, on_callback, nullptr);
  journal->note("cuptiSubscribe: " + std::to_string(subscribed));
  for (const driver_call& call : driver_calls)
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call.cbid);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);

  cuptiActivityRegisterTimestampCallback(timestamp);
  cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_PCIE,
        CUPTI_ACTIVITY_KIND_NVLINK, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL,
        CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER})
    enable(kind);
  const char* graphs = std::getenv("SLUICE_JOURNAL_GRAPHS");
  if (graphs != nullptr && std::strcmp(graphs, "whole") == 0) enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  std::atexit(finish);
  std::thread(flush_loop).detach();
  return 1;
}
