#pragma once

#include <cstdint>

#include "instrumentation/capture/blocks/touches.hpp"

/// Graph nodes that are created or given new parameters: records which blocks they touch from then on.
namespace sluice::capture {

void kernel_node(const call& c, node_place place, CUfunction function, void** parameters, void** extra);
/// `fresh`: the node was just created and gets the operation's name; otherwise it keeps its name.
void copy_node(const call& c, node_place place, const CUDA_MEMCPY3D* copy, bool fresh);
void fill_node(const call& c, node_place place, CUdeviceptr address, bool fresh);
/// The node runs `child`: a graph, or an executable graph that was launched under capture.
void child_node(const call& c, node_place place, std::uint64_t child);
/// A node of an executable graph was disabled or enabled again.
void node_switched(const call& c, node_place place, bool enabled);
/// A node of any kind. Kinds that touch no memory are ignored.
void any_node(const call& c, node_place place, const CUgraphNodeParams* node, bool fresh);

/// For any version of the driver's struct of kernel node parameters.
template <class Node>
void kernel_node(const call& c, node_place place, const Node* node) {
  if (node == nullptr) return;
  CUfunction function = node->func;
  if constexpr (requires { node->kern; }) {
    if (function == nullptr) function = reinterpret_cast<CUfunction>(node->kern);
  }
  kernel_node(c, place, function, node->kernelParams, node->extra);
}

/// The place of a node that a call has created or changed.
template <class Graph>
node_place place_of(Graph* graph, CUgraphNode node) {
  return {reinterpret_cast<std::uint64_t>(graph), reinterpret_cast<std::uint64_t>(node)};
}
inline node_place place_of(CUgraphNode node) { return {0, reinterpret_cast<std::uint64_t>(node)}; }

}  // namespace sluice::capture
