// The fake driver's stream captures and graphs. A launch runs the captured work; manually added nodes do nothing.

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tests/instrumentation/capture/fake/fake_driver.hpp"

// The driver also exports these names, without edge data.
#undef cuStreamUpdateCaptureDependencies
#undef cuGraphGetEdges

using namespace sluice::fake;

namespace {

graph* find_graph(CUstream stream) {
  std::lock_guard lock(state().mutex);
  const auto found = state().capturing.find(stream);
  return found == state().capturing.end() ? nullptr : found->second->into;
}

/// Call with the lock held.
graph* new_graph() { return *state().graphs.insert(new graph).first; }

CUresult begin(CUstream stream, CUstreamCaptureMode mode) {
  static std::uint64_t last = 0;
  std::lock_guard lock(state().mutex);
  if (stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (state().capturing.contains(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  auto output = std::make_shared<capture>();
  *output = {new_graph(), ++last, stream, mode, std::this_thread::get_id(), {}};
  output->streams[stream];
  state().capturing[stream] = output;
  return CUDA_SUCCESS;
}

/// Call with the lock held. True if every node leads to the end of the first stream.
bool joined(const capture& c) {
  const auto& last = c.streams.at(c.origin);
  for (const auto& node : c.into->nodes) {
    const auto leads_to = [&](const auto& other) {
      return std::find(other->after.begin(), other->after.end(), node.get()) != other->after.end();
    };
    const bool leads_on = std::any_of(c.into->nodes.begin(), c.into->nodes.end(), leads_to);
    if (!leads_on && std::find(last.begin(), last.end(), node.get()) == last.end()) return false;
  }
  return true;
}

CUresult end(CUstream stream, CUgraph* graph_handle) {
  *graph_handle = nullptr;
  std::lock_guard lock(state().mutex);
  const auto found = state().capturing.find(stream);
  if (found == state().capturing.end()) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<capture> c = found->second;
  if (c->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  std::erase_if(state().capturing, [&](const auto& part) { return part.second == c; });
  if (std::exchange(state().capture_broken, false)) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined(*c)) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *graph_handle = reinterpret_cast<CUgraph>(c->into);
  return CUDA_SUCCESS;
}

void run(const graph& which) {
  for (const auto& node : which.nodes) {
    if (node->run) node->run();
  }
}

/// A copy of the graph with its own nodes.
graph clone(const graph& source) {
  graph output;
  std::map<const graph_node*, graph_node*> twin;
  for (const auto& node : source.nodes)
    twin[node.get()] = output.nodes.emplace_back(std::make_shared<graph_node>(*node)).get();
  for (const auto& node : output.nodes) {
    for (graph_node*& before : node->after) before = twin[before];
  }
  return output;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = find_graph(stream) == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* into,
                                   const CUgraphNode** last, std::size_t* count) {
  std::lock_guard lock(state().mutex);
  // Unlike other calls, this query is allowed; it reports that the default stream cannot be used.
  if (stream == nullptr && !state().capturing.empty()) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  const auto found = state().capturing.find(stream);
  *status = found == state().capturing.end() ? CU_STREAM_CAPTURE_STATUS_NONE
            : state().capture_broken         ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (found == state().capturing.end()) return CUDA_SUCCESS;
  const capture& c = *found->second;
  if (id != nullptr) *id = c.id;
  if (into != nullptr) *into = reinterpret_cast<CUgraph>(c.into);
  static thread_local std::vector<graph_node*> nodes;
  nodes = c.streams.at(stream);
  if (last != nullptr) *last = reinterpret_cast<CUgraphNode*>(nodes.data());
  if (count != nullptr) *count = nodes.size();
  return CUDA_SUCCESS;
}
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes, std::size_t count, unsigned flags) {
  std::lock_guard lock(state().mutex);
  const auto found = state().capturing.find(stream);
  if (found == state().capturing.end()) return CUDA_ERROR_ILLEGAL_STATE;
  auto& last = found->second->streams[stream];
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) last.clear();
  for (std::size_t i = 0; i < count; ++i) last.push_back(reinterpret_cast<graph_node*>(nodes[i]));
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  CALL(cuStreamBeginCapture_v2, stream, mode);
  return the_call.leave(begin(stream, mode));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph_handle) {
  CALL(cuStreamEndCapture, stream, graph_handle);
  return the_call.leave(end(stream, graph_handle));
}
CUresult cuGraphCreate(CUgraph* graph_handle, unsigned flags) {
  CALL(cuGraphCreate, graph_handle, flags);
  {
    std::lock_guard lock(state().mutex);
    *graph_handle = reinterpret_cast<CUgraph>(new_graph());
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
    handles[i] = reinterpret_cast<CUgraphNode>(nodes[i].get());
  *count = nodes.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  *type = reinterpret_cast<graph_node*>(node)->type;
  return CUDA_SUCCESS;
}
CUresult cuGraphGetEdges(CUgraph which, CUgraphNode* sources, CUgraphNode* to, std::size_t* count) {
  std::lock_guard lock(state().mutex);
  if (!state().graphs.contains(reinterpret_cast<graph*>(which))) return CUDA_ERROR_INVALID_VALUE;
  std::size_t found = 0;
  for (const auto& node : reinterpret_cast<graph*>(which)->nodes) {
    for (graph_node* before : node->after) {
      if (sources != nullptr && found < *count) {
        sources[found] = reinterpret_cast<CUgraphNode>(before);
        to[found] = reinterpret_cast<CUgraphNode>(node.get());
      }
      ++found;
    }
  }
  *count = found;
  return CUDA_SUCCESS;
}
CUresult cuGraphDebugDotPrint(CUgraph which, const char* path, unsigned) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  std::fprintf(file, "digraph dot {\n");
  for (const auto& node : reinterpret_cast<graph*>(which)->nodes) {
    std::fprintf(file, "\"%p\"[label=\"%s\"];\n", static_cast<const void*>(node.get()), node->name.c_str());
  }
  std::fprintf(file, "}\n");
  std::fclose(file);
  return CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec, CUstream stream) { return waited_for(stream); }
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
  *node = reinterpret_cast<graph*>(which)->add("child", CU_GRAPH_NODE_TYPE_GRAPH);
  auto* const output = reinterpret_cast<graph_node*>(*node);
  for (std::size_t i = 0; i < count; ++i) output->after.push_back(reinterpret_cast<graph_node*>(after[i]));
  // The node gets a copy of the child in the child's present state.
  if (child != nullptr && state().graphs.contains(reinterpret_cast<graph*>(child))) {
    output->run = [inside = clone(*reinterpret_cast<graph*>(child))] { run(inside); };
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  CALL(cuGraphExecChildGraphNodeSetParams, exec, node, child);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  CALL(cuGraphNodeSetEnabled, exec, node, enabled);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* kernel) {
  CALL(cuGraphKernelNodeSetParams_v2, node, kernel);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* kernel) {
  CALL(cuGraphExecKernelNodeSetParams_v2, exec, node, kernel);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* copy,
                                        CUcontext context) {
  CALL(cuGraphExecMemcpyNodeSetParams, exec, node, copy, context);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill,
                                        CUcontext context) {
  CALL(cuGraphExecMemsetNodeSetParams, exec, node, fill, context);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
  CALL(cuGraphExecUpdate_v2, exec, graph_handle, info);
  // Only a graph of the same shape can replace the executable graph's.
  auto& now = reinterpret_cast<graph*>(exec)->nodes;
  const auto& next = reinterpret_cast<graph*>(graph_handle)->nodes;
  const bool fits = now.size() == next.size();
  if (info != nullptr) info->result = fits ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (std::size_t i = 0; fits && i < now.size(); ++i) {
    if (next[i]->run) now[i] = next[i];
  }
  return the_call.leave(fits ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph_handle, unsigned long long flags) {
  CALL(cuGraphInstantiateWithFlags, exec, graph_handle, flags);
  *exec = reinterpret_cast<CUgraphExec>(new graph(*reinterpret_cast<graph*>(graph_handle)));
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  CALL(cuGraphExecDestroy, exec);
  if (const CUresult allowed = unsafe_call(); allowed != CUDA_SUCCESS) return the_call.leave(allowed);
  delete reinterpret_cast<graph*>(exec);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuGraphLaunch(CUgraphExec which, CUstream stream) {
  CALL(cuGraphLaunch, which, stream);
  if (find_graph(stream) != nullptr) return the_call.leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  run(*reinterpret_cast<graph*>(which));
  CUpti_ActivityGraphTrace record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  record.correlationId = the_call.correlation();
  record.start = sluice_fake_hub()->timestamp();
  record.end = record.start + 1000;
  record.graphId = 77;  // CUPTI's own numbering.
  record.contextId = context_number;
  record.streamId = to_number(stream);
  add_record(record);
  return the_call.leave(CUDA_SUCCESS);
}

}  // extern "C"
#pragma GCC visibility pop
