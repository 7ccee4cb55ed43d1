#include "tests/instrumentation/capture/fake/fake_driver.hpp"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sluice::fake {
namespace {

void add_copy(std::uint32_t correlation, std::uint8_t kind, std::uint8_t source, std::uint8_t destination,
              std::size_t bytes, CUstream stream, std::uint64_t start, bool asynchronous) {
  CUpti_ActivityMemcpy5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = kind;
  record.srcKind = source;
  record.dstKind = destination;
  record.flags = asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  record.bytes = bytes;
  record.start = start;
  record.end = std::max(sluice_fake_hub()->timestamp(), start + 1);
  record.contextId = context_number;
  record.streamId = to_number(stream);
  record.correlationId = correlation;
  add_record(record);
}

}  // namespace

driver_state& state() {
  static auto* const only = [] {
    auto* output = new driver_state;
    if (const char* bytes = std::getenv("SLUICE_FAKE_MEMORY")) output->total = std::strtoull(bytes, nullptr, 10);
    return output;
  }();
  return *only;
}
int device_count() {
  static const int count = [] {
    const char* said = std::getenv("SLUICE_FAKE_DEVICES");
    return said == nullptr ? 1 : std::atoi(said);
  }();
  return count;
}
owner find_owner(CUdeviceptr address) {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  std::uint64_t base = 0;
  if (!within(s.blocks, address, &base)) return {};
  const auto found = s.device_by_address.find(base);
  return {found == s.device_by_address.end() ? 0 : found->second, s.handle_at.contains(base)};
}
std::uint32_t to_number(CUstream stream) {
  return stream == nullptr ? null_stream_number : sluice_fake_hub()->stream_number(the_context, stream);
}

void set(std::uint32_t correlation, std::uint32_t value, std::size_t bytes, CUstream stream, std::uint64_t start) {
  if (state().fault != CUDA_SUCCESS) return;
  CUpti_ActivityMemset3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.value = value;
  record.bytes = bytes;
  record.start = start;
  record.end = std::max(sluice_fake_hub()->timestamp(), start + 1);
  record.contextId = context_number;
  record.streamId = to_number(stream);
  record.correlationId = correlation;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  add_record(record);
}

void announce_device() {
  CUpti_ActivityDevice4 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.globalMemorySize = state().total;
  device.computeCapabilityMajor = 9;
  std::memcpy(device.uuid.bytes, "fake device 0 \0", 16);
  device.isCudaVisible = 1;
  add_record(device, offsetof(CUpti_ActivityDevice4, name), "Fake GPU");
  CUpti_ActivityPcie link{};
  link.kind = CUPTI_ACTIVITY_KIND_PCIE;
  link.pcieGeneration = 4;
  link.linkRate = 16000;
  link.linkWidth = 16;
  add_record(link);
  CUpti_ActivityNvLink4 beside{};
  beside.kind = CUPTI_ACTIVITY_KIND_NVLINK;
  beside.typeDev0 = beside.typeDev1 = CUPTI_DEV_TYPE_GPU;
  std::memcpy(beside.idDev0.uuidDev.bytes, device.uuid.bytes, 16);
  beside.bandwidth = 800'000'000;
  if (std::getenv("SLUICE_FAKE_NVLINK") != nullptr) add_record(beside);
}

void inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (path != nullptr && library == nullptr) std::fprintf(stderr, "fake driver: %s\n", dlerror());
  using entry = int (*)();
  auto* const initialize =
      library == nullptr ? nullptr : reinterpret_cast<entry>(dlsym(library, "InitializeInjection"));
  if (initialize != nullptr) initialize();
}

CUresult take(CUdeviceptr* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  if (bytes > s.total - s.used) return CUDA_ERROR_OUT_OF_MEMORY;
  void* memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  s.blocks[*address] = bytes;
  if (find_device(current) != 0) s.device_by_address[*address] = find_device(current);
  s.used += bytes;
  return CUDA_SUCCESS;
}

