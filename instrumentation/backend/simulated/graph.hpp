#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "instrumentation/backend/device_types.hpp"
#include "instrumentation/backend/simulated/work_item.hpp"

namespace sluice::backend::simulated {

/// Memory that a graph's node allocates. Its address is the graph's for as long as a graph or an executable one has the node;
/// the device gives bytes for it while it is live.
struct graph_memory {
  void* address = nullptr;
  std::uint64_t bytes = 0;
  bool live = false;  ///< a launch has allocated it, and nobody has freed it yet
};

struct graph_body;

struct graph_node {
  graph_node_kind kind = graph_node_kind::empty;
  std::vector<std::uint32_t> after{};  ///< ascending
  std::uint64_t key = 0;               ///< what traces call it
  int priority = 0;                    ///< of the stream that it was captured on
  work_item item{};                    ///< of a kernel, a copy, a set, a host function
  std::shared_ptr<graph_memory> memory{};
  std::shared_ptr<const graph_body> child{};
};

/// What a graph does: nodes in an order in which they may run.
struct graph_body {
  std::vector<graph_node> nodes;
};

/// Nodes that the next one on a stream comes after.
using frontier = std::set<std::uint32_t>;

/// A capture under way.
struct capture_session {
  std::uint64_t id = 0;
  std::uint64_t graph_key = 0;
  stream_handle origin = stream_handle::null;
  capture_mode mode = capture_mode::global;
  std::thread::id owner;
  std::shared_ptr<graph_body> body = std::make_shared<graph_body>();
  std::map<std::uint32_t, frontier> streams;  ///< those that are part of it
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
  std::int64_t tail = 0;  ///< when its last launch ends
  bool uploaded = false;
};

}  // namespace sluice::backend::simulated
