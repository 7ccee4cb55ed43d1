// The fake driver's rarer memory operations: contexts that free their blocks, and graphs with their own memory.
#include <atomic>
#include <cstring>
#include <map>

#include "tests/instrumentation/capture/fake/fake_driver.hpp"

using namespace sluice::fake;

namespace {

CUresult no_such_thing(call& c) { return c.leave(CUDA_ERROR_INVALID_VALUE); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

/// Frees everything that belongs to the only context.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  CALL(cuDevicePrimaryCtxReset_v2, device);
  CUpti_ResourceData data{};
  data.context = the_context;
  sluice_fake_hub()->callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &data);
  std::map<std::uint64_t, std::uint64_t> blocks;
  {
    std::lock_guard lock(state().mutex);
    blocks = state().blocks;
  }
  for (const auto& [address, bytes] : blocks) give_back(address);
  return the_call.leave(CUDA_SUCCESS);
}

// --- memory of graphs -----------------------------------------------------------------------------------------------------------------

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph to, const CUgraphNode* after, std::size_t after_count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* node_params) {
  CALL(cuGraphAddMemAllocNode, node, to, after, after_count, node_params);
  static std::atomic<CUdeviceptr> next{CUdeviceptr{0x7e} << 36};
  if (node_params == nullptr || node_params->bytesize == 0) return no_such_thing(the_call);
  node_params->dptr = next.fetch_add((node_params->bytesize + page - 1) / page * page);
  graph* const into = reinterpret_cast<graph*>(to);
  *node = into->add("allocation");
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuDeviceGetGraphMemAttribute(CUdevice, CUgraphMem_attribute which, void* value) {
  *static_cast<cuuint64_t*>(value) = which == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT ? 3 << 20 : 4 << 20;
  return CUDA_SUCCESS;
}

// --- virtual memory ---------------------------------------------------------------------------------------------------------------------

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  CALL(cuMemRetainAllocationHandle, handle, address);
  const auto found = state().handle_at.find(reinterpret_cast<CUdeviceptr>(address));
  if (found == state().handle_at.end()) return no_such_thing(the_call);
  *handle = found->second;
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* description, std::size_t count) {
  CALL(cuMemSetAccess, address, bytes, description, count);
  return the_call.leave(CUDA_SUCCESS);
}

}  // extern "C"
#pragma GCC visibility pop
