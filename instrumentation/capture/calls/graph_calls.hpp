#pragma once

#include <cstdint>

#include "instrumentation/capture/blocks/touches.hpp"

/// Nodes of graphs, made or given other parameters: which blocks they name from then on.
namespace sluice::capture {

void kernel_node(const call& c, node_place place, CUfunction function, void** parameters, void** extra);
/// `fresh`: it has just been made, and is named after what it does; else it keeps its name.
void copy_node(const call& c, node_place place, const CUDA_MEMCPY3D* copy, bool fresh);
void fill_node(const call& c, node_place place, CUdeviceptr address, bool fresh);
/// It is what `child` is, a graph, or (launched under capture) an executable one.
void child_node(const call& c, node_place place, std::uint64_t child);
/// A node of an executable graph is switched off, or on again.
void node_switched(const call& c, node_place place, bool enabled);
/// Of any kind; those that touch no memory are nothing here.
void any_node(const call& c, node_place place, const CUgraphNodeParams* node, bool fresh);

/// Of the driver's struct, whatever its version.
template <class Node>
void kernel_node(const call& c, node_place place, const Node* node) {
  if (node == nullptr) return;
  CUfunction function = node->func;
  if constexpr (requires { node->kern; }) {
    if (function == nullptr) function = reinterpret_cast<CUfunction>(node->kern);
  }
  kernel_node(c, place, function, node->kernelParams, node->extra);
}

/// The place of a node that a call has made, or changed.
template <class Graph>
node_place place_of(Graph* graph, CUgraphNode node) {
  return {reinterpret_cast<std::uint64_t>(graph), reinterpret_cast<std::uint64_t>(node)};
}
inline node_place place_of(CUgraphNode node) { return {0, reinterpret_cast<std::uint64_t>(node)}; }

}  // namespace sluice::capture
