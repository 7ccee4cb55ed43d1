#include "instrumentation/capture/calls/graph_calls.hpp"

#include "instrumentation/capture/calls/copy_shapes.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

void kernel_node(const call& c, node_place place, CUfunction function, void** parameters, void** extra) {
  if (c.ok() && options.touches) touch_parameters(c, function, parameters, extra, nullptr, place);
}

void copy_node(const call& c, node_place place, const CUDA_MEMCPY3D* copy, bool fresh) {
  if (!c.ok() || copy == nullptr || !options.touches) return;
  const std::uint64_t words[] = {get_source(*copy), get_destination(*copy)};
  touch(c, nullptr, place, fresh ? ring::intern("cuMemcpy3D") : 0, words, 2);
}

void fill_node(const call& c, node_place place, CUdeviceptr address, bool fresh) {
  if (!c.ok() || !options.touches) return;
  const std::uint64_t words[] = {address};
  touch(c, nullptr, place, fresh ? ring::intern("cuMemset") : 0, words, 1);
}

void child_node(const call& c, node_place place, std::uint64_t child) {
  if (!c.ok() || !options.touches || child == 0 || !place.in_graph()) return;
  ring::child_graph_record out{};
  out.header.time = c.now;
  out.graph = place.graph;
  out.node = place.node;
  out.child = child;
  ring::emit(out);
}

void node_switched(const call& c, node_place place, bool enabled) {
  if (!c.ok() || !options.touches) return;
  ring::node_switch_record out{};
  out.header.time = c.now;
  out.graph = place.graph;
  out.node = place.node;
  out.enabled = enabled ? 1 : 0;
  ring::emit(out);
}

void any_node(const call& c, node_place place, const CUgraphNodeParams* node, bool fresh) {
  if (node == nullptr) return;
  switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return kernel_node(c, place, &node->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return copy_node(c, place, &node->memcpy.copyParams, fresh);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return fill_node(c, place, node->memset.dst, fresh);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return child_node(c, place, reinterpret_cast<std::uint64_t>(node->graph.graph));
    default:
      return;
  }
}

}  // namespace sluice::capture
