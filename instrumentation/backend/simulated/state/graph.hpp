#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "instrumentation/backend/device_types.hpp"
#include "instrumentation/backend/simulated/state/work_item.hpp"

namespace sluice::backend::simulated {

/// Memory that a graph's node allocates. Its address stays reserved as long as a graph or an executable graph contains
/// the node; it uses device memory only while `live` is true.
struct graph_memory {
  void* address = nullptr;
  std::uint64_t bytes = 0;
  bool live = false;  ///< true after a launch allocated the memory, until it is freed
};

struct graph_body;

struct graph_node {
  graph_node_kind kind = graph_node_kind::empty;
  std::vector<std::uint32_t> after{};  ///< indices of the nodes on which it depends, ascending
  std::uint64_t key = 0;               ///< the node's key in traces
  int priority = 0;                    ///< priority of the stream on which the node was captured
  work_item item{};                    ///< the work of a kernel, copy, memset or host function
  std::shared_ptr<graph_memory> memory{};
  std::shared_ptr<const graph_body> child{};
};

/// The content of a graph: its nodes, in an order in which they may run.
struct graph_body {
  std::vector<graph_node> nodes;
};

/// The nodes that the next node on a stream will depend on.
using frontier = std::set<std::uint32_t>;

/// A capture in progress.
struct capture_session {
  std::uint64_t id = 0;
  std::uint64_t graph_key = 0;
  stream_handle origin = stream_handle::null;
  capture_mode mode = capture_mode::global;
  std::thread::id owner;
  std::shared_ptr<graph_body> body = std::make_shared<graph_body>();
  std::map<std::uint32_t, frontier> streams;  ///< the captured streams, each with its frontier
  bool broken = false;
  bool ended = false;
};

struct graph_state {
  std::uint64_t key = 0;
  std::shared_ptr<const graph_body> body;
};

struct graph_exec_state {
  std::uint64_t key = 0;
  std::shared_ptr<const graph_body> body;
  graph_exec_options options;
  std::int64_t tail = 0;  ///< end time of the graph's last launch
  bool uploaded = false;
};

}  // namespace sluice::backend::simulated
