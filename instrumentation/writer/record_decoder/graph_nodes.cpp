#include "instrumentation/writer/record_decoder/graph_nodes.hpp"

#include <algorithm>
#include <utility>

namespace sluice::writer {

using namespace trace;

namespace {
/// Marks nodes with unknown handles. No real handle has all of these bits.
constexpr std::uint64_t unknown_node_bits = std::uint64_t{0xffff} << 48;
/// A memory limit, for processes that never destroy their graphs.
constexpr std::size_t max_owners = std::size_t{1} << 20;
constexpr std::size_t max_known = 256;
/// Limit per graph, including child graphs: a hostile program can double the number with each nesting level.
constexpr std::size_t max_nodes = std::size_t{1} << 18;
constexpr std::size_t launches_kept = std::size_t{1} << 14;
}  // namespace

graph_nodes::state& graph_nodes::at(std::uint64_t graph) {
  const auto [place, fresh] = graphs_.try_emplace(graph);
  if (fresh) place->second.id = static_cast<graph_id>(++last_);
  return place->second;
}

graph_id graph_nodes::get_id(std::uint64_t graph) { return graph == 0 ? graph_id::none : at(graph).id; }

graph_id graph_nodes::begin(std::uint64_t graph) {
  end(graph);
  return get_id(graph);
}

graph_id graph_nodes::make(std::uint64_t copy_key, std::uint64_t graph, const event_base& when) {
  if (copy_key == graph) return get_id(graph);
  state& original = at(graph);
  settle(original, when);
  original.shared = true;
  state copy = original;
  copy.executable = true;
  // An updated executable graph keeps its node handles, in the same order.
  const auto before = graphs_.find(copy_key);
  if (before != graphs_.end() && before->second.nodes.size() == copy.nodes.size()) {
    for (std::size_t i = 0; i < copy.nodes.size(); ++i) {
      const graph_node& there = before->second.nodes[i];
      copy.nodes[i].handle = there.handle;
      copy.nodes[i].within = there.within;
      copy.nodes[i].enabled = there.enabled;
    }
  }
  return (graphs_[copy_key] = std::move(copy)).id;
}

void graph_nodes::end(std::uint64_t graph) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return;
  if (!found->second.executable) {
    for (const graph_node& node : found->second.nodes) owners_.erase(node.within != 0 ? node.within : node.handle);
  }
  graphs_.erase(found);
}

void graph_nodes::set(std::uint64_t graph, std::uint64_t node, use touched, bool more) {
  graph = find_owner(graph, node);
  if (graph == 0) return;
  state& graph_state = at(graph);
  const bool nameless = node == 0;
  if (nameless) node = unknown_node_bits | (more ? unknown_nodes_ : ++unknown_nodes_);
  const bool may_be_there = more || graph_state.executable || owners_.contains(node);
  const auto there = !may_be_there ? graph_state.nodes.rend()
                                   : std::find_if(graph_state.nodes.rbegin(), graph_state.nodes.rend(),
                                                  [&](const auto& n) { return n.handle == node; });
  const bool known = there != graph_state.nodes.rend();
  // Usually the node is new and the graph is not shared yet: write the rows immediately.
  const bool at_once = !graph_state.shared && !graph_state.changed && (!known || more);
  if (known && touched.row.name == string_id::none) touched.row.name = there->touched->row.name;
  if (at_once) write(touched, graph_state.id, nullptr);
  if (known && more)
    touched.blocks.insert(touched.blocks.begin(), there->touched->blocks.begin(), there->touched->blocks.end());
  const bool same = known && there->touched->blocks == touched.blocks && there->touched->row.name == touched.row.name;
  if (same) return;
  if (at_once) {
    graph_state.noted = false;
  } else {
    graph_state.changed = true;
  }
  auto kept = std::make_shared<const use>(std::move(touched));
  if (known) {
    there->touched = std::move(kept);
    return;
  }
  graph_state.nodes.push_back({node, 0, std::move(kept), true});
  if (!nameless) own(node, graph, graph_state);
}

std::uint64_t graph_nodes::find_owner(std::uint64_t graph, std::uint64_t node) const {
  if (graph != 0) return graph;
  const auto owner = owners_.find(node);
  return owner == owners_.end() ? 0 : owner->second;
}

