#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "instrumentation/backend/cuda/device.hpp"
#include "instrumentation/backend/cuda/estimates.hpp"
#include "instrumentation/backend/cuda/native.hpp"
#include "instrumentation/ring/producer.hpp"

// Stream captures and graphs.

namespace sluice::backend::cuda {

namespace {

CUstreamCaptureMode native(capture_mode mode) {
  switch (mode) {
    case capture_mode::this_thread:
      return CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    case capture_mode::relaxed:
      return CU_STREAM_CAPTURE_MODE_RELAXED;
    case capture_mode::global:
      break;
  }
  return CU_STREAM_CAPTURE_MODE_GLOBAL;
}

graph_node_kind get_kind(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return graph_node_kind::kernel;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return graph_node_kind::copy;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return graph_node_kind::set;
    case CU_GRAPH_NODE_TYPE_HOST:
      return graph_node_kind::host;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return graph_node_kind::child_graph;
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return graph_node_kind::empty;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return graph_node_kind::wait_event;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return graph_node_kind::record_event;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return graph_node_kind::allocation;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return graph_node_kind::free;
    default:
      return graph_node_kind::other;
  }
}

/// Explains why an executable graph cannot be updated with another graph.
const char* to_text(CUgraphExecUpdateResult result) {
  switch (result) {
    case CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED:
      return "its nodes or edges differ";
    case CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED:
      return "a node has a different kind";
    case CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED:
    case CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE:
      return "a node has a different kernel";
    case CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED:
    case CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED:
      return "a node's parameters changed in a way that needs a new executable graph";
    default:
      return "one of its nodes does not support updates";
  }
}

std::uint64_t get_key(graph_handle graph) { return static_cast<std::uint64_t>(graph); }
std::uint64_t get_key(graph_exec_handle exec) { return static_cast<std::uint64_t>(exec); }

}  // namespace

CUgraph cuda_device::captured_graph(stream_handle stream) noexcept {
  if (stream == stream_handle::null) return nullptr;
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  const CUresult result = driver_.capture_info(cuda::native(stream), &status, nullptr, &graph, nullptr, nullptr);
  return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? graph : nullptr;
}

capture_mode cuda_device::exchange_capture_mode(capture_mode mode) noexcept {
  CUstreamCaptureMode now = native(mode);
  if (driver_.exchange_capture_mode(&now) != CUDA_SUCCESS) return capture_mode::global;
  return now == CU_STREAM_CAPTURE_MODE_RELAXED        ? capture_mode::relaxed
         : now == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ? capture_mode::this_thread
                                                      : capture_mode::global;
}

device_result<void> cuda_device::begin_capture(stream_handle stream, capture_mode mode) {
  if (stream == stream_handle::null) {
    return backend::fail(status::not_permitted, "cuStreamBeginCapture", "the default stream cannot be captured");
  }
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS && driver_log::on()) {
    const std::uint64_t name = trace_stream(stream);
    const std::lock_guard lock(names_mutex_);
    stream_names_[stream] = name;
  }
  if (result == CUDA_SUCCESS) result = driver_.begin_capture(cuda::native(stream), native(mode));
  if (result != CUDA_SUCCESS) return check(result, "cuStreamBeginCapture");
  if (logging()) {
    log_->graph_defined(ring::now(), reinterpret_cast<std::uint64_t>(captured_graph(stream)), 0, 0);
  }
  return {};
}

device_result<graph_handle> cuda_device::end_capture(stream_handle stream) {
  CUgraph graph = nullptr;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.end_capture(cuda::native(stream), &graph);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuStreamEndCapture", description_.name);
  return graph_handle{reinterpret_cast<std::uintptr_t>(graph)};
}

device_result<void> cuda_device::capture_child(stream_handle stream, graph_handle child) {
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  const CUgraphNode* after = nullptr;
  std::size_t count = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS && stream != stream_handle::null) {
    result = driver_.capture_info(cuda::native(stream), &status, nullptr, &graph, &after, &count);
  }
  if (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return backend::fail(status::not_permitted, "cuGraphAddChildGraphNode", "the stream is not being captured");
  }
  CUgraphNode node = nullptr;
  if (result == CUDA_SUCCESS) result = driver_.graph_add_child(&node, graph, after, count, cuda::native(child));
  if (result == CUDA_SUCCESS) {
    result = driver_.capture_dependencies(cuda::native(stream), &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  }
  if (result == CUDA_SUCCESS && logging()) {
    log_->child_defined(ring::now(), reinterpret_cast<std::uint64_t>(graph), reinterpret_cast<std::uint64_t>(node),
                        get_key(child));
  }
  return check(result, "cuGraphAddChildGraphNode");
}

