#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sluice::writer {

/// The memory that the CUDA graphs of one process allocate. A graph and the graphs made from it share their memory,
/// which lives until the last of them is destroyed. Not thread-safe. Operations are O(1) unless they say otherwise.
class graph_allocations {
 public:
  /// Adds an allocation of `graph`.
  void add(std::uint64_t graph, std::uint64_t address) {
    auto& memory = graphs_[graph];
    if (memory == nullptr) memory = std::make_shared<shared_memory>();
    memory->addresses.push_back(address);
  }
  /// Call when graph `copy` was made from `graph`: both then keep the memory of `graph`.
  void share(std::uint64_t graph, std::uint64_t copy) {
    const auto found = graphs_.find(graph);
    if (found == graphs_.end() || graph == copy) return;
    const std::shared_ptr<shared_memory> memory = found->second;
    ++memory->graphs;
    graphs_[copy] = memory;
  }
  /// Call when `graph` was destroyed. Returns the addresses of its memory if no other graph keeps that memory.
  /// O(addresses).
  std::unordered_set<std::uint64_t> end(std::uint64_t graph) {
    const auto found = graphs_.find(graph);
    if (found == graphs_.end()) return {};
    const std::shared_ptr<shared_memory> memory = std::move(found->second);
    graphs_.erase(found);
    if (--memory->graphs != 0) return {};
    return {memory->addresses.begin(), memory->addresses.end()};
  }

 private:
  struct shared_memory {
    std::vector<std::uint64_t> addresses;
    std::uint64_t graphs = 1;  ///< The number of graphs that keep the memory.
  };
  std::unordered_map<std::uint64_t, std::shared_ptr<shared_memory>> graphs_;  ///< Keyed by the graph's handle.
};

}  // namespace sluice::writer
