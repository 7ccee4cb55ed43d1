#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/instrumentation/capture/fake/fake_hub.hpp"

/// Shared by the implementations of the fake driver's calls: the driver's state, and its reports to the fake CUPTI.
namespace sluice::fake {

inline constexpr std::size_t page = 4096;

/// A kernel. Its name may declare its parameters: "scale:8,8,4" takes three parameters of these sizes in bytes, laid
/// out as in C. A kernel whose name begins with "library" is a CUkernel: only the calls for CUkernels accept it.
struct function {
  std::string name;
  std::vector<std::size_t> offsets, sizes;
  CUmodule module = nullptr;
  mutable bool loaded = false;
};
/// A node of a graph. Its address is its handle, even in executable graphs that are made from the graph and share it.
struct graph_node {
  std::string name;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::function<void()> run;  ///< The work of a captured node.
  std::vector<graph_node*> after;
};
struct graph {
  std::vector<std::shared_ptr<graph_node>> nodes;
  CUgraphNode last() const { return nodes.empty() ? nullptr : reinterpret_cast<CUgraphNode>(nodes.back().get()); }
  CUgraphNode add(const std::string& name, CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY) {
    nodes.push_back(std::make_shared<graph_node>(graph_node{name, type, {}, {}}));
    return last();
  }
};
/// A capture: its graph, and the latest node of each participating stream.
struct capture {
  graph* into = nullptr;
  std::uint64_t id = 0;
  CUstream origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  std::map<CUstream, std::vector<graph_node*>> streams;
};

/// The driver's whole state, guarded by one lock. Never destroyed.
struct driver_state {
  std::mutex mutex;
  bool initialised = false;
  std::uint64_t total = std::uint64_t{8} << 30;
  std::uint64_t used = 0;
  std::map<std::uint64_t, std::uint64_t> blocks;  ///< Sizes of device memory blocks, by address.
  std::map<std::uint64_t, std::uint64_t> pinned;  ///< Sizes of page-locked host memory blocks, by address.
  std::map<std::uint64_t, unsigned> pinned_flags;
  std::map<CUstream, int> priorities;  ///< Priorities of streams, where not 0.
  std::set<std::uint64_t> managed;     ///< Addresses of the `blocks` that are managed memory.
  std::uint32_t next_stream = 13;
  std::map<CUmemoryPool, std::uint64_t> pools;  ///< Bytes in use in each pool.
  /// For each pool: bytes reserved (including free ones), the high-water mark, and the release threshold.
  std::map<CUmemoryPool, std::uint64_t> pool_reserved, pool_highs, pool_thresholds;
  std::map<std::uint64_t, CUmemoryPool> pool_by_address;
  std::map<std::uint64_t, CUdevice> device_by_address;            ///< Devices of `blocks`, by address, where not 0.
  std::map<CUdeviceptr, CUmemGenericAllocationHandle> handle_at;  ///< The memory mapped at each address.
  std::set<function*> functions;
  std::vector<function*> unloaded;  ///< Handles of unloaded functions, which new functions reuse.
  std::map<CUstream, std::shared_ptr<capture>> capturing;
  std::map<CUevent, std::pair<std::shared_ptr<capture>, std::vector<graph_node*>>> captured_events;
  bool capture_broken = false;               ///< Set by a call that is forbidden during a capture, until it ends.
  std::atomic<std::uint64_t> busy_until{0};  ///< When a copy that nobody waited for ends, on the hub's clock.
  std::set<graph*> graphs;
  std::atomic<CUresult> fault{CUDA_SUCCESS};  ///< If not CUDA_SUCCESS, every call returns this error.
};
driver_state& state();

/// Call after each kernel. If its name begins with "faulting", "trapping" or "asserting", the
/// GPU becomes unusable.
void fault_if_it_does(const std::string& kernel);

inline const auto the_context = reinterpret_cast<CUcontext>(0x5c00);
/// The primary context of a device. SLUICE_FAKE_DEVICES sets the number of devices (default 1). CUPTI sees only the
/// first device's work.
int device_count();
inline CUcontext find_context(CUdevice device) {
  return device == 0 ? the_context : reinterpret_cast<CUcontext>(0x5c00 + device);
}
inline CUdevice find_device(CUcontext context) {
  return context == nullptr ? 0 : static_cast<CUdevice>(reinterpret_cast<std::uintptr_t>(context) - 0x5c00);
}
inline const auto default_pool = reinterpret_cast<CUmemoryPool>(0x5900);
inline constexpr std::uint32_t context_number = 1;
inline constexpr std::uint32_t null_stream_number = 7;
inline thread_local CUcontext current = nullptr;
inline thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;  ///< This thread's capture mode.
inline thread_local int in_callbacks = 0;  ///< Depth of CUPTI callbacks, in which a client may call the driver.

/// Code is loaded when it is first launched or first queried. Whether such a query is allowed during a capture is
/// undocumented:
/// the fake driver forbids it.
inline void load_code(const function& f) {
  std::lock_guard lock(state().mutex);
  if (!std::exchange(f.loaded, true) && in_callbacks == 0 && !state().capturing.empty()) state().capture_broken = true;
}

/// The kind of a stream must not be queried while the stream is captured, nor that of the legacy default stream during
/// captures of streams that it synchronizes with (here: any stream). Such a query invalidates the capture.
inline CUresult ask_about(CUstream stream) {
  std::lock_guard lock(state().mutex);
  const bool legacy = (stream == nullptr || stream == CU_STREAM_LEGACY) && !state().capturing.empty();
  if (in_callbacks != 0 || (!legacy && !state().capturing.contains(stream))) return CUDA_SUCCESS;
  state().capture_broken = true;
  return legacy ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/// A driver call as CUPTI reports it: the constructor reports its entry, `leave` reports its exit.
class call {
 public:
  call(CUpti_driver_api_trace_cbid id, const char* name, const void* params)
      : id_(static_cast<std::uint32_t>(id)), hub_(*sluice_fake_hub()) {
    data_.callbackSite = CUPTI_API_ENTER;
    data_.functionName = name;
    data_.functionParams = params;
    data_.functionReturnValue = &result_;
    data_.context = current;
    data_.contextUid = current == nullptr ? 0 : context_number;
    data_.correlationData = &kept_;
    data_.correlationId = hub_.next_correlation();
    call_back();
  }
  CUresult leave(CUresult result) {
    const CUresult fault = state().fault;
    result_ = fault == CUDA_SUCCESS ? result : fault;
    data_.callbackSite = CUPTI_API_EXIT;
    data_.context = current;
    data_.contextUid = current == nullptr ? 0 : context_number;
    call_back();
    return result_;
  }
  [[nodiscard]] std::uint32_t correlation() const { return data_.correlationId; }

 private:
  void call_back() {
    ++in_callbacks;
    hub_.callback(CUPTI_CB_DOMAIN_DRIVER_API, id_, &data_);
    --in_callbacks;
  }

  std::uint32_t id_;
  hub& hub_;
  CUpti_CallbackData data_{};
  std::uint64_t kept_ = 0;
  CUresult result_ = CUDA_SUCCESS;
};

#define CALL(name, ...)              \
  name##_params params{__VA_ARGS__}; \
  call the_call(CUPTI_DRIVER_TRACE_CBID_##name, #name, &params)

template <class Record>
void add_record(const Record& record, std::size_t name_offset = 0, const char* name = "") {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&record);
  sluice_fake_hub()->add_record({bytes, bytes + sizeof record}, name_offset, name);
}

std::uint32_t to_number(CUstream stream);
void set(std::uint32_t correlation, std::uint32_t value, std::size_t bytes, CUstream stream, std::uint64_t start);
void announce_device();

/// Loads the library that CUDA_INJECTION64_PATH names and calls its entry point.
void inject();

CUresult take(CUdeviceptr* address, std::size_t bytes);
CUresult give_back(CUdeviceptr address);
CUresult take_from(CUmemoryPool pool, CUdeviceptr* address, std::size_t bytes);

/// Lets pools release memory above their thresholds. Call when the host waits for the device.
void pools_shrink();

enum class place_kind { none, device, managed, pinned };
/// The device that memory was allocated on, and whether it is mapped. Only that device may use mapped memory.
struct owner {
  CUdevice device = 0;
  bool mapped = false;
};
owner find_owner(CUdeviceptr address);
bool within(const std::map<std::uint64_t, std::uint64_t>& blocks, std::uint64_t address, std::uint64_t* base = nullptr);
place_kind get_place(CUdeviceptr address);
void pin(void* address, std::size_t bytes, unsigned flags);
bool unpin(void* address);
inline void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

void new_stream(CUstream* stream);

/// Copies the bytes and queues the record. The copy kind follows from the kinds of memory at `to` and `source`.
/// Does not copy memory that the host cannot read: a real driver copies it on the device, or refuses.
void copy(const call& c, void* to, const void* source, std::size_t bytes, CUstream stream, bool asynchronous);
/// Queues the record of a copy without copying.
void copied(const call& c, const void* to, const void* source, std::size_t bytes, CUstream stream, std::uint64_t start,
            bool asynchronous);

/// One copy of a batch.
struct batch_part {
  void* to;
  const void* from;
  std::size_t bytes;
};
/// Copies all parts. Queues one record for each direction (as CUPTI 13 does), or one per copy with
/// SLUICE_FAKE_BATCH=each.
void copy_batch(const call& c, const std::vector<batch_part>& parts, CUstream stream);

/// Creates a function of a module. Reuses the handle of an unloaded function if there is one.
function* make_function(CUmodule module, const char* name);
void unload(CUmodule module);
function* known_function(void* handle);

/// The graph that `stream` is captured into, after adding a node with this name; null if the stream is not captured.
graph* capture_node(CUstream stream, const std::string& name, CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY,
                    std::function<void()> run = {});
/// The result of a call that is unsafe during captures. If a capture forbids the call, it fails and invalidates that
/// capture.
CUresult unsafe_call();
/// Call when the host waits for `stream` or queries it. Returns the result of that call.
CUresult waited_for(CUstream stream);

/// Runs a kernel. The fake driver implements the kernels that the runtime includes, so that the runtime's tests can
/// check results. Other kernels do nothing.
void run_kernel(const std::string& name, void** arguments);

}  // namespace sluice::fake