CUresult give_back(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  const auto found = s.blocks.find(address);
  if (found == s.blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  s.used -= found->second;
  s.managed.erase(address);
  s.device_by_address.erase(address);
  if (const auto pool = s.pool_by_address.find(address); pool != s.pool_by_address.end()) {
    s.pools[pool->second] -= found->second;
    s.pool_by_address.erase(pool);
  }
  s.blocks.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}

CUresult take_from(CUmemoryPool pool, CUdeviceptr* address, std::size_t bytes) {
  const CUresult result = take(address, bytes);
  if (result != CUDA_SUCCESS) return result;
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  s.pools[pool] += bytes;
  s.pool_highs[pool] = std::max(s.pool_highs[pool], s.pools[pool]);
  s.pool_reserved[pool] = std::max(s.pool_reserved[pool], s.pools[pool]);
  s.pool_by_address[*address] = pool;
  return CUDA_SUCCESS;
}

void pools_shrink() {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  for (const auto& [pool, used] : s.pools) {
    s.pool_reserved[pool] = std::max(used, std::min<std::uint64_t>(s.pool_reserved[pool], s.pool_thresholds[pool]));
  }
}

bool within(const std::map<std::uint64_t, std::uint64_t>& blocks, std::uint64_t address, std::uint64_t* base) {
  auto found = blocks.upper_bound(address);
  if (found == blocks.begin()) return false;
  --found;
  if (base != nullptr) *base = found->first;
  return address < found->first + found->second;
}

place_kind get_place(CUdeviceptr address) {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  std::uint64_t base = 0;
  if (within(s.pinned, address)) return place_kind::pinned;
  if (!within(s.blocks, address, &base)) return place_kind::none;
  return s.managed.contains(base) ? place_kind::managed : place_kind::device;
}

void pin(void* address, std::size_t bytes, unsigned flags) {
  std::lock_guard lock(state().mutex);
  state().pinned[reinterpret_cast<std::uint64_t>(address)] = bytes;
  state().pinned_flags[reinterpret_cast<std::uint64_t>(address)] = flags;
}
bool unpin(void* address) {
  std::lock_guard lock(state().mutex);
  return state().pinned.erase(reinterpret_cast<std::uint64_t>(address)) != 0;
}

void new_stream(CUstream* stream) {
  driver_state& s = state();
  std::uint32_t number = 0;
  {
    std::lock_guard lock(s.mutex);
    number = s.next_stream++;
  }
  *stream = reinterpret_cast<CUstream>(new std::uint32_t(number));
  sluice_fake_hub()->set_stream(the_context, *stream, number);
  CUpti_ResourceData data{};
  data.context = the_context;
  data.resourceHandle.stream = *stream;
  sluice_fake_hub()->callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED, &data);
}

