#include "instrumentation/backend/simulated/state/graph_table.hpp"

#include <utility>

namespace sluice::backend::simulated {

void graph_table::add(graph_state graph) {
  const std::uint64_t key = graph.key;
  graphs_[key] = std::move(graph);
}

const graph_state* graph_table::find(graph_handle graph) const {
  const auto it = graphs_.find(static_cast<std::uint64_t>(graph));
  return it == graphs_.end() ? nullptr : &it->second;
}

bool graph_table::erase(graph_handle graph) { return graphs_.erase(static_cast<std::uint64_t>(graph)) != 0; }

}  // namespace sluice::backend::simulated
