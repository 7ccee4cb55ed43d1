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

/// What the fake driver's calls share: its state, and what they tell the fake CUPTI.
namespace sluice::fake {

inline constexpr std::size_t page = 4096;

/// A kernel. Its name may say what parameters it has: "scale:8,8,4" takes three of so many bytes, laid out as C does. One
/// whose name begins with "library" is a CUkernel: the driver knows it by the calls for those only.
struct function {
  std::string name;
  std::vector<std::size_t> offsets, sizes;
  CUmodule module = nullptr;
  mutable bool loaded = false;
};
/// A node's handle is its address, here and in what is made of the graph.
struct graph_node {
  std::string name;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::function<void()> run;  ///< Of one that was captured.
  std::vector<graph_node*> after;
};
struct graph {
  std::vector<graph_node*> nodes;
  CUgraphNode last() const { return nodes.empty() ? nullptr : reinterpret_cast<CUgraphNode>(nodes.back()); }
  CUgraphNode add(const std::string& name, CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY) {
    nodes.push_back(new graph_node{name, type, {}, {}});
    return last();
  }
};
/// A capture: the graph, and where each stream that takes part has come to.
struct capture {
  graph* into = nullptr;
  std::uint64_t id = 0;
  CUstream origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  std::map<CUstream, std::vector<graph_node*>> streams;
};

/// Everything the driver holds, under one lock; never destroyed.
struct driver_state {
  std::mutex mutex;
  bool initialised = false;
  std::uint64_t total = std::uint64_t{8} << 30;
  std::uint64_t used = 0;
  std::map<std::uint64_t, std::uint64_t> blocks;  ///< Address and size of what counts as device memory.
  std::map<std::uint64_t, std::uint64_t> pinned;  ///< Likewise of page-locked host memory.
  std::map<std::uint64_t, unsigned> pinned_flags;
  std::map<CUstream, int> priorities;  ///< Of streams that have another than 0.
  std::set<std::uint64_t> managed;     ///< Of `blocks`.
  std::uint32_t next_stream = 13;
  std::map<CUmemoryPool, std::uint64_t> pools;  ///< Bytes in use of each.
  /// What each says that it keeps, which counts as free all the same.
  std::map<CUmemoryPool, std::uint64_t> pool_reserved, pool_highs, pool_thresholds;
  std::map<std::uint64_t, CUmemoryPool> pool_of;
  std::map<std::uint64_t, CUdevice> device_of;                    ///< Of `blocks`, by address, where it is not 0.
  std::map<CUdeviceptr, CUmemGenericAllocationHandle> handle_at;  ///< What is mapped where.
  std::set<function*> functions;
  std::vector<function*> unloaded;  ///< Handles that the next functions get.
  std::map<CUstream, std::shared_ptr<capture>> capturing;
  std::map<CUevent, std::pair<std::shared_ptr<capture>, std::vector<graph_node*>>> captured_events;
  bool capture_broken = false;               ///< By a call that is not allowed beside a capture; until it ends.
  std::atomic<std::uint64_t> busy_until{0};  ///< A copy that nobody waited for is done then, on the hub's clock.
  std::set<graph*> graphs;
  std::atomic<CUresult> fault{CUDA_SUCCESS};  ///< Every call fails with it.
};
driver_state& state();

/// A kernel of this name ("faulting", "trapping", "asserting") has run: the GPU is of no more use.
void fault_if_it_does(const std::string& kernel);

inline const auto the_context = reinterpret_cast<CUcontext>(0x5c00);
/// The primary context of a device; SLUICE_FAKE_DEVICES of them, 1 if not said. CUPTI hears of the first one's work only.
int device_count();
inline CUcontext context_of(CUdevice device) {
  return device == 0 ? the_context : reinterpret_cast<CUcontext>(0x5c00 + device);
}
inline CUdevice device_of(CUcontext context) {
  return context == nullptr ? 0 : static_cast<CUdevice>(reinterpret_cast<std::uintptr_t>(context) - 0x5c00);
}
inline const auto default_pool = reinterpret_cast<CUmemoryPool>(0x5900);
inline constexpr std::uint32_t context_number = 1;
inline constexpr std::uint32_t null_stream_number = 7;
inline thread_local CUcontext current = nullptr;
inline thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;  ///< Of this thread.
inline thread_local int in_callbacks = 0;  ///< Of CUPTI's, in which a driver's client may ask it anything.

/// Code is loaded when it is first launched, or first asked about. Whether the latter is allowed beside a capture nobody says: here it is
/// not.
inline void load_code(const function& f) {
  std::lock_guard lock(state().mutex);
  if (!std::exchange(f.loaded, true) && in_callbacks == 0 && !state().capturing.empty()) state().capture_broken = true;
}

/// What kind of stream it is may not be asked while it is captured, nor of the legacy default stream beside captures of those that it
/// keeps order with (here: of any): that ends the capture.
inline CUresult ask_about(CUstream stream) {
  std::lock_guard lock(state().mutex);
  const bool legacy = (stream == nullptr || stream == CU_STREAM_LEGACY) && !state().capturing.empty();
  if (in_callbacks != 0 || (!legacy && !state().capturing.contains(stream))) return CUDA_SUCCESS;
  state().capture_broken = true;
  return legacy ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/// One call as CUPTI sees it: entered when made, left by `leave`.
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

std::uint32_t number_of(CUstream stream);
void set(std::uint32_t correlation, std::uint32_t value, std::size_t bytes, CUstream stream, std::uint64_t start);
void announce_device();

/// Loads CUDA_INJECTION64_PATH and calls its entry.
void inject();

CUresult take(CUdeviceptr* address, std::size_t bytes);
CUresult give_back(CUdeviceptr address);
CUresult take_from(CUmemoryPool pool, CUdeviceptr* address, std::size_t bytes);

/// Somebody waits: pools let go of what their thresholds do not keep.
void pools_shrink();

enum class place_kind { none, device, managed, pinned };
/// The device that memory was allocated on, and whether it is mapped: then only that device may use it.
struct owner {
  CUdevice device = 0;
  bool mapped = false;
};
owner owner_of(CUdeviceptr address);
bool within(const std::map<std::uint64_t, std::uint64_t>& blocks, std::uint64_t address, std::uint64_t* base = nullptr);
place_kind place_of(CUdeviceptr address);
void pin(void* address, std::size_t bytes, unsigned flags);
bool unpin(void* address);
inline void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

void new_stream(CUstream* stream);

/// Copies, and queues the record that says so: kinds by where the two ends lie.
/// What cannot be read is not moved: a real driver reads it with the device, or refuses.
void copy(const call& c, void* to, const void* from, std::size_t bytes, CUstream stream, bool asynchronous);
/// Only queues the record.
void copied(const call& c, const void* to, const void* from, std::size_t bytes, CUstream stream, std::uint64_t start,
            bool asynchronous);

/// One copy of a batch.
struct batch_part {
  void* to;
  const void* from;
  std::size_t bytes;
};
/// Copies them all, and queues one record for each way that some go (as CUPTI 13 does), or with SLUICE_FAKE_BATCH=each one for each.
void copy_batch(const call& c, const std::vector<batch_part>& parts, CUstream stream);

/// Makes a function of a module, or gives its handle back; null: there is none of this handle.
function* make_function(CUmodule module, const char* name);
void unload(CUmodule module);
function* known_function(void* handle);

/// The graph that `stream` is captured into, with a node of this name put into it; null if it is not captured.
graph* capture_node(CUstream stream, const std::string& name, CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY,
                    std::function<void()> run = {});
/// An unsafe call is made: what it answers beside a capture that forbids it, which it breaks.
CUresult unsafe_call();
/// The stream is waited for, or asked whether it is done.
CUresult waited_for(CUstream stream);

/// The kernels that the runtime ships, so that its tests can see them work; others do nothing.
void run_kernel(const std::string& name, void** arguments);

}  // namespace sluice::fake
