// The fake driver's stream captures and graphs. What is captured does not run, and neither does a graph that is launched.

#include <utility>

#include "tests/instrumentation/capture/fake/fake_driver.hpp"

using namespace sluice::fake;

namespace {

graph* graph_of(CUstream stream) {
  std::lock_guard lock(state().mutex);
  const auto found = state().capturing.find(stream);
  return found == state().capturing.end() ? nullptr : found->second;
}

/// With the lock held.
graph* new_graph() { return *state().graphs.insert(new graph).first; }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = graph_of(stream) == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* into,
                                   const CUgraphNode** last, std::size_t* count) {
  graph* const found = graph_of(stream);
  *status = found == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (found == nullptr) return CUDA_SUCCESS;
  if (id != nullptr) *id = 1;
  if (into != nullptr) *into = reinterpret_cast<CUgraph>(found);
  static thread_local CUgraphNode node = nullptr;
  node = found->last();
  if (last != nullptr) *last = &node;
  if (count != nullptr) *count = node == nullptr ? 0 : 1;
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  CALL(cuStreamBeginCapture_v2, stream, mode);
  {
    std::lock_guard lock(state().mutex);
    state().capturing[stream] = new_graph();
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* made) {
  CALL(cuStreamEndCapture, stream, made);
  *made = reinterpret_cast<CUgraph>(graph_of(stream));
  {
    std::lock_guard lock(state().mutex);
    state().capturing.erase(stream);
    if (std::exchange(state().capture_broken, false)) {
      *made = nullptr;
      return the_call.leave(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
  }
  return the_call.leave(*made == nullptr ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS);
}
CUresult cuGraphCreate(CUgraph* made, unsigned flags) {
  CALL(cuGraphCreate, made, flags);
  {
    std::lock_guard lock(state().mutex);
    *made = reinterpret_cast<CUgraph>(new_graph());
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphDestroy(CUgraph which) {
  CALL(cuGraphDestroy, which);
  {
    std::lock_guard lock(state().mutex);
    if (state().graphs.erase(reinterpret_cast<graph*>(which)) == 0) return the_call.leave(CUDA_ERROR_INVALID_VALUE);
  }
  delete reinterpret_cast<graph*>(which);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphGetNodes(CUgraph which, CUgraphNode* handles, std::size_t* count) {
  std::lock_guard lock(state().mutex);
  if (!state().graphs.contains(reinterpret_cast<graph*>(which))) return CUDA_ERROR_INVALID_VALUE;
  const auto& nodes = reinterpret_cast<graph*>(which)->nodes;
  for (std::size_t i = 0; handles != nullptr && i < nodes.size() && i < *count; ++i)
    handles[i] = reinterpret_cast<CUgraphNode>(nodes[i]);
  *count = nodes.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph which, const CUgraphNode* after, std::size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* kernel) {
  CALL(cuGraphAddKernelNode_v2, node, which, after, count, kernel);
  *node = reinterpret_cast<graph*>(which)->add("kernel");
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph which, const CUgraphNode* after, std::size_t count,
                              const CUDA_MEMCPY3D* copy, CUcontext context) {
  CALL(cuGraphAddMemcpyNode, node, which, after, count, copy, context);
  *node = reinterpret_cast<graph*>(which)->add("copy");
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph which, const CUgraphNode* after, std::size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context) {
  CALL(cuGraphAddMemsetNode, node, which, after, count, fill, context);
  *node = reinterpret_cast<graph*>(which)->add("fill");
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph which, const CUgraphNode* after, std::size_t count,
                                  CUgraph child) {
  CALL(cuGraphAddChildGraphNode, node, which, after, count, child);
  *node = reinterpret_cast<graph*>(which)->add("child");
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec made, CUgraphNode node, CUgraph child) {
  CALL(cuGraphExecChildGraphNodeSetParams, made, node, child);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphNodeSetEnabled(CUgraphExec made, CUgraphNode node, unsigned enabled) {
  CALL(cuGraphNodeSetEnabled, made, node, enabled);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* kernel) {
  CALL(cuGraphKernelNodeSetParams_v2, node, kernel);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec made, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* kernel) {
  CALL(cuGraphExecKernelNodeSetParams_v2, made, node, kernel);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec made, CUgraphNode node, const CUDA_MEMCPY3D* copy,
                                        CUcontext context) {
  CALL(cuGraphExecMemcpyNodeSetParams, made, node, copy, context);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec made, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill,
                                        CUcontext context) {
  CALL(cuGraphExecMemsetNodeSetParams, made, node, fill, context);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecUpdate_v2(CUgraphExec made, CUgraph from, CUgraphExecUpdateResultInfo* info) {
  CALL(cuGraphExecUpdate_v2, made, from, info);
  // Only one of the same shape can be put into it.
  const bool fits = reinterpret_cast<graph*>(made)->nodes.size() == reinterpret_cast<graph*>(from)->nodes.size();
  return the_call.leave(fits ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
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
CUresult cuGraphLaunch(CUgraphExec which, CUstream stream) {
  CALL(cuGraphLaunch, which, stream);
  if (graph_of(stream) != nullptr) return the_call.leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUpti_ActivityGraphTrace record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  record.correlationId = the_call.correlation();
  record.start = sluice_fake_hub()->timestamp();
  record.end = record.start + 1000;
  record.graphId = 77;  // A number of CUPTI's own.
  record.contextId = context_number;
  record.streamId = number_of(stream);
  add_record(record);
  return the_call.leave(CUDA_SUCCESS);
}

}  // extern "C"
#pragma GCC visibility pop
