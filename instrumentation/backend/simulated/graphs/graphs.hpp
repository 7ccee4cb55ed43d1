#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/state/captures.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/graph.hpp"
#include "instrumentation/backend/simulated/state/graph_memory.hpp"
#include "instrumentation/backend/simulated/state/graph_table.hpp"
#include "instrumentation/backend/simulated/state/memory_budget.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"
#include "instrumentation/backend/simulated/streams/scheduler.hpp"

namespace sluice::backend::simulated {

/// The driver's calls on finished graphs, and the executable graphs: instantiate, update, launch, and write as DOT.
class graphs {
 public:
  graphs(driver_calls& calls, stream_table& streams, captures& captures, scheduler& scheduler, graph_table& table,
         graph_memory_pool& memory, const memory_budget& budget)
      : calls_(calls),
        streams_(streams),
        captures_(captures),
        scheduler_(scheduler),
        graphs_(table),
        memory_(memory),
        budget_(budget) {}

  // Functions of the device interface. They take the device's lock.
  [[nodiscard]] device_result<graph_shape> shape(graph_handle graph);
  [[nodiscard]] device_result<void> write_dot(graph_handle graph, const std::string& path, bool verbose);
  void destroy_graph(graph_handle graph) noexcept;
  [[nodiscard]] device_result<graph_exec_handle> instantiate(graph_handle graph, graph_exec_options options);
  [[nodiscard]] device_result<void> update_exec(graph_exec_handle exec, graph_handle graph);
  [[nodiscard]] device_result<void> upload_exec(graph_exec_handle exec, stream_handle stream);
  [[nodiscard]] device_result<void> launch_exec(graph_exec_handle exec, stream_handle stream);
  void destroy_exec(graph_exec_handle exec) noexcept;

 private:
  /// Checks that the graph's memory is free or may be freed, and that the device has enough memory.
  [[nodiscard]] device_result<void> launchable(const graph_exec_state& exec, std::int64_t now);
  /// Runs the nodes of a graph no earlier than `ready`; returns their end time.
  std::int64_t run_nodes(const driver_call& call, const graph_body& body, const graph_exec_state& exec,
                         std::int64_t ready, int priority, std::uint64_t stream_key);

  driver_calls& calls_;
  stream_table& streams_;
  captures& captures_;
  scheduler& scheduler_;
  graph_table& graphs_;
  graph_memory_pool& memory_;
  const memory_budget& budget_;
  std::map<std::uint64_t, graph_exec_state> execs_;  // by key
};

}  // namespace sluice::backend::simulated
