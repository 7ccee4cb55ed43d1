#pragma once

#include <cstdint>

#include "instrumentation/capture/blocks/touches.hpp"

/// Functions for the nodes of CUDA graphs. When a call creates a node or gives it new parameters, they record which
/// memory blocks each later launch of the graph will use.
namespace sluice::capture {

void kernel_node(const call& c, node_place place, CUfunction function, void** parameters, void** extra);
/// `fresh`: the node was just created and is named after the operation; otherwise, the node keeps its name.
void copy_node(const call& c, node_place place, const CUDA_MEMCPY3D* copy, bool fresh);
void fill_node(const call& c, node_place place, CUdeviceptr address, bool fresh);
/// Records that the node runs `child`: a graph, or an executable graph that was launched while a stream was being
/// captured.
void child_node(const call& c, node_place place, std::uint64_t child);
/// Records that a node of an executable graph was disabled or enabled.
void node_switched(const call& c, node_place place, bool enabled);
/// Calls the function for the node's kind (`copy_node`, `fill_node` etc.). Ignores kinds that use no memory.
void any_node(const call& c, node_place place, const CUgraphNodeParams* node, bool fresh);

/// Takes any version of the driver's struct of kernel node parameters; null is ignored.
template <class Node>
void kernel_node(const call& c, node_place place, const Node* node) {
  if (node == nullptr) return;
  CUfunction function = node->func;
  if constexpr (requires { node->kern; }) {
    if (function == nullptr) function = reinterpret_cast<CUfunction>(node->kern);
  }
  kernel_node(c, place, function, node->kernelParams, node->extra);
}

/// The handles of a node that a call has created or changed, and of its graph.
template <class Graph>
node_place get_place(Graph* graph, CUgraphNode node) {
  return {reinterpret_cast<std::uint64_t>(graph), reinterpret_cast<std::uint64_t>(node)};
}
inline node_place get_place(CUgraphNode node) { return {0, reinterpret_cast<std::uint64_t>(node)}; }

}  // namespace sluice::capture
