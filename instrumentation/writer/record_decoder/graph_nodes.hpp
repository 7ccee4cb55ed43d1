#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// Tracks which blocks the graph nodes of one process touch (use), and which version of a graph a launch runs.
///
/// A graph and an executable graph made from it share an id while their content is the same. Touched blocks are written
/// as rows with that id. If parameters change later, the graph gets a new id with new rows at its next launch, or an
/// earlier id if its nodes touch the same blocks as they did under that id. So changing parameters at each launch adds
/// no rows if the blocks stay the same. The first launch after a change, and making a graph from another, is O(nodes).
/// Not thread-safe.
class graph_nodes {
 public:
  /// `last`: the last id assigned.
  graph_nodes(trace::file_writer& file, std::uint64_t& last) : file_(file), last_(last) {}

  /// The current id of the graph with this handle; a new id if the handle is unknown; none if `graph` is 0.
  trace::graph_id get_id(std::uint64_t graph);
  /// Call when a new graph has this handle. Returns the graph's id.
  trace::graph_id begin(std::uint64_t graph);
  /// Call when an executable graph or a clone (`copy_key`) was made from `graph`, or was updated to match `graph`. `at`
  /// supplies time, process and thread for new rows. Returns the id of the copy.
  trace::graph_id make(std::uint64_t copy_key, std::uint64_t graph, const trace::event_base& at);
  void end(std::uint64_t graph);

  /// The blocks that one node touches.
  struct use {
    trace::touch_event row;  ///< The row to write, except for block and graph.
    std::vector<trace::block_id> blocks;
  };
  /// Call when a node of `graph` (0: the graph that contains the node) was created or got new parameters. With `more`,
  /// the blocks in `touched` are added to those of the previous call. `node` 0 means that the node is new. If
  /// `touched.row.name` is none, the name is unchanged.
  void set(std::uint64_t graph, std::uint64_t node, use touched, bool more);

  /// Call when a node of `graph` (0: the graph that contains the node) was set to run `child`: the node then touches
  /// what `child` touches now; later changes of `child` have no effect. `at`: as for `make`. O(nodes of both graphs).
  void set_child(std::uint64_t graph, std::uint64_t node, std::uint64_t child, const trace::event_base& at);
  /// Call when a node of the executable `graph` was disabled or enabled.
  void enable(std::uint64_t graph, std::uint64_t node, bool enabled);

  /// Call when the call with this correlation id launches an executable graph.
  void launch(std::uint64_t graph, std::uint64_t correlation, const trace::event_base& at);
  /// The id of the graph version that this call launched; for an unknown call, the current id of `graph`.
  trace::graph_id launched(std::uint64_t correlation, std::uint64_t graph);

  /// Call when no more records can come from this process: forgets its graphs and frees their memory.
  void forget_past() {
    decltype(graphs_)().swap(graphs_);
    decltype(owners_)().swap(owners_);
    decltype(launches_)().swap(launches_);
  }

 private:
  struct graph_node {
    std::uint64_t handle = 0;
    std::uint64_t within = 0;  ///< The child-graph node of which this node is a part; 0: none.
    std::shared_ptr<const use> touched;
    bool enabled = true;
  };
  using node_list = std::vector<graph_node>;
  struct state {
    trace::graph_id id{};
    node_list nodes;       ///< In order of creation.
    bool shared = false;   ///< Other graphs or launches use this id: changes need a new one.
    bool changed = false;  ///< `nodes` differ from the content of `id`.
    bool executable = false;
    bool noted = false;  ///< True if `known` contains `id`.
    /// Ids of earlier contents of this graph and of graphs made from it, keyed by a hash of the touched blocks.
    std::shared_ptr<std::unordered_map<std::uint64_t, trace::graph_id>> known;
  };

  state& at(std::uint64_t graph);
  void write(const use& touched, trace::graph_id id, const trace::event_base* when);
  std::uint64_t find_owner(std::uint64_t graph, std::uint64_t node) const;
  void own(std::uint64_t node, std::uint64_t graph, const state& graph_state);
  void settle(state& graph_state, const trace::event_base& when);
  static std::uint64_t content(const state& graph_state);

  trace::file_writer& file_;
  std::uint64_t& last_;
  std::unordered_map<std::uint64_t, state> graphs_;          ///< Keyed by handle.
  std::unordered_map<std::uint64_t, std::uint64_t> owners_;  ///< Node to graph, for graphs that are not executable.
  std::uint64_t unknown_nodes_ = 0;
  bool too_many_ = false;  ///< A message has reported that a graph has too many nodes.
  /// The latest launches, at index correlation % size, because device records refer to them later.
  struct launch_version {
    std::uint64_t correlation = 0;
    trace::graph_id id{};
  };
  std::vector<launch_version> launches_;  ///< Empty until the first launch.
};

}  // namespace sluice::writer
