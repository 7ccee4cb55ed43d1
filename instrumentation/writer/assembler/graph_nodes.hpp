#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::collector {

/// What the nodes of one process's graphs touch, and which version of a graph a launch runs.
///
/// A graph, and an executable one made of it, have one id as long as they hold the same. Touches are rows of that id. Parameters
/// that change after an executable graph was made give whoever is launched next another id, with rows of its own; one whose nodes
/// touch what they touched before gets the id that it had then. So a graph whose parameters change at each launch but name the same
/// blocks costs nothing. Not thread-safe. Cost: O(nodes) for the first launch after a change, and for making one of another.
class graph_nodes {
 public:
  /// `last`: the last id that was given.
  graph_nodes(trace::file_writer& file, std::uint64_t& last) : file_(file), last_(last) {}

  /// The id that whoever has this handle has now; a new one if it is not known. 0: none.
  trace::graph_id id_of(std::uint64_t graph);
  /// A new graph has this handle. Returns its id.
  trace::graph_id begin(std::uint64_t graph);
  /// An executable graph, or a clone, has been made of `graph`, or an executable one is now as that is. `at`: a row at this time and of
  /// this process and thread. Returns its id.
  trace::graph_id make(std::uint64_t made, std::uint64_t graph, const trace::event_base& at);
  void end(std::uint64_t graph);

  /// What one node touches.
  struct use {
    trace::touch_event row;  ///< As it is to be written, but for block and graph.
    std::vector<trace::block_id> blocks;
  };
  /// A node of `graph` (0: of whichever has it) is made, or given other parameters; with `more` it touches these as well. `node` 0: it
  /// is not known which, and is taken for a new one. `what.row.name` none: as before.
  void set(std::uint64_t graph, std::uint64_t node, use what, bool more);

  /// A node of `graph` (0: of whichever has it) is made of, or becomes, what `child` touches now; `child` may change afterwards. `at`: as
  /// for `make`. O(nodes of both).
  void set_child(std::uint64_t graph, std::uint64_t node, std::uint64_t child, const trace::event_base& at);
  /// A node of the executable `graph` is switched off, or on again.
  void enable(std::uint64_t graph, std::uint64_t node, bool enabled);

  /// An executable graph is launched by the call of `correlation`.
  void launch(std::uint64_t graph, std::uint64_t correlation, const trace::event_base& at);
  /// The id of what that call ran; of a call that is not known, of what `graph` is now.
  trace::graph_id launched(std::uint64_t correlation, std::uint64_t graph);

  /// Nothing more comes of the process: forgets its graphs, and gives the memory back.
  void forget_past() {
    decltype(graphs_)().swap(graphs_);
    decltype(owners_)().swap(owners_);
    decltype(runs_)().swap(runs_);
  }

 private:
  struct graph_node {
    std::uint64_t handle = 0;
    std::uint64_t within = 0;  ///< The node of a child graph that this is part of; 0: it is the graph's own.
    std::shared_ptr<const use> what;
    bool enabled = true;
  };
  using node_list = std::vector<graph_node>;
  struct state {
    trace::graph_id id{};
    node_list nodes;       ///< In the order in which they were made.
    bool shared = false;   ///< Others have this id, or launches: a change needs another.
    bool changed = false;  ///< `nodes` are not those of `id`.
    bool executable = false;
    bool noted = false;  ///< `id` is in `known`.
    /// Ids of what it and its kin have been, by a hash of what that touches.
    std::shared_ptr<std::unordered_map<std::uint64_t, trace::graph_id>> known;
  };

  state& at(std::uint64_t graph);
  void write(const use& what, trace::graph_id id, const trace::event_base* when);
  std::uint64_t owner_of(std::uint64_t graph, std::uint64_t node) const;
  void own(std::uint64_t node, std::uint64_t graph, const state& of);
  void settle(state& of, const trace::event_base& when);
  static std::uint64_t content(const state& of);

  trace::file_writer& file_;
  std::uint64_t& last_;
  std::unordered_map<std::uint64_t, state> graphs_;          ///< By handle.
  std::unordered_map<std::uint64_t, std::uint64_t> owners_;  ///< The graph of a node that is not executable.
  std::uint64_t unknown_nodes_ = 0;
  bool too_many_ = false;  ///< It was said that a graph has more nodes than are followed.
  /// What the last launches ran, at correlation % size: the device tells of them later.
  struct run {
    std::uint64_t correlation = 0;
    trace::graph_id id{};
  };
  std::vector<run> runs_;  ///< Empty until the first.
};

}  // namespace sluice::collector
