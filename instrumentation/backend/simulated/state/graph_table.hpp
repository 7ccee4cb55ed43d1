#pragma once

#include <cstdint>
#include <map>

#include "instrumentation/backend/device_types.hpp"
#include "instrumentation/backend/simulated/state/graph.hpp"
#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

/// The finished graphs of a device, and the keys of all its graphs. Not thread-safe: the device's lock guards it.
class graph_table {
 public:
  /// A new key for a graph or an executable graph.
  [[nodiscard]] std::uint64_t new_key() noexcept { return graph_keys + next_++; }

  void add(graph_state graph);
  /// Null if there is no such graph. Valid until the graph is erased.
  [[nodiscard]] const graph_state* find(graph_handle graph) const;
  /// Returns false if there is no such graph.
  bool erase(graph_handle graph);

 private:
  std::map<std::uint64_t, graph_state> graphs_;  // by key
  std::uint64_t next_ = 1;
};

}  // namespace sluice::backend::simulated