void graph_nodes::own(std::uint64_t node, std::uint64_t graph, const state& graph_state) {
  if (!graph_state.executable && owners_.size() < max_owners) owners_[node] = graph;
}

void graph_nodes::set_child(std::uint64_t graph, std::uint64_t node, std::uint64_t child, const event_base& when) {
  graph = find_owner(graph, node);
  if (graph == 0 || child == 0) return;
  node_list parts;
  for (const graph_node& part : at(child).nodes) {
    if (part.enabled) parts.push_back(part);
  }
  state& graph_state = at(graph);
  if (graph_state.nodes.size() + parts.size() > max_nodes) {
    if (std::exchange(too_many_, true)) return;
    message_event said;
    said.time = when.time;
    said.process = when.process;
    said.severity = severity::warning;
    said.text = file_.intern("a graph has too many nodes in child graphs: blocks that the rest touch are not recorded");
    file_.add(said);
    return;
  }
  if (node == 0) node = unknown_node_bits | ++unknown_nodes_;
  for (graph_node& part : parts) {
    part.handle = unknown_node_bits | ++unknown_nodes_;  // Copies of the child's nodes, with unknown handles.
    part.within = node;
  }
  const auto is_part = [&](const graph_node& n) { return n.within == node; };
  const auto first = std::find_if(graph_state.nodes.begin(), graph_state.nodes.end(), is_part);
  const bool fresh = first == graph_state.nodes.end();
  if (fresh && !graph_state.shared && !graph_state.changed) {
    for (const graph_node& part : parts) write(*part.touched, graph_state.id, &when);
    graph_state.noted = false;
  } else {
    graph_state.changed = true;
  }
  const auto place = first - graph_state.nodes.begin();
  std::erase_if(graph_state.nodes, is_part);
  graph_state.nodes.insert(graph_state.nodes.begin() + place, parts.begin(), parts.end());
  own(node, graph, graph_state);
}

void graph_nodes::enable(std::uint64_t graph, std::uint64_t node, bool enabled) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end() || node == 0) return;
  for (graph_node& there : found->second.nodes) {
    if (there.handle != node || there.enabled == enabled) continue;
    there.enabled = enabled;
    found->second.changed = true;
  }
}

void graph_nodes::launch(std::uint64_t graph, std::uint64_t correlation, const event_base& when) {
  if (graph == 0) return;
  state& graph_state = at(graph);
  settle(graph_state, when);
  graph_state.shared = true;
  if (launches_.empty()) launches_.resize(launches_kept);
  launches_[correlation % launches_kept] = {correlation, graph_state.id};
}

graph_id graph_nodes::launched(std::uint64_t correlation, std::uint64_t graph) {
  if (correlation != 0 && !launches_.empty()) {
    const launch_version& there = launches_[correlation % launches_kept];
    if (there.correlation == correlation && there.id != graph_id::none) return there.id;
  }
  return get_id(graph);
}

void graph_nodes::write(const use& touched, graph_id id, const event_base* when) {
  touch_event row = touched.row;
  row.graph = id;
  if (when != nullptr) row.time = when->time;
  for (const block_id block : touched.blocks) {
    row.block = block;
    file_.add(row);
  }
}

std::uint64_t graph_nodes::content(const state& graph_state) {
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  };
  for (const graph_node& node : graph_state.nodes) {
    if (!node.enabled) continue;
    mix(raw(node.touched->row.name));
    mix(node.touched->blocks.size());
    for (const block_id block : node.touched->blocks) mix(raw(block));
  }
  return hash;
}

/// Gives a changed graph the id of its current content.
void graph_nodes::settle(state& graph_state, const event_base& when) {
  if (graph_state.noted && !graph_state.changed) return;
  if (graph_state.known == nullptr) graph_state.known = std::make_shared<std::unordered_map<std::uint64_t, graph_id>>();
  if (graph_state.known->size() >= max_known) graph_state.known->clear();
  graph_state.noted = true;
  if (!std::exchange(graph_state.changed, false)) {
    graph_state.known->try_emplace(content(graph_state), graph_state.id);
    return;
  }
  const auto [place, fresh] = graph_state.known->try_emplace(content(graph_state));
  if (fresh) {
    place->second = static_cast<graph_id>(++last_);
    for (const graph_node& node : graph_state.nodes) {
      if (node.enabled) write(*node.touched, place->second, &when);
    }
  }
  graph_state.id = place->second;
}

}  // namespace sluice::writer
