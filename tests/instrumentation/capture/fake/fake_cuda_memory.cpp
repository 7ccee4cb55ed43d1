// The fake driver's rarer memory: contexts that take their blocks with them, graphs with memory of their own, memory of other
// processes.
#include <atomic>
#include <cstring>
#include <map>

#include "tests/instrumentation/capture/fake/fake_driver.hpp"

using namespace sluice::fake;

namespace {

/// A graph, or one made of it: nothing but a name.
struct graph {
  int nodes = 0;
};
CUresult no_such_thing(call& c) { return c.leave(CUDA_ERROR_INVALID_VALUE); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

/// Everything of the only context goes.
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

// --- graphs -----------------------------------------------------------------------------------------------------------------

CUresult cuGraphCreate(CUgraph* made, unsigned flags) {
  CALL(cuGraphCreate, made, flags);
  *made = reinterpret_cast<CUgraph>(new graph);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph to, const CUgraphNode* after, std::size_t after_count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* node_params) {
  CALL(cuGraphAddMemAllocNode, node, to, after, after_count, node_params);
  static std::atomic<CUdeviceptr> next{CUdeviceptr{0x7e} << 36};
  if (node_params == nullptr || node_params->bytesize == 0) return no_such_thing(the_call);
  node_params->dptr = next.fetch_add((node_params->bytesize + page - 1) / page * page);
  *node = reinterpret_cast<CUgraphNode>(++reinterpret_cast<graph*>(to)->nodes);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph from, unsigned long long flags) {
  CALL(cuGraphInstantiateWithFlags, made, from, flags);
  *made = reinterpret_cast<CUgraphExec>(new graph(*reinterpret_cast<graph*>(from)));
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecDestroy(CUgraphExec made) {
  CALL(cuGraphExecDestroy, made);
  delete reinterpret_cast<graph*>(made);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphDestroy(CUgraph made) {
  CALL(cuGraphDestroy, made);
  delete reinterpret_cast<graph*>(made);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuDeviceGetGraphMemAttribute(CUdevice, CUgraphMem_attribute which, void* value) {
  *static_cast<cuuint64_t*>(value) = which == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT ? 3 << 20 : 4 << 20;
  return CUDA_SUCCESS;
}

// --- memory of other processes ----------------------------------------------------------------------------------------------

/// The handle's first word says where it lies: a block of this process stands in for another's.
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  CALL(cuIpcOpenMemHandle_v2, address, handle, flags);
  std::memcpy(address, &handle, sizeof *address);
  return *address == 0 ? no_such_thing(the_call) : the_call.leave(CUDA_SUCCESS);
}
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  CALL(cuIpcCloseMemHandle, address);
  return the_call.leave(CUDA_SUCCESS);
}
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