namespace {
struct copy_kinds {
  std::uint8_t way, source, destination;
};
copy_kinds get_kinds(const void* to, const void* origin) {
  const auto get_memory = [](const void* address) -> std::uint8_t {
    switch (get_place(reinterpret_cast<CUdeviceptr>(address))) {
      case place_kind::device:
        return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      case place_kind::managed:
        return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
      case place_kind::pinned:
        return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
      default:
        return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    }
  };
  const auto on_host = [](std::uint8_t kind) {
    return kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED || kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  };
  const std::uint8_t source = get_memory(origin);
  const std::uint8_t destination = get_memory(to);
  const bool from_host = on_host(source);
  const bool to_host = on_host(destination);
  const int kind = from_host ? (to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
                             : (to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
  return {static_cast<std::uint8_t>(kind), source, destination};
}
}  // namespace

void copy_batch(const call& c, const std::vector<batch_part>& parts, CUstream stream) {
  if (state().fault != CUDA_SUCCESS || capture_node(stream, "batch", CU_GRAPH_NODE_TYPE_MEMCPY) != nullptr) return;
  const char* method = std::getenv("SLUICE_FAKE_BATCH");
  const std::uint64_t start = sluice_fake_hub()->timestamp();
  if (method != nullptr && std::string(method) == "each") {
    bool first = true;
    for (const batch_part& part : parts) {
      std::memmove(part.to, part.from, part.bytes);
      const copy_kinds kinds = get_kinds(part.to, part.from);
      const std::uint32_t number = first ? c.correlation() : sluice_fake_hub()->next_correlation();
      add_copy(number, kinds.way, kinds.source, kinds.destination, part.bytes, stream, start, true);
      first = false;
    }
    return;
  }
  std::map<std::uint8_t, CUpti_ActivityMemcpy6> wholes;
  for (const batch_part& part : parts) {
    std::memmove(part.to, part.from, part.bytes);
    const copy_kinds kinds = get_kinds(part.to, part.from);
    CUpti_ActivityMemcpy6& record = wholes[kinds.way];
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    record.copyKind = kinds.way;
    record.srcKind = kinds.source;
    record.dstKind = kinds.destination;
    record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
    record.bytes += part.bytes;
    record.start = start;
    record.contextId = context_number;
    record.streamId = to_number(stream);
    record.correlationId = c.correlation();
    ++record.copyCount;
  }
  for (auto& [way, record] : wholes) {
    record.end = std::max(sluice_fake_hub()->timestamp(), start + 1);
    add_record(record);
  }
}

void copied(const call& c, const void* to, const void* source, std::size_t bytes, CUstream stream, std::uint64_t start,
            bool asynchronous) {
  const copy_kinds kinds = get_kinds(to, source);
  add_copy(c.correlation(), kinds.way, kinds.source, kinds.destination, bytes, stream, start, asynchronous);
}

void copy(const call& c, void* to, const void* origin, std::size_t bytes, CUstream stream, bool asynchronous) {
  const auto move = [=] {
    const iovec into{to, bytes};
    const iovec source{const_cast<void*>(origin), bytes};
    const int kept = errno;
    (void)process_vm_readv(getpid(), &into, 1, &source, 1, 0);
    errno = kept;
  };
  if (state().fault != CUDA_SUCCESS || capture_node(stream, "copy", CU_GRAPH_NODE_TYPE_MEMCPY, move) != nullptr) return;
  const std::uint64_t start = sluice_fake_hub()->timestamp();
  move();
  copied(c, to, origin, bytes, stream, start, asynchronous);
}

function* make_function(CUmodule module, const char* name) {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  function* output = nullptr;
  if (s.unloaded.empty()) {
    output = new function;
  } else {
    output = s.unloaded.back();
    s.unloaded.pop_back();
  }
  *output = {};
  output->module = module;
  // The runtime's own kernels have plain names.
  std::string text = name;
  if (text == "affine_u32") text += ":8,8,4,4,4";
  if (text == "add_u32") text += ":8,8,8,8";
  if (text == "stencil_u32" || text == "stencil_direct_u32") text += ":8,8,8,4";
  output->name = text.substr(0, text.find(':'));
  std::size_t offset = 0;
  for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(',', at + 1)) {
    const std::size_t bytes = std::stoul(text.substr(at + 1));
    const std::size_t alignment = bytes % 8 == 0 ? 8 : 4;
    offset = (offset + alignment - 1) / alignment * alignment;
    output->offsets.push_back(offset);
    output->sizes.push_back(bytes);
    offset += bytes;
  }
  s.functions.insert(output);
  return output;
}

void unload(CUmodule module) {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  for (auto at = s.functions.begin(); at != s.functions.end();) {
    if ((*at)->module == module) s.unloaded.push_back(*at);
    at = (*at)->module == module ? s.functions.erase(at) : std::next(at);
  }
}

function* known_function(void* handle) {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  auto* const asked = static_cast<function*>(handle);
  return s.functions.contains(asked) ? asked : nullptr;
}

graph* capture_node(CUstream stream, const std::string& name, CUgraphNodeType type, std::function<void()> run) {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  const auto found = s.capturing.find(stream);
  if (found == s.capturing.end()) return nullptr;
  capture& c = *found->second;
  auto* const output = reinterpret_cast<graph_node*>(c.into->add(name, type));
  output->run = std::move(run);
  output->after = std::exchange(c.streams[stream], {output});
  return c.into;
}

CUresult unsafe_call() {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  if (in_callbacks != 0 || capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  for (const auto& [stream, c] : s.capturing) {
    const bool own = c->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && c->thread == std::this_thread::get_id();
    if (c->mode != CU_STREAM_CAPTURE_MODE_GLOBAL && !own) continue;
    s.capture_broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

CUresult waited_for(CUstream stream) {
  driver_state& s = state();
  std::lock_guard lock(s.mutex);
  if (!s.capturing.contains(stream)) return CUDA_SUCCESS;
  s.capture_broken = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void fault_if_it_does(const std::string& kernel) {
  const CUresult fault = kernel.starts_with("faulting")    ? CUDA_ERROR_ILLEGAL_ADDRESS
                         : kernel.starts_with("trapping")  ? CUDA_ERROR_LAUNCH_FAILED
                         : kernel.starts_with("asserting") ? CUDA_ERROR_ASSERT
                                                           : CUDA_SUCCESS;
  if (fault == CUDA_SUCCESS) return;
  state().fault = fault;
  const char* method = std::getenv("SLUICE_FAKE_AFTER_FAULT");
  const std::string after = method == nullptr ? "" : method;
  if (after == "errors") sluice_fake_hub()->flushes = hub::flushing::fails;
  if (after == "blocks") sluice_fake_hub()->flushes = hub::flushing::blocks;
}

void run_kernel(const std::string& name, void** arguments) {
  const auto argument = [&](int i, auto value) {
    std::memcpy(&value, arguments[i], sizeof value);
    return value;
  };
  using word = std::uint32_t;
  constexpr word* none = nullptr;
  constexpr std::uint64_t wide = 0;
  constexpr std::uint32_t narrow = 0;
  if (arguments == nullptr) return;
  if (name == "affine_u32") {
    word* const data = argument(0, none);
    const auto count = argument(1, wide);
    // This many steps of x * a + b equal one step with another a and b.
    word factor = 1, term = 0;
    for (std::uint32_t r = 0; r < argument(4, narrow); ++r) {
      factor *= argument(2, narrow);
      term = term * argument(2, narrow) + argument(3, narrow);
    }
    for (std::uint64_t i = 0; i < count; ++i) data[i] = data[i] * factor + term;
  } else if (name == "add_u32") {
    word* out = argument(0, none);
    for (std::uint64_t i = 0; i < argument(3, wide); ++i) out[i] = argument(1, none)[i] + argument(2, none)[i];
  } else if (name == "stencil_u32" || name == "stencil_direct_u32") {
    word* const out = argument(0, none);
    const word* const in = argument(1, none);
    const auto count = static_cast<std::int64_t>(argument(2, wide));
    const auto radius = static_cast<std::int64_t>(argument(3, narrow));
    const auto at = [&](std::int64_t i) { return in[std::clamp<std::int64_t>(i, 0, count - 1)]; };
    // Adds all neighbors of the first word; for each further word, one neighbor leaves the sum and another joins it.
    word sum = 0;
    for (std::int64_t j = -radius; j < radius; ++j) sum += at(j);
    for (std::int64_t i = 0; i < count; ++i) {
      sum += at(i + radius);
      out[i] = sum;
      sum -= at(i - radius);
    }
  }
}

}  // namespace sluice::fake
