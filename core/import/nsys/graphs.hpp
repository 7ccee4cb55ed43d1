#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "core/import/nsys/tables.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Imports the CUDA graphs of an Nsight Systems export. A graph, its copies and its executables become one graph of the
/// trace. Private to core/import.
class nsys_graphs {
 public:
  explicit nsys_graphs(trace::file_writer& out) : out_(out) {}

  /// Adds a row about a graph or a node. `range` is the host range that was written for the row.
  void add(const nsys::cells& row, const trace::host_range_event& range);

  /// Returns the graph of a CUPTI_ACTIVITY_KIND_GRAPH_TRACE row. For an unknown graph, writes a definition with the
  /// time of the launch, marked as inferred.
  [[nodiscard]] trace::graph_id launched(const nsys::cells& row, const trace::graph_launch_event& launch);

 private:
  using key = std::pair<std::uint64_t, std::int64_t>;  ///< A process and the graph's number in it.

  trace::graph_id fresh() { return static_cast<trace::graph_id>(++last_); }
  void define(trace::graph_id graph, const trace::event_base& when, trace::string_id name);

  trace::file_writer& out_;
  std::map<key, trace::graph_id> graphs_, executables_;
  std::uint64_t last_ = 0;
};

}  // namespace sluice::importing