device_result<graph_shape> cuda_device::get_shape(graph_handle graph) {
  std::size_t count = 0, edge_count = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.graph_nodes(cuda::native(graph), nullptr, &count);
  if (result == CUDA_SUCCESS) result = driver_.graph_edges(cuda::native(graph), nullptr, nullptr, &edge_count);
  std::vector<CUgraphNode> nodes(count), from(edge_count), to(edge_count);
  if (result == CUDA_SUCCESS && count != 0) result = driver_.graph_nodes(cuda::native(graph), nodes.data(), &count);
  if (result == CUDA_SUCCESS && edge_count != 0) {
    result = driver_.graph_edges(cuda::native(graph), from.data(), to.data(), &edge_count);
  }
  graph_shape shape;
  std::map<CUgraphNode, std::uint32_t> place;
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    if (result == CUDA_SUCCESS) result = driver_.graph_node_type(node, &type);
    place.emplace(node, static_cast<std::uint32_t>(shape.nodes.size()));
    shape.nodes.push_back(get_kind(type));
  }
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuGraphGetNodes", description_.name);
  for (std::size_t i = 0; i < edge_count; ++i) shape.edges.emplace_back(place[from[i]], place[to[i]]);
  std::sort(shape.edges.begin(), shape.edges.end());
  return shape;
}

device_result<void> cuda_device::write_dot(graph_handle graph, const std::string& path, bool verbose) {
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) {
    result = driver_.graph_dot(cuda::native(graph), path.c_str(),
                               verbose ? static_cast<unsigned>(CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE) : 0u);
  }
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuGraphDebugDotPrint", path);
  return {};
}

void cuda_device::destroy_graph(graph_handle graph) noexcept {
  if (graph == graph_handle::null) return;
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return;
  if (logging()) log_->graph_ended(ring::now(), get_key(graph));
  driver_.graph_destroy(cuda::native(graph));
}

device_result<graph_exec_handle> cuda_device::instantiate(graph_handle graph, graph_exec_options options) {
  CUgraphExec exec = nullptr;
  const unsigned long long flags =
      (options.free_on_launch ? static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) : 0) |
      (options.node_priorities ? static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) : 0);
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.graph_instantiate(&exec, cuda::native(graph), flags);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuGraphInstantiate", description_.name);
  if (logging()) {
    std::size_t nodes = 0;
    driver_.graph_nodes(cuda::native(graph), nullptr, &nodes);
    log_->graph_defined(ring::now(), reinterpret_cast<std::uint64_t>(exec), get_key(graph), nodes);
  }
  return graph_exec_handle{reinterpret_cast<std::uintptr_t>(exec)};
}

device_result<void> cuda_device::update_exec(graph_exec_handle exec, graph_handle graph) {
  CUgraphExecUpdateResultInfo info{};
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.exec_update(cuda::native(exec), cuda::native(graph), &info);
  if (result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) {
    return backend::fail(status::invalid_value, "cuGraphExecUpdate", to_text(info.result), static_cast<int>(result));
  }
  if (result == CUDA_SUCCESS && logging()) {
    std::size_t nodes = 0;
    driver_.graph_nodes(cuda::native(graph), nullptr, &nodes);
    log_->graph_defined(ring::now(), get_key(exec), get_key(graph), nodes);
  }
  return check(result, "cuGraphExecUpdate");
}

device_result<void> cuda_device::upload_exec(graph_exec_handle exec, stream_handle stream) {
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.exec_upload(cuda::native(exec), cuda::native(stream));
  return check(result, "cuGraphUpload");
}

device_result<void> cuda_device::launch_exec(graph_exec_handle exec, stream_handle stream) {
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return check(here.result(), "cuCtxSetCurrent");
  const auto c = begin_call("cuGraphLaunch");
  const std::uint64_t key = logging() ? trace_stream(stream) : 0;
  if (logging()) log_->graph_called(c, get_key(exec));
  const CUresult result = around(
      cuda::native(stream), [&] { return driver_.exec_launch(cuda::native(exec), cuda::native(stream)); },
      [=, this](std::uint64_t begin, std::uint64_t end) {
        log_->graph_launched(c, begin, end, get_key(exec), key, estimated);
      });
  if (logging()) log_->api_call(c, ring::now(), key, 0, 0, 0, result);
  return check(result, "cuGraphLaunch");
}

void cuda_device::destroy_exec(graph_exec_handle exec) noexcept {
  if (exec == graph_exec_handle::null) return;
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS) return;
  if (logging()) log_->graph_ended(ring::now(), get_key(exec));
  driver_.exec_destroy(cuda::native(exec));
}

}  // namespace sluice::backend::cuda
