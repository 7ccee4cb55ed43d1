// Calls that launch kernels and graphs, and calls that define graphs: by stream capture, or node by node.

#include "instrumentation/capture/blocks/faults.hpp"
#include "instrumentation/capture/blocks/touches.hpp"
#include "instrumentation/capture/calls/graph_calls.hpp"
#include "instrumentation/capture/process/calls.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/stacks/stacks.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

template <class T>
std::uint64_t get_key(T* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

/// The value to which an output parameter points if the call succeeded; else null.
template <class T>
T* written(const call& c, T* const* pointer) {
  return c.ok() && pointer != nullptr ? *pointer : nullptr;
}

// --- kernels ---------------------------------------------------------------------------------------------------------

/// True if this thread's current launch must be examined after it has returned.
SLUICE_THREAD_LOCAL bool after_it = false;

/// Under capture, a launch is examined after the call, because only then does its node exist. Also, querying a
/// function's parameters may make the driver load its code, which during a capture is better left to the launch itself.
SLUICE_HOT void launch(const call& c, CUfunction function, void** parameters, void** extra, CUstream stream) {
  if (options.kernels) work_starts(c);
  after_it = captures.load(std::memory_order_relaxed) > 0;
  if (options.touches && !after_it) touch_parameters(c, function, parameters, extra, stream);
}

SLUICE_HOT void launched(const call& c, CUstream stream) {
  work_done(c, {.stream = stream}, options.launch_stacks ? current_stack() : 0);
}

SLUICE_HOT void launched(const call& c, CUfunction function, void** parameters, void** extra, CUstream stream) {
  // In memory mode, a successful launch records only its touches.
  if (!c.ok() || records_at_least(trace::recording_mode::timeline)) launched(c, stream);
  if (!after_it) return;
  after_it = false;
  if (c.ok() && options.touches) {
    touch_parameters(c, function, parameters, extra, stream, captured_node(c, stream));
  }
}

void launch_on_each(const call& c, const CUDA_LAUNCH_PARAMS* list, unsigned count) {
  if (options.kernels) work_starts(c);
  constexpr unsigned most = 64;
  for (unsigned i = 0; list != nullptr && options.touches && i < count && i < most; ++i) {
    touch_parameters(c, list[i].function, list[i].kernelParams, nullptr, list[i].hStream);
  }
}

// --- graphs ----------------------------------------------------------------------------------------------------------

/// Defines `graph` or, if `value` is not 0, the executable graph or the clone with the key `value`, which was made from
/// `graph`.
void define(const call& c, CUgraph graph, std::uint64_t value = 0) {
  if (graph == nullptr) return;
  ring::graph_definition_record out{};
  out.header.time = c.now;
  out.graph = value == 0 ? get_key(graph) : value;
  out.source = value == 0 ? 0 : get_key(graph);
  std::size_t nodes = 0;
  const bool counted = value != 0 && driver.graph_nodes != nullptr;
  if (counted && driver.graph_nodes(graph, nullptr, &nodes) == CUDA_SUCCESS) out.nodes = nodes;
  ring::emit(out);
}

template <class Made>
void made_of(const call& c, CUgraph graph, Made* const* output) {
  if (Made* const handle = written(c, output)) define(c, graph, get_key(handle));
}

void capture_began(const call& c, CUstream stream, bool new_graph) {
  if (!c.ok()) return;
  captures.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t graph = captured_graph(c, stream);
  if (graph != 0 && new_graph) define(c, reinterpret_cast<CUgraph>(graph));
}

void capture_ended(const call&) {
  std::int32_t now = captures.load(std::memory_order_relaxed);
  while (now > 0 && !captures.compare_exchange_weak(now, now - 1, std::memory_order_relaxed)) {
  }
}

node_place made_in(const call& c, CUgraph graph, const CUgraphNode* node) {
  return get_place(graph, c.ok() && node != nullptr ? *node : nullptr);
}

void graph_launch(const call& c, CUgraphExec graph, CUstream stream) {
  if (options.kernels || (options.graphs && !options.graph_nodes)) work_starts(c);
  note_graph_launch(c.correlation(), get_key(graph));
  note_launch(c, ring::intern("cuGraphLaunch"), stream);
  ring::graph_call_record out{};
  out.header.time = c.begin;
  out.graph = get_key(graph);
  out.correlation = c.correlation();
  ring::emit(out);
}

/// Each launch gets a record. If the device reports no interval, the record has the call's time.
void graph_launched(const call& c, CUgraphExec graph, CUstream stream) {
  launched(c, stream);
  if (!c.ok() || (options.graphs && !options.graph_nodes)) return;
  ring::graph_launch_record out{};
  out.header.time = c.begin;
  out.graph = get_key(graph);
  out.stream = c.stream(stream);
  out.device = c.device();
  out.correlation = c.correlation();
  ring::emit(out);
}

#define EDGE(...) [](const call& c) { __VA_ARGS__; }
#define P(type) [[maybe_unused]] const auto& p = c.params<type##_params>()
#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name
constexpr auto memory = trace::recording_mode::memory;
constexpr auto timeline = trace::recording_mode::timeline;
/// The handler of an edge of a very frequent call.
#define HOT_EDGE(...) \
  [](const call& c) __attribute__((hot)) { __VA_ARGS__; }
/// The entry of a launch call. The call's variant with per-thread default streams uses the same entry, because it has
/// the same parameters.
#define LAUNCH_ENTRY(number, name, text, stream, extra, per_thread)                                  \
  {                                                                                                  \
    number, text, HOT_EDGE(P(name); launch(c, p.f, p.kernelParams, extra, stream)),                  \
        HOT_EDGE(P(name); launched(c, p.f, p.kernelParams, extra, stream)), per_thread, memory, true \
  }
#define LAUNCH(name, twin, stream, extra) \
  LAUNCH_ENTRY(ID(name), name, #name, stream, extra, false), LAUNCH_ENTRY(ID(twin), name, #name, stream, extra, true)
#define DONE(name, ...) \
  { ID(name), #name, nullptr, EDGE(P(name); __VA_ARGS__) }
#define DONE_WITH_TWIN(name, twin, text, ...)             \
  { ID(name), text, nullptr, EDGE(P(name); __VA_ARGS__) } \
  , { ID(twin), text, nullptr, EDGE(P(name); __VA_ARGS__), true }

constexpr call_entry table[] = {
    LAUNCH(cuLaunchKernel, cuLaunchKernel_ptsz, p.hStream, p.extra),
    LAUNCH(cuLaunchKernelEx, cuLaunchKernelEx_ptsz, p.config == nullptr ? nullptr : p.config->hStream, p.extra),
    LAUNCH(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz, p.hStream, nullptr),
    {ID(cuLaunchCooperativeKernelMultiDevice), "cuLaunchCooperativeKernelMultiDevice",
     EDGE(P(cuLaunchCooperativeKernelMultiDevice); launch_on_each(c, p.launchParamsList, p.numDevices)),
     EDGE(if (!c.ok() || records_at_least(timeline)) launched(c, nullptr)), false, memory, true},
    {ID(cuGraphLaunch), "cuGraphLaunch", EDGE(P(cuGraphLaunch); graph_launch(c, p.hGraph, p.hStream)),
     EDGE(P(cuGraphLaunch); graph_launched(c, p.hGraph, p.hStream))},
    {ID(cuGraphLaunch_ptsz), "cuGraphLaunch", EDGE(P(cuGraphLaunch); graph_launch(c, p.hGraph, p.hStream)),
     EDGE(P(cuGraphLaunch); graph_launched(c, p.hGraph, p.hStream)), true},
    // Capture.
    DONE_WITH_TWIN(cuStreamBeginCapture, cuStreamBeginCapture_ptsz, "cuStreamBeginCapture",
                   capture_began(c, p.hStream, true)),
    DONE_WITH_TWIN(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz, "cuStreamBeginCapture",
                   capture_began(c, p.hStream, true)),
    DONE_WITH_TWIN(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz, "cuStreamBeginCaptureToGraph",
                   capture_began(c, p.hStream, false)),
    {ID(cuStreamEndCapture), "cuStreamEndCapture", nullptr, capture_ended},
    {ID(cuStreamEndCapture_ptsz), "cuStreamEndCapture", nullptr, capture_ended, true},
    // Graphs.
    DONE(cuGraphCreate, define(c, written(c, p.phGraph))),
    DONE(cuGraphClone, made_of(c, p.originalGraph, p.phGraphClone)),
    DONE(cuGraphAddKernelNode, kernel_node(c, made_in(c, p.hGraph, p.phGraphNode), p.nodeParams)),
    DONE(cuGraphAddKernelNode_v2, kernel_node(c, made_in(c, p.hGraph, p.phGraphNode), p.nodeParams)),
    DONE(cuGraphAddMemcpyNode, copy_node(c, made_in(c, p.hGraph, p.phGraphNode), p.copyParams, true)),
    DONE(cuGraphAddMemsetNode,
         if (p.memsetParams != nullptr) fill_node(c, made_in(c, p.hGraph, p.phGraphNode), p.memsetParams->dst, true)),
    // Changed parameters of a graph (for executable graphs made from it later) or of an executable graph.
    DONE(cuGraphKernelNodeSetParams, kernel_node(c, get_place(p.hNode), p.nodeParams)),
    DONE(cuGraphKernelNodeSetParams_v2, kernel_node(c, get_place(p.hNode), p.nodeParams)),
    DONE(cuGraphMemcpyNodeSetParams, copy_node(c, get_place(p.hNode), p.nodeParams, false)),
    DONE(cuGraphMemsetNodeSetParams,
         if (p.nodeParams != nullptr) fill_node(c, get_place(p.hNode), p.nodeParams->dst, false)),
    DONE(cuGraphNodeSetParams, any_node(c, get_place(p.hNode), p.nodeParams, false)),
    DONE(cuGraphExecKernelNodeSetParams, kernel_node(c, get_place(p.hGraphExec, p.hNode), p.nodeParams)),
    DONE(cuGraphExecKernelNodeSetParams_v2, kernel_node(c, get_place(p.hGraphExec, p.hNode), p.nodeParams)),
    DONE(cuGraphExecMemcpyNodeSetParams, copy_node(c, get_place(p.hGraphExec, p.hNode), p.copyParams, false)),
    DONE(cuGraphExecMemsetNodeSetParams,
         if (p.memsetParams != nullptr) fill_node(c, get_place(p.hGraphExec, p.hNode), p.memsetParams->dst, false)),
    DONE(cuGraphExecNodeSetParams, any_node(c, get_place(p.hGraphExec, p.hNode), p.nodeParams, false)),
    // Child graphs, and nodes that can be disabled.
    DONE(cuGraphAddChildGraphNode, child_node(c, made_in(c, p.hGraph, p.phGraphNode), get_key(p.childGraph))),
    DONE(cuGraphExecChildGraphNodeSetParams, child_node(c, get_place(p.hGraphExec, p.hNode), get_key(p.childGraph))),
    DONE(cuGraphNodeSetEnabled, node_switched(c, get_place(p.hGraphExec, p.hNode), p.isEnabled != 0)),
    DONE(cuGraphInstantiate, made_of(c, p.hGraph, p.phGraphExec)),
    DONE(cuGraphInstantiate_v2, made_of(c, p.hGraph, p.phGraphExec)),
    DONE(cuGraphInstantiateWithFlags, made_of(c, p.hGraph, p.phGraphExec)),
    DONE_WITH_TWIN(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz, "cuGraphInstantiateWithParams",
                   made_of(c, p.hGraph, p.phGraphExec)),
    DONE(cuGraphExecUpdate, made_of(c, p.hGraph, &p.hGraphExec)),
    DONE(cuGraphExecUpdate_v2, made_of(c, p.hGraph, &p.hGraphExec)),
    // After these calls, some functions may no longer exist.
    {ID(cuModuleUnload), "cuModuleUnload", EDGE((void)c; forget_functions()), nullptr},
    {ID(cuLibraryUnload), "cuLibraryUnload", EDGE((void)c; forget_functions()), nullptr},
};

#undef DONE_WITH_TWIN
#undef DONE
#undef LAUNCH
#undef LAUNCH_ENTRY
#undef ID
#undef P
#undef EDGE
#undef HOT_EDGE

}  // namespace

call_table launch_calls() noexcept { return {table, sizeof table / sizeof table[0]}; }

}  // namespace sluice::capture
